"""Predictions of every arm when each has a shape of its own, for one setting of the study.

Given its shape an arm's future is Gaussian and comes from the prefix tables; of its shape only
probabilities are known. What a unit does to an end is thus of two kinds: it moves the end within
each shape, and it tells shapes apart.

Notation (beside that of `grid` and `evidence`):
    w_kg   probability of shape g for arm k          F_kg, C_kg  mean and variance of its end
    n, n'  kept epochs seen; and with units in flight
    y_k(t) given g: mean ℓ_0 + P_kgt + Ω_g[n, t] F_kg, variance A² R_g[n', t] + Ω_g[n', t]² C'_kg
    ν_k    e^y at the epoch of the lowest mean within the horizon, at most what arm k has reached:
           a loss relative to ℓ_0, since losses and not their logarithms are to be low
    φ      how much of what shapes disagree about a unit settles: the variance between shapes at
           its last epoch as part of all variance there, times (1 - c)², since what it tells apart
           moves the weights of `ByShape.responsibilities` by that part only
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from bhpt.beliefs.expected_min import best_other, deviation_of_gain, exp_moments, expected_min_exp
from bhpt.beliefs.freeze_thaw.asymptotes import Asymptotes
from bhpt.beliefs.freeze_thaw.posterior import (
    CoupledByAsymptotes,
    GaussianEnds,
    Moves,
    lowest_means,
)
from bhpt.beliefs.shapes.grid import ShapeGrid, ShapeRows
from bhpt.beliefs.triangular import spectral_root
from bhpt.domain import FloatArray, IntArray

_NEGLIGIBLE = 1e-12
_KEPT = 4  # values of all arms that are kept for the next question about them


@dataclass(frozen=True, eq=False)
class ShapeParts:
    """One value of every arm as a mixture over the shapes.

    Attributes:
        weights: Probability of each shape, [K, G].
        means: Mean given the shape, [K, G].
        variances: Variance given the shape, [K, G].
    """

    weights: FloatArray
    means: FloatArray
    variances: FloatArray

    @cached_property
    def mean(self) -> FloatArray:
        """Mean over the shapes, [K]."""
        return _average(self.weights, self.means)

    @cached_property
    def between(self) -> FloatArray:
        """Variance that comes from not knowing the shape, [K]."""
        return _average(self.weights, (self.means - self.mean[:, None]) ** 2)

    @cached_property
    def within(self) -> FloatArray:
        """Variance that would be left if the shape were known, [K]."""
        return _average(self.weights, self.variances)


def _average(weights: FloatArray, values: FloatArray) -> FloatArray:
    found: FloatArray = np.einsum("kg,kg->k", weights, values)
    return found


@dataclass(frozen=True, eq=False)
class ShapePosterior(CoupledByAsymptotes):
    """All arms' futures; times are 0-based columns of the kept epochs.

    Attributes:
        grid: The factorised epochs of every shape.
        rows: The curves of visited arms and of those with a unit in flight.
        visited: Arm of each row, [V].
        epochs: Epochs of every arm, units in flight included, [K].
        counts: n', how many of them are kept ones, [K].
        size: A.
        weights: w, [K, G].
        end_mean: F, relative to the start, [K, G].
        end_variance: C' with units in flight, [K, G].
        reached: Scaled value that every arm has reached, at most the start, [K].
        asymptotes: The ends as one Gaussian over all arms, relative to the start.
        changing: c, the probability that a curve goes on in another shape than it began in.
    """

    grid: ShapeGrid
    rows: ShapeRows
    visited: IntArray
    epochs: IntArray
    counts: IntArray
    size: float
    weights: FloatArray
    end_mean: FloatArray
    end_variance: FloatArray
    reached: FloatArray
    asymptotes: Asymptotes
    changing: float = 0.0
    _ends: dict[bytes, GaussianEnds] = field(default_factory=dict, init=False, repr=False)
    _parts: dict[bytes, ShapeParts] = field(default_factory=dict, init=False, repr=False)
    _moments: dict[bytes, tuple[FloatArray, FloatArray]] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def table(self) -> FloatArray:
        """Predicted mean of every row at every kept epoch, infinite in the past, [V, N]."""
        w = self.weights[self.visited]
        table: FloatArray = (w[:, None, :] @ self.rows.projected)[:, 0]
        table += ((w * self.end_mean[self.visited])[:, None, :] @ self.rows.omega)[:, 0]
        table += self.grid.start
        past = np.arange(table.shape[1]) < self.counts[self.visited][:, None]
        table[past] = np.inf
        return table

    def stops(self, horizon: IntArray) -> IntArray:
        """Kept epochs within a horizon in epochs, at least one more if it is not empty, [K]."""
        inside = self.grid.kept(self.epochs + horizon)
        least = np.minimum(self.counts + (horizon > 0), len(self.grid.epochs))
        return np.maximum(inside, least)

    def times(self, ends: GaussianEnds) -> IntArray:
        """Columns of the predicted ends, [K]."""
        found = np.searchsorted(self.grid.epochs, self.epochs + ends.tau)
        return np.minimum(found, len(self.grid.epochs) - 1)

    def at(self, times: IntArray) -> ShapeParts:
        """Every arm's value at one time each; the latest are kept."""
        key = times.tobytes()
        if key not in self._parts:
            if len(self._parts) >= _KEPT:
                self._parts.pop(next(iter(self._parts)))
            self._parts[key] = self._find_parts(times)
        return self._parts[key]

    def _find_parts(self, times: IntArray) -> ShapeParts:
        means = self.grid.load[:, times].T * self.end_mean + self.grid.start
        rows, at = self.visited, np.arange(len(self.visited))
        here = times[rows]
        means[rows] = (
            self.rows.projected[at, :, here]
            + self.rows.omega[at, :, here] * self.end_mean[rows]
            + self.grid.start
        )
        variances = self._variances(times, self.counts, self.end_variance)
        return ShapeParts(self.weights, means, variances)

    def _variances(self, times: IntArray, counts: IntArray, end_variance: FloatArray) -> FloatArray:
        """Variance at one time an arm given each shape once so many kept epochs are seen, [K, G].

        It is 0 for what will have been seen.
        """
        left: FloatArray = self.size**2 * self.grid.residual[:, counts, times].T
        left += self.grid.omega[:, counts, times].T ** 2 * end_variance
        left[times < counts] = 0.0
        return left

    def _end_variance_after(self, counts: IntArray) -> FloatArray:
        """Variance of the end given each shape once so many kept epochs are seen, [K, G]."""
        gained = self.grid.information[:, counts] - self.grid.information[:, self.counts]
        after: FloatArray = self.end_variance / (
            1 + self.end_variance * np.maximum(gained.T, 0.0) / self.size**2
        )
        return after

    def ends(self, horizon: IntArray) -> GaussianEnds:
        """ν for a horizon in epochs: which epoch, mean and variance over the shapes."""
        key = horizon.tobytes()
        if key not in self._ends:
            self._ends[key] = self._find_ends(horizon)
        return self._ends[key]

    def mean_at_most(self, horizon: IntArray, most: FloatArray) -> FloatArray:
        """E min{ν_k, most_k} for a horizon in epochs, [K]; infinite stands for "not there"."""
        ends = self.ends(horizon)
        parts = self.at(self.times(ends))
        with np.errstate(divide="ignore"):
            bound = np.minimum(self.reached, np.log(np.maximum(most, 0.0)))
        expected = expected_min_exp(parts.means, np.sqrt(parts.variances), bound[:, None])
        inside = np.isfinite(ends.mean) & (most > 0)  # no relative loss is below 0
        return np.where(inside, _average(self.weights, expected), most)

    def moments(self, times: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of ν at one time an arm, as losses relative to ℓ_0, [K] twice."""
        key = times.tobytes()
        if key not in self._moments:
            parts, bound = self.at(times), self.reached[:, None]
            first, second = exp_moments(parts.means, np.sqrt(parts.variances), bound)
            mean, square = _average(self.weights, first), _average(self.weights, second)
            self._moments[key] = mean, np.maximum(square - mean**2, 0.0)
        return self._moments[key]

    def _find_ends(self, horizon: IntArray) -> GaussianEnds:
        stops = self.stops(horizon)
        times = self._lowest(stops)
        some = stops > self.counts
        mean, variance = self.moments(times)
        tau = np.where(some, self.grid.epochs[times] - self.epochs, 0)
        return GaussianEnds(tau, np.where(some, mean, np.inf), np.where(some, variance, 0.0))

    def _lowest(self, stops: IntArray) -> IntArray:
        """Column of each arm's lowest mean before its stop, [K].

        The mean of an arm without observations only falls or only rises.
        """
        falls = _average(self.weights, self.end_mean) < 0
        times = np.where(falls, np.maximum(stops - 1, 0), 0)
        times[self.visited] = lowest_means(self.table, stops[self.visited])[0]
        return times

    def _slope(self, ends: GaussianEnds) -> FloatArray:
        """Deviation of ν as a relative loss by that of its logarithm, [K].

        What a loss is worth lies below the best of the others, c: the deviation is that of the
        Gaussian of the same mean that is as far below c as ν is, E min{N, c} = E min{ν, c}. That
        of ν itself comes mostly from how bad an arm may turn out, which costs nothing.
        """
        there = np.isfinite(ends.mean)
        deviation = np.sqrt(ends.variance)
        other = best_other(ends.mean) if len(ends.mean) > 1 else ends.mean
        other = np.where(there & np.isfinite(other), other, 1.0)
        parts = self.at(self.times(ends))
        bound = np.minimum(self.reached, np.log(other))[:, None]
        lower = _average(
            self.weights, expected_min_exp(parts.means, np.sqrt(parts.variances), bound)
        )
        gap = np.where(there, other - ends.mean, 0.0)
        found = deviation_of_gain(gap, other - lower, deviation)
        spread = parts.within + parts.between
        slope: FloatArray = found / np.sqrt(np.where(spread > 0, spread, 1.0))
        return slope

    def moves(self, ends: GaussianEnds, epochs: int) -> Moves:
        """How the next `epochs` epochs of an arm will move its own end and the others'."""
        times, last = self.times(ends), self._last(epochs)
        now = self.at(times)
        end_variance = self._end_variance_after(last + 1)
        then = _average(self.weights, self._variances(times, last + 1, end_variance))
        settled = np.where(times <= last, 1.0, self._settled(last))
        own = np.maximum(now.within - then + settled * now.between, 0.0)
        own = np.sqrt(own) * self._slope(ends)
        return Moves(own, self._pull(end_variance, settled))

    def _pull(self, end_variance: FloatArray, settled: FloatArray) -> FloatArray:
        """How far seeing more of an arm moves others' ends, in multiples of C_ka, [K].

        An arm says nothing of where it would end if it learned, as far as it does not.
        """
        learning = self.weights * self.grid.learns
        share = np.maximum(learning.sum(axis=1), _NEGLIGIBLE)
        removed = _average(learning, self.end_variance - end_variance)
        mean = _average(learning, self.end_mean) / share
        removed += settled * _average(learning, (self.end_mean - mean[:, None]) ** 2)
        before = np.maximum(self.asymptotes.variance, _NEGLIGIBLE)
        pull: FloatArray = np.sqrt(np.clip(removed, 0.0, before)) / before
        return pull

    def _last(self, epochs: int) -> IntArray:
        """Column of the last kept epoch among the next so many, at least the next one, [K]."""
        last = np.maximum(self.grid.kept(self.epochs + epochs) - 1, self.counts)
        return np.minimum(last, len(self.grid.epochs) - 1)

    def _settled(self, last: IntArray) -> FloatArray:
        """φ of seeing every arm up to a column, [K]."""
        parts = self.at(last)
        total = parts.between + parts.within
        settled: FloatArray = parts.between / np.where(total > 0, total, 1.0)
        return (1 - self.changing) ** 2 * settled

    def common_moves(self, ends: GaussianEnds, epochs: int, arms: IntArray) -> FloatArray:
        """Correlation of the moves of these arms' ends if each runs `epochs` epochs, [A, A].

        It comes from what the arms' ends have in common, as far as their units tell of it; what a
        unit tells of an arm's shape is its own.
        """
        moves = self.moves(ends, epochs)
        gain = np.minimum(moves.pull[arms] ** 2 * self.asymptotes.variance[arms], 1.0)
        told = gain * self.exposure(ends)[arms]
        shared = self.covariance(arms, arms) * told[:, None] * told
        scale = np.where(moves.own[arms] > 0, moves.own[arms], np.inf)
        correlation = np.clip(shared / scale[:, None] / scale, -0.99, 0.99)
        np.fill_diagonal(correlation, 1.0)
        return correlation

    def exposure(self, ends: GaussianEnds) -> FloatArray:
        """How far E ν_k moves with the logarithm of the end of a full training, [K]."""
        times = self.times(ends)
        along = _average(self.weights, self.grid.omega[:, self.counts, times].T)
        return along * self._slope(ends)

    def futures(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of the kept epochs of whole curves, observed part included, [size, A, N]."""
        row_of = {int(arm): row for row, arm in enumerate(self.visited)}
        normal = self._joint_normal(arms, size, rng)
        drawn = np.empty((size, len(arms), len(self.grid.epochs)))
        for column, arm in enumerate(arms):
            shapes = rng.choice(self.weights.shape[1], size, p=self.weights[arm])
            row = row_of.get(int(arm))
            for shape in np.unique(shapes):
                at = np.flatnonzero(shapes == shape)
                drawn[at, column] = self._paths(int(arm), row, int(shape), normal[at, column], rng)
        return drawn

    def _joint_normal(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Standard normal draws, correlated as the ends of the arms are, [size, A]."""
        covariance = self.covariance(arms, arms)
        deviation = np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
        root = spectral_root(covariance / deviation[:, None] / deviation)
        normal: FloatArray = rng.standard_normal((size, len(arms))) @ root.T
        return normal

    def _paths(
        self, arm: int, row: int | None, shape: int, normal: FloatArray, rng: np.random.Generator
    ) -> FloatArray:
        """Draws of one arm's curve given its shape, [size, N]."""
        n = 0 if row is None else int(self.rows.counts[row])
        spread = np.sqrt(self.end_variance[arm, shape])
        f = self.end_mean[arm, shape] + spread * normal
        epochs = len(self.grid.epochs)
        shock = rng.standard_normal((len(normal), epochs - n))
        paths = np.empty((len(normal), epochs))
        paths[:, n:] = self.size * (shock @ self.grid.factor[shape, n:, n:].T)
        paths[:, n:] += self.grid.start + np.outer(f, self.grid.omega[shape, n, n:])
        if row is not None:
            paths[:, n:] += self.rows.projected[row, shape, n:]
            paths[:, :n] = self.rows.values[row, :n]
        return paths
