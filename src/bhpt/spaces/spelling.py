"""Names of hyper-parameters, whatever the style in which they are written."""

import re


def spelled(name: str) -> str:
    """A name without its prefixes and style: optim.learningRate, model__learning-rate alike."""
    last = re.split(r"[.:/]|__", name.strip("_"))[-1]
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last)
    return re.sub(r"[^a-z0-9]+", "_", snake.lower()).strip("_")
