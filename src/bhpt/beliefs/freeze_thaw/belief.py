"""The belief of a study: scale the curves, fit the hyper-parameters when it is time, predict.

`FreezeThaw.condition` is a pure function of the view. The last fit and the projected rows are
kept in the view's memory and only save work: a study that is resumed from its log predicts alike.
"""

from dataclasses import dataclass, field

import numpy as np

from bhpt.beliefs.freeze_thaw import asymptotes
from bhpt.beliefs.freeze_thaw.asymptotes import Asymptotes
from bhpt.beliefs.freeze_thaw.ends import MixtureEnds
from bhpt.beliefs.freeze_thaw.evidence import Target
from bhpt.beliefs.freeze_thaw.grid import Grid, Rows, make_grid, project
from bhpt.beliefs.freeze_thaw.hypers import Hypers, Structure, Unknown
from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.beliefs.freeze_thaw.posterior import Posterior
from bhpt.beliefs.scale import Scale, Scaled
from bhpt.beliefs.slice_sampling import sweep
from bhpt.domain import Curves, FloatArray, IntArray, Slot, View

_ROOM = 3 * 2**26  # doubles of K_x that may be kept, all settings together: 1.5 GiB


@dataclass(eq=False)
class Setting:
    """One setting of the hyper-parameters, and the latest work done with it.

    Attributes:
        hypers: The numbers.
        grid: The epochs factorised with them.
        rows: Curves projected on the grid; rows that have changed are projected anew.
        asymptotes: The latest posterior of the asymptotes; used again for the same features.
    """

    hypers: Hypers
    grid: Grid
    rows: Rows | None = None
    asymptotes: Asymptotes | None = None

    def asymptotes_for(self, features: FloatArray) -> Asymptotes | None:
        """The latest posterior, if it was of the same candidates."""
        known = self.asymptotes
        if known is None or known.features is features:
            return known
        return known if np.array_equal(known.features, features) else None


@dataclass(frozen=True, eq=False)
class Fit:
    """Settings of the hyper-parameters, drawn at one moment of a study."""

    settings: tuple[Setting, ...]
    theta: FloatArray


@dataclass(eq=False)
class FitMemory:
    """Fits of one study, by a digest of everything that each was made from.

    Attributes:
        latest: The latest fit alone: every later one follows from it.
        priors: Fits to no curves at all.
    """

    latest: dict[bytes, Fit] = field(default_factory=dict)
    priors: dict[bytes, Fit] = field(default_factory=dict)

    def keep(self, key: bytes, fit: Fit) -> None:
        """Remember this fit in place of the one before it."""
        self.latest = {key: fit}


