"""Predictions with a shape for each arm, averaged over settings of what the arms share."""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.mixture import SettingsMixture
from bhpt.beliefs.freeze_thaw.posterior import GaussianEnds
from bhpt.beliefs.scale import Scaled
from bhpt.beliefs.shapes.posterior import ShapePosterior
from bhpt.domain import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ShapeMixture(SettingsMixture[ShapePosterior]):
    """Posteriors with a shape for each arm, for several settings of the study.

    Attributes:
        scaled: The curves relative to the untrained loss, the units of ν; ζ is `scaled.best`.
        full: Epochs of a full training.
    """

    scaled: Scaled
    full: int

    @property
    def counts(self) -> IntArray:
        """Epochs of every arm, units in flight included, [K]."""
        return self.components[0].epochs

    @property
    def shared(self) -> float:
        """Probability that all arms share one decay: each has its own."""
        return 0.0

    def ends(self, horizon: IntArray) -> GaussianEnds:
        """ν of the mixture for a horizon in epochs: the variance between settings included."""
        first = self.components[0]
        stops = first.stops(horizon)
        times = np.maximum(stops - 1, 0)
        table = sum(
            (w * c.table for w, c in zip(self.weights, self.components, strict=True)),
            start=np.zeros_like(first.table),
        )
        if len(first.visited):
            inside = np.arange(table.shape[1]) < stops[first.visited][:, None]
            times[first.visited] = np.where(inside, table, np.inf).argmin(axis=1)
        moments = [c.moments(times) for c in self.components]
        means, variances = (np.stack(part) for part in zip(*moments, strict=True))
        mean = self.weights @ means
        variance = self.weights @ (variances + (means - mean) ** 2)
        some = stops > first.counts
        tau = np.where(some, first.grid.epochs[times] - first.epochs, 0)
        return GaussianEnds(tau, np.where(some, mean, np.inf), np.where(some, variance, 0.0))

    def parts(self, horizon: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Logarithm of ν for every setting and shape: means, deviations, weights, [S · G, K] each.

        Means are infinite where the horizon is empty.
        """
        means, deviations, weights = [], [], []
        for share, one in zip(self.weights, self.components, strict=True):
            ends = one.ends(horizon)
            found = one.at(one.times(ends))
            means.append(np.where(np.isfinite(ends.mean)[:, None], found.means, np.inf).T)
            deviations.append(np.sqrt(found.variances).T)
            weights.append(share * found.weights.T)
        return np.concatenate(means), np.concatenate(deviations), np.concatenate(weights)

    def futures(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of whole curves as losses relative to the untrained one, [size, A, T].

        Epochs of long trainings that are not kept are interpolated.
        """
        shares = rng.multinomial(size, self.weights)
        drawn = np.concatenate(
            [c.futures(arms, int(n), rng) for c, n in zip(self.components, shares, strict=True)]
        )
        kept = self.components[0].grid.epochs
        if len(kept) == self.full:
            losses: FloatArray = np.exp(drawn)
            return losses
        right = np.searchsorted(kept, np.arange(1, self.full + 1))
        left = np.maximum(right - 1, 0)
        gap = np.maximum(kept[right] - kept[left], 1)
        part = np.where(right > left, (np.arange(1, self.full + 1) - kept[left]) / gap, 0.0)
        whole: FloatArray = np.exp(drawn[..., left] * (1 - part) + drawn[..., right] * part)
        return whole
