"""Other spellings of the names of hyper-parameters."""

from collections.abc import Sequence

import numpy as np

from bhpt.domain import FloatArray
from bhpt.spaces.spelling import spelled
from bhpt.spaces.tokens import hashed_name

SPELLINGS = 12  # of each name; the first is its own
_OWN = 5  # so many of them are its own
_SHORT = {
    "learning": "learn",
    "regularization": "reg",
    "momentum": "mom",
    "dropout": "drop",
    "weight": "w",
    "size": "sz",
    "hidden": "hid",
    "number": "num",
    "epsilon": "eps",
    "optimizer": "opt",
    "activation": "act",
    "gradient": "grad",
    "layers": "layer",
}
_LONG = {
    "lr": "learning_rate",
    "wd": "weight_decay",
    "bs": "batch_size",
    "eta": "learning_rate",
    "opt": "optimizer",
    "act": "activation",
    "eps": "epsilon",
    "reg": "regularization",
    "num": "n",
    "n": "num",
    "init": "initial",
    "grad": "gradient",
    "drop": "dropout",
}


def respelled(name: str, rng: np.random.Generator) -> str:
    """A name as somebody else might write it: shorter, longer, reordered, with more words."""
    words = spelled(name).split("_")
    how = int(rng.integers(12))
    if how < 3:
        return "_".join(_SHORT.get(word, word) for word in words)
    if how < 5:
        return "_".join(_LONG.get(word, word) for word in words)
    if how == 5:
        return "_".join(word[:4] for word in words)
    if how == 6:
        return "_".join(reversed(words))
    if how == 7:
        return "_".join([*words, str(rng.integers(3))])
    if how == 8:
        return "_".join([str(rng.choice(["model", "opt", "train", "my"])), *words])
    if how == 9:
        return str(rng.choice(words))
    if how == 10:
        return words[-1]
    return name


def spellings(names: Sequence[str], rng: np.random.Generator) -> FloatArray:
    """Hashes of several spellings of each name, [names, SPELLINGS, NAME_HASH]."""
    return np.stack(
        [
            [hashed_name(name if at < _OWN else respelled(name, rng)) for at in range(SPELLINGS)]
            for name in names
        ]
    )
