"""Methods that only the benchmark runs: those of the paper, and ours given the true model."""
