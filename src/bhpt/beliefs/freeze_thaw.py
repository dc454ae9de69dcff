"""The belief of a study: scale the curves, fit the hyper-parameters when it is time, predict.

`FreezeThaw.condition` is a pure function of the view. What it remembers (the last fit, the
projected rows) only saves work: a study that is resumed from its log predicts the same.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bhpt.beliefs import asymptotes
from bhpt.beliefs.asymptotes import Asymptotes
from bhpt.beliefs.evidence import Target
from bhpt.beliefs.grid import Grid, Rows, make_grid, project
from bhpt.beliefs.hypers import Hypers, Structure, Unknown
from bhpt.beliefs.posterior import Block, Ends, Posterior, lowest
from bhpt.beliefs.scale import Scale, Scaled
from bhpt.beliefs.slice_sampling import sweep
from bhpt.domain import Curves, FloatArray, IntArray, View

_ROOM = 3 * 2**26  # doubles of K_x that may be kept, all settings together: 1.5 GiB


@dataclass(frozen=True, eq=False)
class Mixture:
    """Posteriors for several settings of the hyper-parameters.

    Attributes:
        components: One posterior a setting.
        weights: Their probabilities, [S].
        scaled: The curves in the belief's units; ζ is `scaled.best`.
        counts: Observed epochs of every arm, units in flight included, [K].
    """

    components: tuple[Posterior, ...]
    weights: FloatArray
    scaled: Scaled
    counts: IntArray

    def average(self, found: Callable[[Posterior], FloatArray]) -> FloatArray:
        """Something that every setting says of every arm, averaged over the settings, [K]."""
        total: FloatArray = sum(
            (w * found(c) for w, c in zip(self.weights, self.components, strict=True)),
            start=np.zeros(len(self.counts)),
        )
        return total

    def ends(self, horizon: IntArray) -> Ends:
        """ν of the mixture for a horizon in epochs: the variance between settings included."""
        if len(self.components) == 1:
            return self.components[0].ends(horizon)
        blocks = zip(*(c.blocks() for c in self.components), strict=True)
        found = [self._block_ends(block, horizon) for block in blocks]
        tau, mean, variance = (np.concatenate(part) for part in zip(*found, strict=True))
        return Ends(tau, mean, variance)

    def _block_ends(
        self, block: tuple[Block, ...], horizon: IntArray
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """`ends` for some of the arms."""
        arms = block[0].arms
        averaged = np.average([part.means for part in block], axis=0, weights=self.weights)
        times, mean = lowest(averaged, self.counts[arms] + horizon[arms])
        some = np.isfinite(mean)
        within = np.stack([c.variance(arms, times) for c in self.components])
        settings = np.stack([part.means[np.arange(len(arms)), times] for part in block])
        between = np.square(np.where(some, settings, 0.0) - np.where(some, mean, 0.0))
        variance = np.average(within + between, axis=0, weights=self.weights)
        tau = np.where(some, times - self.counts[arms] + 1, 0)
        return tau, mean, np.where(some, variance, 0.0)

    def lowest(self, horizon: IntArray) -> FloatArray:
        """E ν averaged over the settings, each at its own epoch, [K]."""
        return self.average(lambda c: c.ends(horizon).mean)

    def moved(self, horizon: IntArray, epochs: int) -> tuple[FloatArray, FloatArray]:
        """E ν and how far `epochs` epochs of an arm move it, over the settings, [K] and [K]."""
        squared = self.average(lambda c: c.moves(c.ends(horizon), epochs).own ** 2)
        deviation: FloatArray = np.sqrt(squared)
        return self.lowest(horizon), deviation

    def futures(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of whole curves in the belief's units, [size, A, T]."""
        shares = rng.multinomial(size, self.weights)
        drawn = [c.futures(arms, int(n), rng) for c, n in zip(self.components, shares, strict=True)]
        return np.concatenate(drawn)

    def minima(
        self, arms: IntArray, horizon: IntArray, size: int, rng: np.random.Generator
    ) -> FloatArray:
        """Draws of the true minimum of each arm's future within a horizon in epochs, [size, A].

        ν reads the future at the epoch of its lowest mean; this is what that approximates.
        """
        futures = self.futures(arms, size, rng)
        times = np.arange(futures.shape[2])
        start = self.counts[arms][:, None]
        inside = (times >= start) & (times < start + horizon[arms][:, None])
        lowest_drawn: FloatArray = np.where(inside, futures, np.inf).min(axis=2)
        return lowest_drawn


