"""bhpt: hyper-parameter tuning under a hard budget, the best model you can afford."""

__version__ = "0.1.0"
