"""Curves in, predictive Gaussians out: the Freeze-Thaw Gaussian process, exact and fast."""
