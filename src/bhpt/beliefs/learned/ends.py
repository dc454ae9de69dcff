"""The learned predictor: how low a curve will get within its horizon, as a histogram.

Notation:
    K  arms, R  arms looked at, Q  quantiles
    w  further improvement of an arm, in units of S, the best improvement of all so far
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bhpt.beliefs.learned.network import EDGES, histogram, trunk
from bhpt.beliefs.learned.network_inputs import at_rest, see
from bhpt.beliefs.learned.weights import NetworkWeights
from bhpt.beliefs.scale import untrained_loss
from bhpt.domain import FloatArray, IntArray, View

_LOW = np.array([0.0, *EDGES])  # of each bin
_HIGH = np.array([0.0, *EDGES[1:], 2 * EDGES[-1]])  # the first bin stands for no improvement


@dataclass(frozen=True, eq=False)
class Histogram:
    """Chances of further improvement.

    Attributes:
        arms: Arms looked at, [R].
        chances: Of each bin, [R, bins].
        now: Lowest loss of each arm so far, ℓ_0 where there is none, [R].
        scale: S, as a loss; 0 if nothing has improved yet, and then nothing is predicted.
        floor: No loss is lower: 0 where none was ever negative, else minus infinity.
    """

    arms: IntArray
    chances: FloatArray
    now: FloatArray
    scale: float
    floor: float = -np.inf

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles of the lowest loss at the horizon, [Q, R]."""
        below = np.cumsum(self.chances, axis=1)
        found = []
        for p in probabilities:
            upper = np.minimum((below < 1 - p).sum(axis=1), self.chances.shape[1] - 1)
            mass = np.take_along_axis(self.chances, upper[:, None], axis=1)[:, 0]
            end = np.take_along_axis(below, upper[:, None], axis=1)[:, 0]
            part = np.clip(1 - (end - (1 - p)) / np.maximum(mass, 1e-12), 0.0, 1.0)
            found.append(_between(_LOW[upper], _HIGH[upper], part))
        return np.maximum(self.now - self.scale * np.stack(found), self.floor)

    def mean(self) -> FloatArray:
        """Expected lowest loss at the horizon, [R]."""
        return np.asarray((self.chances * self._ends).sum(axis=1))

    def deviation(self) -> FloatArray:
        """Its standard deviation, [R]."""
        apart = self._ends - self.mean()[:, None]
        return np.asarray(np.sqrt((self.chances * apart**2).sum(axis=1)))

    def mean_at_most(self, loss: float) -> FloatArray:
        """Expected lower one of this loss and the lowest loss at the horizon, [R]."""
        return np.asarray((self.chances * np.minimum(self._ends, loss)).sum(axis=1))

    def by_arm(self, values: FloatArray, arms: int) -> FloatArray:
        """Values of the arms looked at, [R], as those of all arms, NaN for the others, [K]."""
        found = np.full(arms, np.nan)
        found[self.arms] = values
        return found

    @cached_property
    def _ends(self) -> FloatArray:
        """The loss that the middle of each bin stands for, [R, bins]."""
        return np.maximum(self.now[:, None] - self.scale * _MIDDLE, self.floor)


def _between(low: FloatArray, high: FloatArray, part: FloatArray) -> FloatArray:
    """A point within a bin, even in the logarithm; the first bin is a point."""
    inside = np.maximum(low, 1e-12) * (np.maximum(high, 1e-12) / np.maximum(low, 1e-12)) ** part
    return np.where(high > 0, inside, 0.0)


_MIDDLE = _between(_LOW, _HIGH, np.full(len(_LOW), 0.5))


@dataclass(frozen=True, eq=False)
class LearnedEnds:
    """Predicts ends with a network that was trained on many curves."""

    weights: NetworkWeights

    def histogram(self, view: View) -> Histogram:
        """Chances of further improvement of each arm within its horizon."""
        view = at_rest(view)
        sight = see(view, self.weights)
        moment = sight.moment
        made = trunk(np, self.weights, sight.arms, sight.study, moment.exists)
        raw = histogram(self.weights, made)
        chances = np.exp(raw - raw.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        chances[view.horizon[sight.rows] == 0] = np.eye(1, chances.shape[1])  # ends as it is
        gained = moment.q[np.arange(len(sight.rows)), moment.n]
        start = untrained_loss(view.curves, view.untrained)
        floor = 0.0 if view.curves.best >= 0 else -np.inf
        return Histogram(sight.rows, chances, start - gained, float(gained.max()), floor)

    def ends(self, view: View, quantiles: Sequence[float]) -> FloatArray:
        """Quantiles of the lowest loss that each arm will have had, [Q, K]; NaN if unknown."""
        found = np.full((len(quantiles), view.arms), np.nan)
        if not view.curves.longest:
            return found
        drawn = self.histogram(view)
        if drawn.scale > 0:
            found[:, drawn.arms] = drawn.quantiles(quantiles)
        return found
