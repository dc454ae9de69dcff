"""Scripts that run in the environments of other tuners, one for each package."""
