"""The networks that read names, as they are run: in 32 bits, without padding, a few arms at a time.

Networks of different widths are kept in one stack, the narrow ones with zeros behind their hidden
units (`weights`). Here they are run width by width, as zeros take as long as other numbers, and for
so few arms at a time that what they compute stays in the processor's cache.

Notation:
    K  arms, N  hyper-parameters, F  numbers of a token, E  networks, H  hidden units
"""

import numpy as np

from bhpt.beliefs.learned.array_types import Array
from bhpt.beliefs.learned.name_opinions import scores
from bhpt.beliefs.learned.network import Weights
from bhpt.domain import FloatArray

_AT_ONCE = 64  # arms
_HIDDEN_AXES = {  # of each array, the axes that have one place for each hidden unit
    "reader_token": (2,),
    "reader_token_bias": (1,),
    "reader_context": (1, 2),
    "reader_again": (1, 2),
    "reader_again_bias": (1,),
    "reader_hidden": (1, 2),
    "reader_hidden_bias": (1,),
    "reader_output": (1,),
}


class NameReaders:
    """The networks that read names.

    Args:
        weights: Of all networks, stacked along their first axis.
    """

    def __init__(self, weights: Weights) -> None:
        widths = hidden_units(weights)
        self._networks = len(widths)
        self._groups = [
            (np.flatnonzero(widths == width), _narrowed(weights, widths == width, width))
            for width in np.unique(widths).tolist()
        ]

    def scores(self, tokens: FloatArray) -> FloatArray:
        """What each network says of each arm, [E, K, OPINIONS - 1].

        Args:
            tokens: Of each arm, those that are absent zero, [K, N, F].
        """
        parts = [
            self._scores(tokens[start : start + _AT_ONCE].astype(np.float32))
            for start in range(0, len(tokens), _AT_ONCE)
        ]
        return np.concatenate(parts, axis=1)

    def _scores(self, tokens: Array) -> FloatArray:
        """The same of few arms."""
        found = [(at, scores(np, weights, tokens)) for at, weights in self._groups]
        made = np.zeros((self._networks, *found[0][1].shape[1:]))
        for at, said in found:
            made[at] = said
        return made


def hidden_units(weights: Weights) -> Array:
    """How many hidden units of each network are not zeros behind the others, at least 1, [E]."""
    used = 0.0
    for name, axes in _HIDDEN_AXES.items():
        size = np.abs(weights[name])
        for axis in axes:
            others = tuple(at for at in range(1, size.ndim) if at != axis)
            used = used + size.sum(axis=others)
    behind = (np.asarray(used)[:, ::-1] > 0).argmax(axis=1)
    return np.asarray(used).shape[1] - behind


def _narrowed(weights: Weights, chosen: Array, width: int) -> dict[str, Array]:
    """The arrays of some networks, with their first hidden units alone."""
    found = {}
    for name, axes in _HIDDEN_AXES.items():
        part = [slice(None)] * weights[name].ndim
        for axis in axes:
            part[axis] = slice(width)
        found[name] = np.ascontiguousarray(weights[name][chosen][tuple(part)], np.float32)
    return found
