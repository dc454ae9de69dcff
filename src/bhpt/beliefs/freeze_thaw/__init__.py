"""The paper's belief: the Freeze-Thaw Gaussian process with one decay for all arms."""
