"""Methods that only the benchmark runs: the others of the paper, and ours told the truth."""
