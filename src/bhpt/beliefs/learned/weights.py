"""The weights that come with the package; `benchmarks/policy` makes them."""

from functools import cache
from importlib import resources
from typing import Literal

import numpy as np

from bhpt.beliefs.learned.network import Weights


@cache
def shipped(name: Literal["policy", "ends"]) -> Weights:
    """Weights of the network that chooses arms, or of the one that predicts their ends."""
    file = resources.files("bhpt.beliefs.learned") / "data" / f"{name}.npz"
    with resources.as_file(file) as path, np.load(path, allow_pickle=False) as arrays:
        return {key: np.asarray(arrays[key], float) for key in arrays}
