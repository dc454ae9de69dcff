"""Predictions of every arm at every future epoch, for one setting of the hyper-parameters.

Notation (beside that of `grid`):
    n_k     observed epochs of arm k, [K]
    y_k(t)  value at epoch t:  mean b_t + P_kt + Ω[n_k, t] μ_k,  variance R[n_k, t] + Ω² C_kk
    ν_k     the value of arm k at the epoch of its lowest mean within its horizon
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bhpt.beliefs.expected_min import expected_min
from bhpt.beliefs.freeze_thaw.asymptotes import Asymptotes
from bhpt.beliefs.freeze_thaw.grid import Grid, Rows
from bhpt.beliefs.triangular import spectral_root
from bhpt.domain import FloatArray, IntArray

_BLOCK = 2**15  # doubles of a block of means: a quarter of a megabyte, so it stays in a cache


@dataclass(frozen=True, eq=False)
class GaussianEnds:
    """ν, the predicted end of every arm within its horizon.

    Attributes:
        tau: Epochs from now to the lowest mean, [K]; 0 where the horizon is empty.
        mean: E ν, [K]; infinite where the horizon is empty.
        variance: Var ν, [K].
    """

    tau: IntArray
    mean: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class Block:
    """Predicted means of some of the arms at every epoch, infinite in the past, [A, T]."""

    arms: IntArray
    means: FloatArray


def lowest_means(means: FloatArray, stops: IntArray) -> tuple[IntArray, FloatArray]:
    """Time and value of each row's lowest mean before its stop, [A]; infinite if there is none."""
    epochs = means.shape[1]
    if stops.min(initial=epochs) < epochs:
        means = np.where(np.arange(epochs) < stops[:, None], means, np.inf)
    times = means.argmin(axis=1)
    return times, means[np.arange(len(times)), times]


@dataclass(frozen=True, eq=False)
class Moves:
    """What one more unit of each arm does, as standard deviations of one common Z.

    Attributes:
        own: δ_a: E ν_a moves by δ_a Z, [K].
        pull: μ_k of a correlated arm moves by C_ka pull_a Z, [K]. Exact for one epoch; for
            several, the part of the move that goes along with the arm's own.
    """

    own: FloatArray
    pull: FloatArray


