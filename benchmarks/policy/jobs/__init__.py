"""Trains jobs of many kinds into tables of learning curves: what people tune beside networks."""
