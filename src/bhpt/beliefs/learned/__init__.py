"""Networks trained on many learning curves: which arm is next, where curves end, what names say."""
