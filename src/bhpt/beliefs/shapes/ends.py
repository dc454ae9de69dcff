"""Ends as the belief with shapes has them: mixtures over settings and shapes, read as losses.

Notation:
    K  arms, A  some of them, T  epochs, S  settings, G  shapes, Q  probabilities
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from bhpt.beliefs.freeze_thaw.ends import lowest_paths, mixture_quantiles
from bhpt.beliefs.predictor import prediction_floor
from bhpt.beliefs.shapes.mixture import ShapeMixture
from bhpt.domain import FloatArray, IntArray, View

_SURE = 1e-12  # a smaller deviation is none


@dataclass(frozen=True, eq=False)
class ShapeEnds:
    """The ends of all arms of a view.

    Attributes:
        view: The moment.
        mixture: The belief's posterior at it.
        horizon: Units that each arm is trained for, [K].
    """

    view: View
    mixture: ShapeMixture
    horizon: IntArray

    @property
    def _epochs(self) -> IntArray:
        return self.horizon * self.view.unit

    def mean(self) -> FloatArray:
        """E[e_k], [K]."""
        return self.cut(self.mixture.scaled.loss(self.mixture.ends(self._epochs).mean))

    def deviation(self) -> FloatArray:
        """Standard deviation of e_k, [K]."""
        deviation = self.mixture.scaled.height * np.sqrt(self.mixture.ends(self._epochs).variance)
        return np.where(np.isnan(self.mean()), np.nan, deviation)

    def mean_at_most(self, loss: float) -> FloatArray:
        """E[min(e_k, loss)], [K]."""
        scaled = self.mixture.scaled
        most = np.full(self.view.arms, (loss - scaled.zero) / scaled.height)
        expected = self.mixture.average(lambda c: c.mean_at_most(self._epochs, most))
        reached = np.where(np.isnan(self.mean()), np.nan, scaled.loss(expected))
        return np.minimum(reached, self.view.curves.best_by_arm)

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles of e_k, [Q, K]."""
        means, deviations, weights = self.mixture.parts(self._epochs)
        found = mixture_quantiles(means, deviations, weights, np.asarray(probabilities))
        return self.cut(self.mixture.scaled.loss(np.exp(found)))

    def below(self, losses: FloatArray) -> FloatArray:
        """Probability that an arm would end at or below so much if no end were cut, [Q, K]."""
        means, deviations, weights = self.mixture.parts(self._epochs)
        scaled = self.mixture.scaled
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.log(np.maximum((losses - scaled.zero) / scaled.height, 0.0))[:, None]
            apart = np.where(value > -np.inf, value - means, -np.inf)
        found: FloatArray = np.einsum(
            "sk,qsk->qk", weights, ndtr(apart / np.maximum(deviations, _SURE))
        )
        return found

    def draws(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of e_k for some arms, [S, A]."""
        last = np.minimum(self.mixture.counts + self._epochs, self.view.curves.epochs)[arms]
        drawn: FloatArray = self.paths(arms, size, rng)[:, np.arange(len(arms)), last]
        return drawn

    def paths(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of how the lowest loss of some arms falls as they train, [S, A, T + 1]."""
        losses = self.mixture.scaled.loss(self.mixture.futures(arms, size, rng))
        return lowest_paths(self.view, arms, losses)

    def within(self, horizon: IntArray) -> "ShapeEnds":
        """The same view, with other horizons in units, [K]."""
        return ShapeEnds(self.view, self.mixture, horizon)

    def cut(self, losses: FloatArray) -> FloatArray:
        """Losses between the floor and what each arm has reached; NaN where neither is finite.

        An untrained model is always to be had.
        """
        scaled, floor = self.mixture.scaled, prediction_floor(self.view)
        most = scaled.zero + scaled.height * scaled.start
        cut = np.where(np.isfinite(losses), np.maximum(np.minimum(losses, most), floor), losses)
        cut = np.minimum(cut, self.view.curves.best_by_arm)
        return np.where(np.isfinite(cut), cut, np.nan)
