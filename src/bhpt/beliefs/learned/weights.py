"""The weights that come with the package; `benchmarks/policy` makes them."""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np

from bhpt.beliefs.learned.network import Weights
from bhpt.domain import Misuse


@cache
def shipped(name: Literal["policy", "ends"]) -> Weights:
    """Weights of the network that chooses arms, or of the one that predicts their ends."""
    file = resources.files("bhpt.beliefs.learned") / "data" / f"{name}.npz"
    with resources.as_file(file) as path:
        return read_weights(path)


@cache
def read_weights(file: Path) -> Weights:
    """Weights from a file, such as training writes.

    Raises:
        Misuse: It is not such a file.
    """
    try:
        with np.load(file, allow_pickle=False) as arrays:
            weights = {key: np.asarray(arrays[key], float) for key in arrays}
    except (OSError, ValueError, EOFError) as error:
        raise Misuse(f"weights {file} cannot be read: {error}") from error
    if "arm" not in weights:
        raise Misuse(f"weights {file}: this is no network of ours")
    return weights
