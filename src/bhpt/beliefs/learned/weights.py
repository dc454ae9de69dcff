"""The weights that come with the package; `benchmarks/policy` makes them."""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import numpy as np

from bhpt.beliefs.learned.features import Array
from bhpt.domain import Misuse


class NetworkWeights(dict[str, Array]):
    """Weights as they were trained, with what they know of names if they do (`told` and so on).

    They do not change, and are told apart by identity: so what follows from them is remembered.
    """

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        """Whether it is this very object."""
        return self is other

    def __ne__(self, other: object) -> bool:
        """Whether it is another one."""
        return self is not other


_OF_NAMES = ("told", "deeper", "said")  # layers that know what names mean


@cache
def shipped(name: Literal["policy", "ends"]) -> NetworkWeights:
    """Weights of the network that chooses arms, or of the one that predicts ends."""
    file = resources.files("bhpt.beliefs.learned") / "data" / f"{name}.npz"
    with resources.as_file(file) as path:
        return read_weights(path)


@cache
def read_weights(file: Path) -> NetworkWeights:
    """Weights from a file, such as training writes.

    Raises:
        Misuse: It is not such a file.
    """
    try:
        with np.load(file, allow_pickle=False) as arrays:
            weights = NetworkWeights({key: np.asarray(arrays[key], np.float32) for key in arrays})
    except (OSError, ValueError, EOFError) as error:
        raise Misuse(f"weights {file} cannot be read: {error}") from error
    if "arm" not in weights:
        raise Misuse(f"weights {file}: this is no network of ours")
    return weights


@cache
def without_names(trained: NetworkWeights) -> NetworkWeights:
    """The same network, told nothing about names."""
    return NetworkWeights(
        {k: v for k, v in trained.items() if k.removesuffix("_bias") not in _OF_NAMES}
    )
