"""Trains the networks that ship with the package: see README.md."""
