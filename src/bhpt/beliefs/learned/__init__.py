"""Networks that have seen many learning curves: what arms are told by, and where curves end."""
