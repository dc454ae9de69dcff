"""Peers: other people's tuners, run through their own packages in environments of their own."""