@dataclass(frozen=True)
class FreezeThaw:
    """A belief: structure, scale, and hyper-parameters either given or to be inferred."""

    structure: Structure
    scale: Scale
    hypers: Hypers | Unknown

    def predict(self, view: View) -> MixtureEnds:
        """The ends of all arms within their horizons, as losses."""
        return MixtureEnds(view, self.condition(view), view.horizon)

    def condition(self, view: View) -> Mixture:
        """The posterior given everything that the view shows, units in flight included.

        That of the latest view is kept: a decision is explained with the posterior it was made by.
        """
        slot: Slot[Mixture] = Slot("posterior", self)
        return view.memory.recall(slot, (view,), lambda: self._condition(view))

    def settings(self, view: View) -> tuple[Hypers, ...]:
        """The hyper-parameters that the schedule asks for at this moment."""
        return tuple(setting.hypers for setting in self._fit(view).settings)

    def _condition(self, view: View) -> Mixture:
        scaled = self.scale.apply(view.curves, view.untrained)
        fit = self._fit(view)
        fits, weights = self._weighted(view, fit)
        components = tuple(
            self._component(view, scaled, setting, _ROOM // len(weights))
            for one in fits
            for setting in one.settings
        )
        return Mixture(components, weights, scaled, components[0].counts)

    def _weighted(self, view: View, fit: Fit) -> tuple[tuple[Fit, ...], FloatArray]:
        """The fit, and beside it the prior as a second component where `second_opinion` is set.

        However alike the arms seen so far, the next may be of another kind: by the rule of
        succession, with probability 1 / (V + 2). Without this a Gaussian that has met a dozen
        arms that learn nothing is sure that none will.
        """
        share = np.full(len(fit.settings), 1 / len(fit.settings))
        seen = len(view.curves.visited)
        if isinstance(self.hypers, Hypers) or not self.hypers.second_opinion or not seen:
            return (fit,), share
        doubt = 1 / (seen + 2)
        return (fit, self._prior(view, self.hypers)), np.append((1 - doubt) * share, doubt)

    def _component(self, view: View, scaled: Scaled, setting: Setting, room: int) -> Posterior:
        curves = view.curves
        rows = project(setting.grid, scaled.values, curves.counts, setting.rows)
        known = setting.asymptotes_for(view.features)
        posterior = self._posterior(view, setting, curves.visited, rows, known, room)
        setting.rows, setting.asymptotes = rows, posterior.asymptotes
        if not len(view.pending):
            return posterior
        visited, values, counts = expect(posterior, view.pending, view.unit)
        expected = project(setting.grid, values, counts, rows)
        return self._posterior(view, setting, visited, expected, posterior.asymptotes, room)

    def _posterior(
        self,
        view: View,
        setting: Setting,
        visited: IntArray,
        rows: Rows,
        known: Asymptotes | None,
        room: int,
    ) -> Posterior:
        ends = asymptotes.condition(
            self.structure,
            setting.hypers,
            view.features,
            visited,
            setting.grid.information[rows.counts],
            rows.gamma,
            known=known,
            room=room,
        )
        counts = np.zeros(view.arms, np.int64)
        counts[visited] = rows.counts
        return Posterior(setting.grid, rows, visited, counts, ends)

    def _fit(self, view: View) -> Fit:
        """The fit that the schedule asks for at this moment, from memory or made anew."""
        if isinstance(self.hypers, Hypers):
            return self._given(view, self.hypers)
        return self._sampled(view, self.hypers)

    def _given(self, view: View, hypers: Hypers) -> Fit:
        scaled = self.scale.apply(view.curves.first(0), view.untrained)
        key = np.array([view.curves.epochs, scaled.start]).tobytes()
        memory = self._memory(view)
        if key not in memory.latest:
            made = self._made((hypers,), np.zeros(0), view.curves.epochs, scaled.start)
            memory.keep(key, made)
        return memory.latest[key]

    def _sampled(self, view: View, unknown: Unknown) -> Fit:
        """Walk back to the last fit that is remembered, then forward along the schedule."""
        memory = self._memory(view)
        todo: list[tuple[bytes, Curves]] = []
        at = unknown.sampling.last_fit(len(view.curves.reports))
        while True:
            curves = view.curves.first(at)
            key = curves.digest(view.features[curves.visited], view.seed, view.untrained)
            if key in memory.latest or at == 0:
                break
            todo.append((key, curves))
            at = 0 if unknown.sampling.starts_anew(at) else unknown.sampling.last_fit(at - 1)
        fit = memory.latest.get(key) or self._prior(view, unknown)
        for key, curves in reversed(todo):
            fit = self._refit(view, curves, unknown, fit)
            memory.keep(key, fit)
        return fit

    def _memory(self, view: View) -> FitMemory:
        """What this belief keeps of the study."""
        slot: Slot[FitMemory] = Slot("fits", self, whole=True)
        return view.memory.recall(slot, (), FitMemory)

    def _prior(self, view: View, unknown: Unknown) -> Fit:
        """Before the first report: the prior's medians."""
        theta, _ = unknown.priors.moments(self.structure, view.features.shape[1])
        start = self.scale.apply(view.curves.first(0), view.untrained).start
        key = np.array([view.curves.epochs, len(theta), start]).tobytes()
        priors = self._memory(view).priors
        if key not in priors:
            hypers = Hypers.from_theta(theta, unknown.priors.mean[0])
            priors[key] = self._made((hypers,), theta, view.curves.epochs, start)
        return priors[key]

    def _refit(self, view: View, curves: Curves, unknown: Unknown, last: Fit) -> Fit:
        """Slice sample from where the last fit ended."""
        sampling = unknown.sampling
        scaled = self.scale.apply(curves, view.untrained)
        features = view.features[curves.visited]
        target = Target(
            self.structure, unknown.priors, scaled.values, curves.counts, scaled.start, features
        )
        reports = len(curves.reports)
        rng = np.random.default_rng((view.seed, reports, 1))
        burn = sampling.burn if sampling.starts_anew(reports) else sampling.warm
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
        anchored = self.structure.anchored
        grids = (make_grid(h, epochs, start, anchored=anchored) for h in settings)
        return Fit(tuple(map(Setting, settings, grids)), theta)


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
