"""Networks trained on many learning curves: which arm to run next, and where curves end."""