class CoupledByAsymptotes(ABC):
    """The posterior for one setting of the hyper-parameters: arms share their asymptotes alone.

    Attributes:
        asymptotes: Posterior of f.
    """

    asymptotes: Asymptotes

    @abstractmethod
    def ends(self, horizon: IntArray) -> GaussianEnds:
        """ν for a horizon in epochs: which epoch, mean and variance."""

    @abstractmethod
    def moves(self, ends: GaussianEnds, epochs: int) -> Moves:
        """How the next `epochs` epochs of an arm will move its own end and the others'."""

    @property
    def correlated(self) -> bool:
        """Whether a unit of one arm moves the ends of others."""
        return self.asymptotes.informed is not None

    @property
    def shared_deviation(self) -> FloatArray:
        """Standard deviation of what an arm's asymptote can share with others', [K]."""
        return self.asymptotes.shared_deviation

    def covariance(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Covariance of the asymptotes of some arms, [A, B]."""
        return self.asymptotes.covariance(rows, columns)


@dataclass(frozen=True, eq=False)
class Posterior(CoupledByAsymptotes):
    """All arms' futures as Gaussians; times below are 0-based columns of the epoch grid.

    Attributes:
        grid: The factorised epochs.
        rows: The visited curves on it.
        visited: Arm of each row, [V].
        counts: n, observed epochs of every arm, [K].
        asymptotes: Posterior of f.
    """

    grid: Grid
    rows: Rows
    visited: IntArray
    counts: IntArray
    asymptotes: Asymptotes
    _ends: dict[bytes, GaussianEnds] = field(default_factory=dict, init=False, repr=False)

    def table(self, arms: IntArray) -> FloatArray:
        """Predicted mean of the given arms at every epoch, infinite in the past, [A, T]."""
        table = self.grid.omega[self.counts[arms]]
        table *= self.asymptotes.mean[arms][:, None]
        table += self.grid.base
        rows = self._row_of[arms]
        seen = np.flatnonzero(rows >= 0)
        observed = table[seen]
        observed += self.rows.projected[rows[seen]]
        observed[np.arange(self.grid.epochs) < self.counts[arms[seen]][:, None]] = np.inf
        table[seen] = observed
        return table

    @cached_property
    def _row_of(self) -> IntArray:
        """Row of every arm, -1 where it has none, [K]."""
        rows = np.full(len(self.counts), -1)
        rows[self.visited] = np.arange(len(self.visited))
        return rows

    @cached_property
    def means(self) -> FloatArray:
        """Predicted mean of every arm at every epoch, infinite in the past, [K, T]."""
        return self.table(np.arange(len(self.counts)))

    def blocks(self) -> Iterator[Block]:
        """All arms' means, in blocks that fit into a cache; few arms are kept as one block."""
        arms = np.arange(len(self.counts))
        step = max(1, _BLOCK // self.grid.epochs)
        if len(arms) <= step:
            yield Block(arms, self.means)
            return
        for at in range(0, len(arms), step):
            part = arms[at : at + step]
            yield Block(part, self.table(part))

    def variance(self, arms: IntArray, times: IntArray) -> FloatArray:
        """Predictive variance of the given arms at one time each, noise included."""
        n = self.counts[arms]
        omega = self.grid.omega[n, times]
        return self.grid.residual[n, times] + omega**2 * self.asymptotes.variance[arms]

    def ends(self, horizon: IntArray) -> GaussianEnds:
        """ν for a horizon in epochs: which epoch, mean and variance."""
        key = horizon.tobytes()
        if key not in self._ends:
            self._ends[key] = self._find_ends(horizon)
        return self._ends[key]

    def mean_at_most(self, horizon: IntArray, most: FloatArray) -> FloatArray:
        """E min{ν_k, most_k} for a horizon in epochs, [K]; infinite stands for "not there"."""
        ends = self.ends(horizon)
        return expected_min(ends.mean, np.sqrt(ends.variance), most)

    def _find_ends(self, horizon: IntArray) -> GaussianEnds:
        stops = self.counts + horizon
        found = [lowest_means(block.means, stops[block.arms]) for block in self.blocks()]
        times = np.concatenate([t for t, _ in found])
        mean = np.concatenate([m for _, m in found])
        some = np.isfinite(mean)
        tau = np.where(some, times - self.counts + 1, 0)
        variance = self.variance(np.arange(len(times)), times)
        return GaussianEnds(tau, mean, np.where(some, variance, 0.0))

    def moves(self, ends: GaussianEnds, epochs: int) -> Moves:
        """How the next `epochs` epochs of an arm will move its own end and the others'.

        A Gaussian's variance does not depend on the values, so this is known before they are:
        a move's variance is the variance that the observation removes.
        """
        arms = np.arange(len(self.counts))
        now = self.counts
        later = np.minimum(now + epochs, self.grid.epochs)
        times = np.maximum(now + ends.tau - 1, 0)
        before = self.asymptotes.variance
        gained = self.grid.information[later] - self.grid.information[now]
        after = before / (1 + gained * before)
        open_ = times >= later  # else the end itself is among what will be seen
        omega_after = np.where(open_, self.grid.omega[later, times], 0.0)
        residual = np.where(open_, self.grid.residual[later, times], 0.0)
        own = self.variance(arms, times) - residual - omega_after**2 * after
        own = np.sqrt(np.maximum(own, 0.0))
        full = np.sqrt(gained / (1 + gained * before))
        common = self.grid.omega[now, times] * before - omega_after * after
        scale = own * before
        with np.errstate(divide="ignore", invalid="ignore"):
            shared = np.where(scale > 0, common / scale, full)
        return Moves(own, np.clip(shared, -full, full))

    def common_moves(self, ends: GaussianEnds, epochs: int, arms: IntArray) -> FloatArray:
        """Correlation of the moves of the given arms' ends, if each ran `epochs` epochs, [A, A].

        A move's covariance is what the observations remove of that of the ends; how far they
        shrink the covariance of two asymptotes is taken from what each does on its own.
        """
        now = self.counts[arms]
        later = np.minimum(now + epochs, self.grid.epochs)
        times = np.maximum(now + ends.tau[arms] - 1, 0)
        before = self.asymptotes.variance[arms]
        gained = self.grid.information[later] - self.grid.information[now]
        shrink = 1 / (1 + gained * before)
        after = np.where(times >= later, self.grid.omega[later, times], 0.0) * shrink
        omega = self.grid.omega[now, times]
        shared = self.asymptotes.covariance(arms, arms)
        shared *= omega[:, None] * omega - after[:, None] * after
        own = self.moves(ends, epochs).own[arms]
        scale = np.where(own > 0, own, np.inf)
        correlation = np.clip(shared / scale[:, None] / scale, -0.99, 0.99)
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def exposure(self, ends: GaussianEnds) -> FloatArray:
        """Ω at the predicted end: how far E ν_k moves with μ_k, [K]."""
        times = np.maximum(self.counts + ends.tau - 1, 0)
        weights: FloatArray = self.grid.omega[self.counts, times]
        return weights

    def futures(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of whole curves, observed part included, [size, A, T].

        The trailing block of L is the Cholesky factor of what the observed epochs leave open.
        """
        root = spectral_root(self.asymptotes.covariance(arms, arms))
        f = self.asymptotes.mean[arms] + rng.standard_normal((size, len(arms))) @ root.T
        epochs = self.grid.epochs
        drawn = np.empty((size, len(arms), epochs))
        for column, arm in enumerate(arms):
            n, row = int(self.counts[arm]), int(self._row_of[arm])
            shock = rng.standard_normal((size, epochs - n)) @ self.grid.factor[n:, n:].T
            path = self.grid.base[n:] + np.outer(f[:, column], self.grid.omega[n, n:]) + shock
            if row >= 0:
                path = path + self.rows.projected[row, n:]
                drawn[:, column, :n] = self.rows.values[row, :n]
            drawn[:, column, n:] = path
        return drawn