@dataclass(frozen=True, eq=False)
class Fit:
    """Settings of the hyper-parameters, drawn at one moment of a study, with their grids."""

    settings: tuple[Hypers, ...]
    grids: tuple[Grid, ...]
    theta: FloatArray


class FreezeThaw:
    """A belief: structure, scale, and hyper-parameters either given or to be inferred."""

    def __init__(self, structure: Structure, scale: Scale, hypers: Hypers | Unknown) -> None:
        """Nothing is computed before the first view."""
        self._structure = structure
        self._scale = scale
        self._hypers = hypers
        self._fits: dict[bytes, Fit] = {}
        self._priors: dict[bytes, Fit] = {}
        self._rows: dict[int, Rows] = {}
        self._known: dict[int, Asymptotes] = {}

    def condition(self, view: View) -> Mixture:
        """The posterior given everything that the view shows, units in flight included."""
        scaled = self._scale.apply(view.curves, view.untrained)
        fit = self._fit(view)
        fits, weights = self._weighted(view, fit)
        components = tuple(
            self._component(view, scaled, hypers, grid, _ROOM // len(weights))
            for one in fits
            for hypers, grid in zip(one.settings, one.grids, strict=True)
        )
        return Mixture(components, weights, scaled, components[0].counts)

    def _weighted(self, view: View, fit: Fit) -> tuple[tuple[Fit, ...], FloatArray]:
        """The fit, and beside it the prior as a second opinion where that is asked for.

        However alike the arms seen so far, the next may be of another kind: by the rule of
        succession, with probability 1 / (V + 2). Without this a Gaussian that has met a dozen
        arms that learn nothing is sure that none will.
        """
        share = np.full(len(fit.settings), 1 / len(fit.settings))
        seen = len(view.curves.visited)
        if isinstance(self._hypers, Hypers) or not self._hypers.second_opinion or not seen:
            return (fit,), share
        doubt = 1 / (seen + 2)
        return (fit, self._prior(view, self._hypers)), np.append((1 - doubt) * share, doubt)

    def _component(
        self, view: View, scaled: Scaled, hypers: Hypers, grid: Grid, room: int
    ) -> Posterior:
        curves = view.curves
        rows = project(grid, scaled.values, curves.counts, self._rows.get(id(grid)))
        self._rows[id(grid)] = rows
        known = self._known.pop(id(grid), None)
        if known is not None and known.features is not view.features:
            known = None  # other candidates
        posterior = self._posterior(view, hypers, grid, curves.visited, rows, known, room)
        known = self._known[id(grid)] = posterior.asymptotes
        if not len(view.pending):
            return posterior
        visited, values, counts = expect(posterior, view.pending, view.unit)
        rows = project(grid, values, counts, rows)
        return self._posterior(view, hypers, grid, visited, rows, known, room)

    def _posterior(
        self,
        view: View,
        hypers: Hypers,
        grid: Grid,
        visited: IntArray,
        rows: Rows,
        known: Asymptotes | None,
        room: int,
    ) -> Posterior:
        ends = asymptotes.condition(
            self._structure,
            hypers,
            view.features,
            visited,
            grid.information[rows.counts],
            rows.gamma,
            known,
            room,
        )
        counts = np.zeros(view.arms, np.int64)
        counts[visited] = rows.counts
        return Posterior(grid, rows, visited, counts, ends)

    def _fit(self, view: View) -> Fit:
        """The fit that the schedule asks for at this moment, from memory or made anew."""
        if isinstance(self._hypers, Hypers):
            return self._given(view, self._hypers)
        return self._sampled(view, self._hypers)

    def _given(self, view: View, hypers: Hypers) -> Fit:
        scaled = self._scale.apply(view.curves.first(0), view.untrained)
        key = np.array([view.curves.epochs, scaled.start]).tobytes()
        if key not in self._fits:
            self._forget()
            self._fits[key] = self._made((hypers,), np.zeros(0), view.curves.epochs, scaled.start)
        return self._fits[key]

    def _sampled(self, view: View, unknown: Unknown) -> Fit:
        """Walk back to the last fit that is remembered, then forward along the schedule."""
        todo: list[tuple[bytes, Curves]] = []
        at = unknown.sampling.last_fit(len(view.curves.reports))
        while True:
            curves = view.curves.first(at)
            key = _digest(curves, view)
            if key in self._fits or at == 0:
                break
            todo.append((key, curves))
            at = unknown.sampling.last_fit(at - 1)
        fit = self._fits.get(key) or self._prior(view, unknown)
        for key, curves in reversed(todo):
            fit = self._refit(view, curves, unknown, fit)
            self._forget()
            self._fits[key] = fit
        return fit

    def _forget(self) -> None:
        self._fits.clear()
        self._rows.clear()
        self._known.clear()

    def _prior(self, view: View, unknown: Unknown) -> Fit:
        """Before the first report: the prior's medians."""
        theta, _ = unknown.priors.moments(self._structure, view.features.shape[1])
        start = self._scale.apply(view.curves.first(0), view.untrained).start
        key = np.array([view.curves.epochs, len(theta), start]).tobytes()
        if key not in self._priors:
            hypers = Hypers.from_theta(theta, unknown.priors.mean[0])
            self._priors[key] = self._made((hypers,), theta, view.curves.epochs, start)
        return self._priors[key]

    def _refit(self, view: View, curves: Curves, unknown: Unknown, last: Fit) -> Fit:
        """Slice sample from where the last fit ended."""
        sampling = unknown.sampling
        scaled = self._scale.apply(curves, view.untrained)
        features = view.features[curves.visited]
        target = Target(
            self._structure, unknown.priors, scaled.values, curves.counts, scaled.start, features
        )
        reports = len(curves.reports)
        rng = np.random.default_rng((view.seed, reports, 1))
        burn = sampling.burn if reports == 1 else sampling.warm
        theta = last.theta
        height = target(theta).log_density
        settings = []
        for i in range(sampling.samples):
            for _ in range(burn if i == 0 else sampling.thin):
                theta, height = sweep(
                    lambda point: target(point).log_density,
                    theta,
                    height,
                    rng,
                    step=sampling.step,
                    outs=sampling.outs,
                )
            found = target(theta)
            mean = rng.normal(found.mean, np.sqrt(found.variance))
            settings.append(Hypers.from_theta(theta, float(mean)))
        return self._made(tuple(settings), theta, curves.epochs, scaled.start)

    def _made(
        self, settings: tuple[Hypers, ...], theta: FloatArray, epochs: int, start: float
    ) -> Fit:
        anchored = self._structure.anchored
        grids = tuple(make_grid(h, epochs, start, anchored=anchored) for h in settings)
        return Fit(settings, grids, theta)


def expect(
    posterior: Posterior, pending: IntArray, unit: int
) -> tuple[IntArray, FloatArray, IntArray]:
    """Take every unit in flight as if it had come out at its mean.

    That leaves all means as they are and removes exactly the uncertainty that the unit will
    remove, since a Gaussian's variance does not depend on the values.

    Returns:
        Visited arms [V'], scaled curves [V', n] and counts [V'] with the expected epochs.
    """
    new = [int(arm) for arm in pending if posterior.counts[arm] == 0]
    visited = np.concatenate([posterior.visited, np.array(new, np.int64)])
    counts = np.concatenate([posterior.rows.counts, np.zeros(len(new), np.int64)])
    row_of = {int(arm): row for row, arm in enumerate(visited)}
    rows = np.array([row_of[int(arm)] for arm in pending])
    starts = counts[rows]
    counts[rows] = np.minimum(starts + unit, posterior.grid.epochs)
    known = posterior.rows.values
    values = np.zeros((len(visited), int(counts.max())))
    values[: len(known), : known.shape[1]] = known
    means = posterior.table(pending)
    for row, start, mean in zip(rows, starts, means, strict=True):
        values[row, start : counts[row]] = mean[start : counts[row]]
    return visited, values, counts


def _digest(curves: Curves, view: View) -> bytes:
    """Identifies a fit: the curves it saw, the seed it drew with, what it was told."""
    parts = hashlib.blake2b(digest_size=16)
    seen = curves.losses[:, : curves.longest][curves.observed]
    for array in (curves.visited, curves.reports, seen):
        parts.update(np.ascontiguousarray(array).tobytes())
    parts.update(repr((view.seed, view.untrained, curves.epochs)).encode())
    return parts.digest()
