"""Hydra's sweeper plug-in of bhpt: `hydra/sweeper: bhpt`."""
