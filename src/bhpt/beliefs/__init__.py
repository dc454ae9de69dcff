"""A view in, predicted ends of its curves out: Gaussian processes and learned networks."""
