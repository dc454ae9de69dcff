"""Ends under two hypotheses about a study, weighed by their probabilities.

Notation:
    K  arms, A  some of them, T  epochs, S  draws, Q  probabilities
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.ends import MixtureEnds
from bhpt.beliefs.shapes.ends import ShapeEnds
from bhpt.domain import FloatArray, IntArray

_HALVINGS = 60  # of a bracket: then it is as narrow as doubles are


@dataclass(frozen=True, eq=False)
class WeighedEnds:
    """The ends of all arms of a view.

    Attributes:
        shapes: If each arm has a shape.
        one_decay: If all arms share one decay.
        weight: Probability of one decay.
    """

    shapes: ShapeEnds
    one_decay: MixtureEnds
    weight: float

    def mean(self) -> FloatArray:
        """E[e_k], [K]."""
        return self._weighed(self.shapes.mean(), self.one_decay.mean())

    def deviation(self) -> FloatArray:
        """Standard deviation of e_k, [K]."""
        variance = self._weighed(self.shapes.deviation() ** 2, self.one_decay.deviation() ** 2)
        apart = self.shapes.mean() - self.one_decay.mean()
        deviation: FloatArray = np.sqrt(variance + self.weight * (1 - self.weight) * apart**2)
        return deviation

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles of e_k, [Q, K]: between those of the hypotheses, found by halving."""
        both = self.shapes.quantiles(probabilities), self.one_decay.quantiles(probabilities)
        low, high = np.minimum(*both), np.maximum(*both)
        level = np.asarray(probabilities)[:, None]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            below = self._weighed(self.shapes.below(middle), self.one_decay.below(middle))
            low, high = np.where(below < level, middle, low), np.where(below < level, high, middle)
        return self.shapes.cut((low + high) / 2)

    def mean_at_most(self, loss: float) -> FloatArray:
        """E[min(e_k, loss)], [K]."""
        return self._weighed(self.shapes.mean_at_most(loss), self.one_decay.mean_at_most(loss))

    def draws(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of e_k for some arms, [S, A]."""
        other = int(rng.binomial(size, self.weight))
        ours = self.shapes.draws(arms, size - other, rng)
        return np.concatenate([ours, self.one_decay.draws(arms, other, rng)])

    def paths(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of how the lowest loss of some arms falls as they train, [S, A, T + 1]."""
        other = int(rng.binomial(size, self.weight))
        ours = self.shapes.paths(arms, size - other, rng)
        return np.concatenate([ours, self.one_decay.paths(arms, other, rng)])

    def within(self, horizon: IntArray) -> "WeighedEnds":
        """The same view, with other horizons in units, [K]."""
        return WeighedEnds(self.shapes.within(horizon), self.one_decay.within(horizon), self.weight)

    def _weighed(self, ours: FloatArray, other: FloatArray) -> FloatArray:
        weighed: FloatArray = (1 - self.weight) * ours + self.weight * other
        return weighed
