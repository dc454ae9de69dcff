"""Predictions under two hypotheses about a study, each with its own posterior, and their weights.

Notation:
    H  hypotheses: a shape for each arm, or one decay for all      w_H  their probabilities
    ν  as in `freeze_thaw.posterior`: its mean is Σ_H w_H μ_H, its variance
       Σ_H w_H (σ_H² + (μ_H - μ)²), and its epoch that of the hypothesis with the most weight
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.beliefs.freeze_thaw.posterior import GaussianEnds
from bhpt.beliefs.interface import MovingPosterior
from bhpt.beliefs.scale import Scaled
from bhpt.beliefs.shapes.mixture import ShapeMixture
from bhpt.domain import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class WeighedMixture:
    """Posteriors under both hypotheses; both are of losses relative to the same start.

    Attributes:
        shapes: A shape for each arm.
        one_decay: One decay for all arms.
        weight: Probability of one decay, in (0, 1).
    """

    shapes: ShapeMixture
    one_decay: Mixture
    weight: float

    @property
    def scaled(self) -> Scaled:
        """The curves relative to the start, and the way back to losses."""
        return self.shapes.scaled

    @property
    def shared(self) -> float:
        """Probability that all arms share one decay."""
        return self.weight

    @property
    def components(self) -> tuple[MovingPosterior, ...]:
        """One posterior a setting, those of the likelier hypothesis first."""
        ours, other = self.shapes.components, self.one_decay.components
        return (*ours, *other) if self.weight < 0.5 else (*other, *ours)

    def average(self, found: Callable[[MovingPosterior], FloatArray]) -> FloatArray:
        """A number that every setting gives for every arm, averaged over all settings, [K]."""
        return self._weighed(self.shapes.average(found), self.one_decay.average(found))

    def ends(self, horizon: IntArray) -> GaussianEnds:
        """ν over both hypotheses for a horizon in epochs."""
        ours, other = self.shapes.ends(horizon), self.one_decay.ends(horizon)
        mean = self._weighed(ours.mean, other.mean)
        some = np.isfinite(mean)
        apart = np.where(some, ours.mean, 0.0) - np.where(some, other.mean, 0.0)
        variance = self._weighed(ours.variance, other.variance)
        variance += self.weight * (1 - self.weight) * apart**2
        likelier = ours if self.weight < 0.5 else other
        return GaussianEnds(likelier.tau, mean, np.where(some, variance, 0.0))

    def lowest(self, horizon: IntArray) -> FloatArray:
        """E ν averaged over the settings, each at its own epoch, [K]."""
        return self._weighed(self.shapes.lowest(horizon), self.one_decay.lowest(horizon))

    def moved(self, horizon: IntArray, epochs: int) -> tuple[FloatArray, FloatArray]:
        """E ν and how far `epochs` epochs of an arm move it, over the settings, [K] and [K]."""
        mean, deviation = self.shapes.moved(horizon, epochs)
        other_mean, other_deviation = self.one_decay.moved(horizon, epochs)
        moved: FloatArray = np.sqrt(self._weighed(deviation**2, other_deviation**2))
        return self._weighed(mean, other_mean), moved

    def _weighed(self, ours: FloatArray, other: FloatArray) -> FloatArray:
        """(1 - w) of a number under shapes and w of it under one decay, of the same shape."""
        weighed: FloatArray = (1 - self.weight) * ours + self.weight * other
        return weighed
