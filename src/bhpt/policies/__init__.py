"""A view in, a decision out, with the numbers that explain it."""
