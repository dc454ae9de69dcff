"""Trains many small networks at once and writes tables of their learning curves: see README.md."""
