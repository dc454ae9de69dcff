"""The belief in which every arm has a shape of its own, beside one decay for all arms."""
