"""Rows of K_x, visited arms × all arms, evaluated once for a setting of the hyper-parameters.

With a hundred thousand candidates a row takes as long to evaluate as to use thirty times. A new
unit adds at most one row, so rows are kept, up to a limit on the memory; what has no room is
evaluated again each time.

Notation:
    K  arms, V  visited arms, U  vectors that the rows are weighted by
"""

import numpy as np

from bhpt.beliefs.freeze_thaw.hypers import Hypers, Kernel
from bhpt.beliefs.freeze_thaw.kernels import asymptote_covariance
from bhpt.domain import FloatArray, IntArray

_TOGETHER = 64  # rows in one piece of memory, so that adding one does not copy the others
_CACHED = 2**17  # doubles that are evaluated at a time: a megabyte, so it stays in a cache


class KernelRows:
    """A store of rows of K_x, by arm; the order in which arms come does not matter."""

    def __init__(self, kernel: Kernel, hypers: Hypers, features: FloatArray, room: int) -> None:
        """Take the kernel, its numbers, all encodings [K, D] and how many doubles may be kept."""
        self._kernel: Kernel = kernel
        self._hypers = hypers
        self._features = features
        self._most = room // len(features)
        self._pieces: list[FloatArray] = []
        self._place: dict[int, int] = {}

    def keep(self, arms: IntArray) -> None:
        """Evaluate the rows of the given arms that are not there yet, while there is room."""
        new = [int(arm) for arm in arms if int(arm) not in self._place]
        new = new[: max(0, self._most - len(self._place))]
        while new:
            row = len(self._place) % _TOGETHER
            if not row:
                size = min(_TOGETHER, self._most - len(self._place))
                self._pieces.append(np.empty((size, len(self._features))))
            piece = self._pieces[-1]
            now, new = new[: len(piece) - row], new[len(piece) - row :]
            self._evaluate(np.array(now), slice(None), piece[row : row + len(now)])
            for arm in now:
                self._place[arm] = len(self._place)

    def block(self, arms: IntArray, part: slice) -> FloatArray:
        """Rows of the given arms for the columns of `part`, [A, B]; a new array."""
        width = len(range(*part.indices(len(self._features))))
        found = np.empty((len(arms), width))
        places = self._places(arms)
        for number, piece in enumerate(self._pieces):
            here = np.flatnonzero(places // _TOGETHER == number)
            found[here] = piece[places[here] % _TOGETHER, part]
        missing = np.flatnonzero(places < 0)
        if missing.size:
            fresh = np.empty((len(missing), width))
            self._evaluate(arms[missing], part, fresh)
            found[missing] = fresh
        return found

    def weighted(self, arms: IntArray, weights: FloatArray) -> FloatArray:
        """Sums of the arms' rows by each of the weights [U, A], [U, K]."""
        places = self._places(arms)
        there = places >= 0
        spread = np.zeros((len(weights), len(self._place)))
        spread[:, places[there]] = weights[:, there]
        total = np.zeros((len(weights), len(self._features)))
        for number, piece in enumerate(self._pieces):
            some = spread[:, number * _TOGETHER : (number + 1) * _TOGETHER]
            total += some @ piece[: some.shape[1]]
        missing = np.flatnonzero(~there)
        if missing.size:
            step = max(1, _CACHED // len(missing))
            for at in range(0, len(self._features), step):
                part = slice(at, at + step)
                total[:, part] += weights[:, missing] @ self.block(arms[missing], part)
        return total

    def _places(self, arms: IntArray) -> IntArray:
        """Where each arm's row is, -1 where it is not kept, [A]."""
        return np.array([self._place.get(int(arm), -1) for arm in arms], np.int64)

    def _evaluate(self, arms: IntArray, part: slice, out: FloatArray) -> None:
        """Rows of K_x for the columns of `part` into `out`, [A, B]."""
        first, stop, _ = part.indices(len(self._features))
        step = max(1, _CACHED // len(arms))
        left = self._features[arms]
        for at in range(first, stop, step):
            here = slice(at, min(at + step, stop))
            out[:, at - first : here.stop - first] = asymptote_covariance(
                self._kernel, self._hypers, left, self._features[here]
            )
        own = np.flatnonzero((arms >= first) & (arms < stop))
        out[own, arms[own] - first] += self._hypers.amplitude**2 * (1 - self._hypers.rho)
