"""Predictions averaged over settings of the hyper-parameters, in the belief's units."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from bhpt.beliefs.freeze_thaw.posterior import (
    Block,
    CoupledByAsymptotes,
    GaussianEnds,
    Posterior,
    lowest_means,
)
from bhpt.beliefs.scale import Scaled
from bhpt.domain import FloatArray, IntArray

PosteriorT = TypeVar("PosteriorT", bound=CoupledByAsymptotes)


@dataclass(frozen=True, eq=False)
class SettingsMixture(Generic[PosteriorT]):
    """Posteriors for several settings, and what is averaged over them arm by arm.

    Attributes:
        components: One posterior a setting, [S].
        weights: Their probabilities, [S].
    """

    components: tuple[PosteriorT, ...]
    weights: FloatArray

    def average(self, found: Callable[[PosteriorT], FloatArray]) -> FloatArray:
        """A number that every setting gives for every arm, averaged over the settings, [K]."""
        total: FloatArray = sum(
            (w * found(c) for w, c in zip(self.weights, self.components, strict=True)),
            start=np.zeros(1),
        )
        return total

    def lowest(self, horizon: IntArray) -> FloatArray:
        """E ν averaged over the settings, each at its own epoch, [K]."""
        return self.average(lambda c: c.ends(horizon).mean)

    def moved(self, horizon: IntArray, epochs: int) -> tuple[FloatArray, FloatArray]:
        """E ν and how far `epochs` epochs of an arm move it, over the settings, [K] and [K]."""
        squared = self.average(lambda c: c.moves(c.ends(horizon), epochs).own ** 2)
        deviation: FloatArray = np.sqrt(squared)
        return self.lowest(horizon), deviation


@dataclass(frozen=True, eq=False)
class Mixture(SettingsMixture[Posterior]):
    """Posteriors with one decay for all arms, for several settings of the hyper-parameters.

    Attributes:
        scaled: The curves in the belief's units; ζ is `scaled.best`.
        counts: Observed epochs of every arm, units in flight included, [K].
    """

    scaled: Scaled
    counts: IntArray

    @property
    def shared(self) -> float:
        """Probability that all arms share one decay: it is taken for granted."""
        return 1.0

    def ends(self, horizon: IntArray) -> GaussianEnds:
        """ν of the mixture for a horizon in epochs: the variance between settings included."""
        if len(self.components) == 1:
            return self.components[0].ends(horizon)
        blocks = zip(*(c.blocks() for c in self.components), strict=True)
        found = [self._block_ends(block, horizon) for block in blocks]
        tau, mean, variance = (np.concatenate(part) for part in zip(*found, strict=True))
        return GaussianEnds(tau, mean, variance)

    def _block_ends(
        self, block: tuple[Block, ...], horizon: IntArray
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """`ends` for some of the arms."""
        arms = block[0].arms
        averaged = np.average([part.means for part in block], axis=0, weights=self.weights)
        times, mean = lowest_means(averaged, self.counts[arms] + horizon[arms])
        some = np.isfinite(mean)
        within = np.stack([c.variance(arms, times) for c in self.components])
        settings = np.stack([part.means[np.arange(len(arms)), times] for part in block])
        between = np.square(np.where(some, settings, 0.0) - np.where(some, mean, 0.0))
        variance = np.average(within + between, axis=0, weights=self.weights)
        tau = np.where(some, times - self.counts[arms] + 1, 0)
        return tau, mean, np.where(some, variance, 0.0)

    def futures(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of whole curves in the belief's units, [size, A, T]."""
        shares = rng.multinomial(size, self.weights)
        drawn = [c.futures(arms, int(n), rng) for c, n in zip(self.components, shares, strict=True)]
        return np.concatenate(drawn)
