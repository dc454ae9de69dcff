"""The belief in which every arm has a shape of its own: scale, infer the study, predict.

Curves fall from the untrained loss ℓ_0, or from where most of them start if that is above it.

Arms inform each other twice: the ends of arms that are alike are correlated through the kernel of
their configurations, and how often shapes occur in the study is learnt from the shapes of all of
its arms, those of near ones counting most. Given the ends of the other arms, an arm's posterior
over shape and end is exact; what an arm tells the others about its end is passed on as a Gaussian
of the same mean and variance (one round of expectation propagation, which is exact where arms are
independent).

Notation (beside that of `evidence` and `posterior`):
    λ̃, γ̃      Gaussian message of a curve about its end: λ and γ of `freeze_thaw.asymptotes`
    m̄, v̄      mean and variance of an arm's end given all other arms' messages
    π(x_k)    prior weights of the shapes for arm k: (c π_κ + Σ_j n_kj w_j) / (c + Σ_j n_kj), with
              w_j the shape probabilities of arm j, n_kj = ω_j (1 + 4 ρ_kj), ρ_kj the correlation
              of two arms' ends and ω_j as in `evidence`: what curves of one study say of its
              shapes is off in the same direction, as what they say of its kind
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import softmax

from bhpt.beliefs.freeze_thaw import asymptotes
from bhpt.beliefs.freeze_thaw.asymptotes import Asymptotes
from bhpt.beliefs.freeze_thaw.hypers import Hypers, Sampling, Structure
from bhpt.beliefs.freeze_thaw.kernels import correlation
from bhpt.beliefs.scale import Scale, Scaled, level_of_first_units
from bhpt.beliefs.shapes.ends import ShapeEnds
from bhpt.beliefs.shapes.evidence import (
    TELLING,
    ByShape,
    StudyPrior,
    StudySetting,
    StudyTarget,
    by_shape,
    curve_densities,
    end_priors,
    witness_powers,
)
from bhpt.beliefs.shapes.grid import ShapeGrid, ShapeRows, make_shape_grid, project_shapes
from bhpt.beliefs.shapes.likeness import LikenessTarget, Messages, prior_likeness
from bhpt.beliefs.shapes.mixture import ShapeMixture
from bhpt.beliefs.shapes.posterior import ShapePosterior
from bhpt.beliefs.shapes.prior import SHAPES, STUDIES
from bhpt.beliefs.shapes.records import are_records, through_records
from bhpt.beliefs.shapes.shapes import Shape
from bhpt.beliefs.slice_sampling import sweep
from bhpt.domain import Curves, FloatArray, IntArray, Slot, View

CORRELATED = Structure("matern52")
_SCALE = Scale("log", running=True)
_SAMPLING = Sampling(samples=6, burn=6, thin=1, step=1.0, outs=6, growth=1.3)
_LEAST_INFORMATION = 1e-6  # of a message, relative to what is known of an end without it
_CHANGING = 0.3
_FARTHER = 2.0  # times as far from m as its posterior mean may the mean of a message lie
_CONCENTRATION = 8.0  # c
_NEAR = 4.0  # arms that one exactly like an arm counts for, beside itself, if ρ is 1
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class ShapeSetting:
    """One setting of everything that the arms of a study share."""

    study: StudySetting
    hypers: Hypers


@dataclass(frozen=True, eq=False)
class ShapeFit:
    """Settings that were drawn at one moment of a study."""

    settings: tuple[ShapeSetting, ...]


@dataclass(eq=False)
class ShapeMemory:
    """What is kept of a study between decisions.

    Attributes:
        grid: The factorised epochs, for a training of so many epochs from such a start.
        rows: Observed curves seen through it.
        fits: The latest fit alone, by a digest of all that it was made from.
    """

    grid: dict[tuple[int, float], ShapeGrid] = field(default_factory=dict)
    rows: ShapeRows | None = None
    fits: dict[bytes, ShapeFit] = field(default_factory=dict)


@dataclass(frozen=True)
class ShapeBelief:
    """A belief with a shape for each arm.

    Attributes:
        structure: Whether arms are independent ("none") or correlated by configuration.
        shapes: The shapes.
        studies: What is known of studies: how often shapes occur in them, and of what size.
        sampling: How settings are drawn.
        changing: Probability that a curve goes on in another shape than it began in. The first
            epochs fit one shape or another by chance, or before a learning rate is lowered, so
            what they say of the shape is taken for less than certain.
        telling: Epochs of a curve that count for its shape: see `evidence`.
        concentration: c, arms that count as much as the kind of the study for how often shapes
            occur in it: an infinite one takes every arm's shape for drawn from the kind alone.
    """

    structure: Structure = CORRELATED
    shapes: tuple[Shape, ...] = SHAPES
    studies: StudyPrior = STUDIES
    sampling: Sampling = _SAMPLING
    changing: float = _CHANGING
    telling: float = TELLING
    concentration: float = _CONCENTRATION

    def predict(self, view: View) -> ShapeEnds:
        """The ends of all arms within their horizons, as losses."""
        return ShapeEnds(view, self.condition(view), view.horizon)

    def condition(self, view: View) -> ShapeMixture:
        """The posterior given everything that the view shows, units in flight included.

        That of the latest view is kept: a decision is explained with the posterior it was made by.
        """
        slot: Slot[ShapeMixture] = Slot("posterior", self)
        return view.memory.recall(slot, (view,), lambda: self._condition(view))

    def _condition(self, view: View) -> ShapeMixture:
        scaled = scaled_curves(view.curves, self.level(view))
        memory = self._memory(view)
        grid = self._grid(memory, view.curves.epochs, scaled.start)
        fit = self._fit(view)
        rows = memory.rows = _projected(grid, view.curves, scaled, memory.rows)
        visited = np.concatenate([view.curves.visited, _new(view)])
        rows = _with_empty(grid, rows, len(visited) - len(rows.counts))
        reached = _reached(view, scaled)
        parts = tuple(
            self._posterior(view, grid, rows, visited, reached, one) for one in fit.settings
        )
        weights = np.full(len(parts), 1 / len(parts))
        return ShapeMixture(parts, weights, _relative(scaled), view.curves.epochs)

    def settings(self, view: View) -> tuple[ShapeSetting, ...]:
        """The settings that the schedule asks for at this moment."""
        return self._fit(view).settings

    def densities(self, study: StudySetting, rows: ShapeRows) -> FloatArray:
        """Log p(y_k | θ, κ) of every row, arms apart, [V]."""
        return curve_densities(rows, study, self.studies.kinds[study.kind])

    def grid(self, view: View, start: float) -> ShapeGrid:
        """The factorised epochs of the study."""
        return self._grid(self._memory(view), view.curves.epochs, start)

    def _memory(self, view: View) -> ShapeMemory:
        slot: Slot[ShapeMemory] = Slot("shapes", self, whole=True)
        return view.memory.recall(slot, (), ShapeMemory)

    def _grid(self, memory: ShapeMemory, epochs: int, start: float) -> ShapeGrid:
        key = (epochs, start)
        if key not in memory.grid:
            memory.grid = {key: make_shape_grid(self.shapes, epochs, start)}
            memory.rows = None
        return memory.grid[key]

    def _posterior(
        self,
        view: View,
        grid: ShapeGrid,
        rows: ShapeRows,
        visited: IntArray,
        reached: FloatArray,
        setting: ShapeSetting,
    ) -> ShapePosterior:
        """All arms' futures for one setting."""
        study, told = setting.study, rows.first(len(view.curves.visited))
        weights, messages = self._messages(told, study)
        likeness = self._likeness_to_visited(view, setting.hypers)
        joint = self._joint_ends(view, setting.hypers, messages, likeness)
        own = by_shape(rows, study.size, *_without_own(joint, messages, visited), self.telling)
        shares = shape_priors(
            view,
            self.studies.kinds[study.kind],
            weights,
            setting.hypers.rho * likeness,
            witness_powers(told.parts),
            self.concentration,
        )
        shares[visited] = own.responsibilities(shares[visited], self.changing)
        epochs = view.epochs_with_flights
        end_mean, end_variance = _ends_given_shapes(grid, rows, visited, joint, own, study, epochs)
        return ShapePosterior(
            grid=grid,
            rows=rows,
            visited=visited,
            epochs=epochs,
            counts=grid.kept(epochs),
            size=study.size,
            weights=shares,
            end_mean=end_mean,
            end_variance=end_variance,
            reached=reached,
            asymptotes=joint,
            changing=self.changing,
        )

    def _joint_ends(
        self, view: View, hypers: Hypers, messages: Messages, likeness: FloatArray
    ) -> Asymptotes:
        """The ends of all arms given all messages; likeness is that to the visited ones, [K, V]."""
        return asymptotes.condition(
            self.structure,
            hypers,
            view.features,
            view.curves.visited,
            messages.information,
            messages.gamma,
            likeness=likeness,
        )

    def _messages(self, rows: ShapeRows, study: StudySetting) -> tuple[FloatArray, Messages]:
        """Shape probabilities of each row by itself, and what it says of its end to others.

        A row that moves the mean of its end but leaves it as uncertain as before has no Gaussian
        message that would do the same: its mean would lie infinitely far out, and many such rows
        together would carry the ends of all arms away. So a message lies at most twice as far out
        as the mean that it leads to; where a row halves the variance, that is no bound at all.
        """
        before = study.deviation**2
        alone = by_shape(rows, study.size, np.array([study.mean]), np.array([before]), self.telling)
        weights = alone.responsibilities(self.studies.kinds[study.kind], self.changing)
        # an arm that does not learn says nothing of where it would end if it did
        means = np.where(rows.learns, alone.mean, study.mean)
        mean = np.einsum("vg,vg->v", weights, means)
        spread = np.where(rows.learns, alone.variance, before) + (means - mean[:, None]) ** 2
        variance = np.einsum("vg,vg->v", weights, spread)
        information = np.maximum(1 / variance - 1 / before, _LEAST_INFORMATION / before)
        farther = np.minimum(1 / before + information, _FARTHER * information)
        gamma = study.mean * information + (mean - study.mean) * farther
        return weights, Messages(information, gamma, study.mean, study.deviation)

    def _likeness_to_visited(self, view: View, hypers: Hypers) -> FloatArray:
        """Correlation of every arm's configuration with those of the visited ones, [K, V]."""
        visited = view.curves.visited
        if not (self.structure.correlated and len(visited)):
            return np.zeros((view.arms, len(visited)))
        kernel, features = self.structure.kernel, view.features
        return correlation(kernel, hypers.lengths, features, features[visited])

    def _fitted(self, view: View) -> Curves:
        """The curves as they were when settings were last drawn."""
        return view.curves.first(self.sampling.last_fit(len(view.curves.reports)))

    def level(self, view: View) -> float:
        """The loss that curves fall from, as it was seen when settings were last drawn."""
        return level_of_first_units(self._fitted(view), view.untrained, view.unit)

    def _fit(self, view: View) -> ShapeFit:
        """The settings that the schedule asks for at this moment, from memory or made anew."""
        curves = self._fitted(view)
        key = fit_digest(curves, view)
        memory = self._memory(view)
        if key not in memory.fits:
            memory.fits = {key: self._sampled(view, curves)}
        return memory.fits[key]

    def _sampled(self, view: View, curves: Curves) -> ShapeFit:
        """Slice sample the study, then how alike arms go together."""
        sampling = self.sampling
        scaled = scaled_curves(curves, self.level(view))
        grid = self._grid(self._memory(view), curves.epochs, scaled.start)
        rows = _projected(grid, curves, scaled, None)
        target = StudyTarget(self.studies, rows, witness_powers(rows.parts), self.telling)
        rng = np.random.default_rng((view.seed, len(curves.reports), 2))
        theta, features = self.studies.centre, view.features[curves.visited]
        likeness = prior_likeness(features.shape[1])
        height = target(theta)
        settings = []
        for i in range(sampling.samples):
            for _ in range(sampling.burn if i == 0 else sampling.thin):
                theta, height = sweep(
                    target, theta, height, rng, step=sampling.step, outs=sampling.outs
                )
            kind = int(rng.choice(len(self.studies.shares), p=softmax(target.kinds(theta))))
            study = StudySetting.of(theta, kind)
            if self.structure.correlated and len(features) and i % 2 == 0:
                likeness = self._likeness(features, rows, study, likeness, rng)
            settings.append(ShapeSetting(study, _hypers(study, likeness, self.structure)))
        return ShapeFit(tuple(settings))

    def _likeness(
        self,
        features: FloatArray,
        rows: ShapeRows,
        study: StudySetting,
        likeness: FloatArray,
        rng: np.random.Generator,
    ) -> FloatArray:
        """One more sweep over the length-scales and the share of the kernel."""
        _, messages = self._messages(rows, study)
        target = LikenessTarget(features, messages)
        step, outs = self.sampling.step, self.sampling.outs
        return sweep(target, likeness, target(likeness), rng, step=step, outs=outs)[0]


