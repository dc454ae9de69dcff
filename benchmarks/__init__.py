"""Speed benchmarks and the code that trained the tables; not part of the package."""