def shape_priors(
    view: View,
    kind: FloatArray,
    weights: FloatArray,
    near: FloatArray,
    powers: FloatArray,
    concentration: float,
) -> FloatArray:
    """π(x) of every arm, [K, G].

    Args:
        view: The moment.
        kind: π_κ, [G].
        weights: w, [V, G].
        near: Correlation of every arm's end with those of the visited ones, [K, V].
        powers: ω, [V].
        concentration: c.
    """
    visited = view.curves.visited
    counted = powers * (1 + _NEAR * near)
    counted[visited, np.arange(len(visited))] = 0.0
    told = counted.sum(axis=1)[:, None]
    seen = counted @ weights / np.maximum(told, _NEGLIGIBLE)
    priors: FloatArray = kind + told / (concentration + told) * (seen - kind)
    return priors


def _ends_given_shapes(
    grid: ShapeGrid,
    rows: ShapeRows,
    visited: IntArray,
    joint: Asymptotes,
    own: ByShape,
    study: StudySetting,
    epochs: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """F and C' of every arm: its end given its shape, units in flight included, [K, G] twice.

    Args:
        grid: The factorised epochs.
        rows: The curves of visited arms and of those with a unit in flight.
        visited: Arm of each row, [V].
        joint: The ends as the kernel of configurations has them.
        own: What each row's curve says of its own end.
        study: The setting of the study.
        epochs: Epochs of every arm, units in flight included, [K].
    """
    mean, variance = end_priors(grid.learns, study.size, joint.mean, joint.variance)
    mean[visited] = own.mean
    coming = grid.information[:, grid.kept(epochs)[visited]].T - rows.information
    variance[visited] = own.variance / (1 + own.variance * coming / study.size**2)
    return mean, variance


def _hypers(study: StudySetting, likeness: FloatArray, structure: Structure) -> Hypers:
    """The kernel of the ends; its decay is not used: shapes take its place."""
    lengths = tuple(np.exp(likeness[:-1]).tolist()) if structure.correlated else ()
    rho = float(1 / (1 + np.exp(-likeness[-1]))) if structure.correlated else 0.0
    return Hypers(study.mean, study.deviation, 1.0, 1.0, study.size, study.size, lengths, rho)


def _new(view: View) -> IntArray:
    """Arms whose first unit is in flight, [P]."""
    fresh: IntArray = view.pending[view.curves.count_by_arm[view.pending] == 0]
    return fresh


def _projected(
    grid: ShapeGrid, curves: Curves, scaled: Scaled, known: ShapeRows | None
) -> ShapeRows:
    """Observed curves at the kept epochs, seen through every shape."""
    columns = grid.epochs[grid.epochs <= curves.longest] - 1
    return project_shapes(grid, scaled.values[:, columns], grid.kept(curves.counts), known)


def scaled_curves(curves: Curves, level: float) -> Scaled:
    """Logarithms of the best losses so far, relative to a level, from record to record."""
    scaled = _SCALE.apply(curves, level)
    fallen = are_records(curves) & (scaled.values < scaled.start)
    return replace(scaled, values=through_records(scaled.values, fallen))


def _with_empty(grid: ShapeGrid, rows: ShapeRows, more: int) -> ShapeRows:
    """The rows and so many without observations."""
    if not more:
        return rows
    values = np.vstack([rows.values, np.zeros((more, rows.values.shape[1]))])
    return project_shapes(grid, values, np.append(rows.counts, np.zeros(more, np.int64)), rows)


def _relative(scaled: Scaled) -> Scaled:
    """Curves as losses relative to the untrained one, the units of the predicted ends."""
    values, level = np.exp(scaled.values), float(np.exp(scaled.start))
    return replace(scaled, values=values, start=level, best=float(np.exp(scaled.best)), log=False)


def _reached(view: View, scaled: Scaled) -> FloatArray:
    """Scaled value that every arm has reached, at most that of an untrained model, [K]."""
    reached = np.full(view.arms, scaled.start)
    if scaled.values.size:
        seen = np.where(view.curves.observed, scaled.values, scaled.start)
        reached[view.curves.visited] = np.minimum(seen.min(axis=1), scaled.start)
    return reached


def _without_own(
    joint: Asymptotes, messages: Messages, visited: IntArray
) -> tuple[FloatArray, FloatArray]:
    """m̄ and v̄ of every row: its end as the other arms alone have it, [V] and [V].

    Rows without a message, those of arms whose first unit is in flight, come last.
    """
    mean, variance = joint.mean[visited], joint.variance[visited]
    seen = len(messages.information)
    own, precision = messages.information, 1 / variance[:seen]
    rest = np.maximum(precision - own, 1e-9 * precision)
    mean[:seen] = (mean[:seen] * precision - messages.gamma) / rest
    variance[:seen] = 1 / rest
    return mean, variance


def fit_digest(curves: Curves, view: View) -> bytes:
    """Identifies a fit: the curves it saw, the seed it drew with, what it was told."""
    return curves.digest(view.seed, view.untrained, view.unit, view.features.shape)
