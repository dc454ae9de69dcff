"""A belief that does not know whether each arm has a shape of its own or all share one decay.

Both hypotheses are whole beliefs, each exact as it is: `ShapeBelief`, and Freeze-Thaw's one decay
(α, β) for all arms with its numbers inferred, of losses relative to the same start. What comes
weighs them: every block of units between two fits is predicted with the settings that were
inferred before it came.

Notation:
    H        hypotheses;  w  probability of one decay;  D_i  units between fits i and i + 1
    p_H(D_i) = mean over the settings θ of fit i under H of Π_k p(y_k with D_i | θ) / p(y_k | θ)
    e_i      = log p_one(D_i)/p_shapes(D_i); of a single arm at most e = log 100 in size
    log w/(1 - w) = log w_0/(1 - w_0) + Σ_{i ≥ 1} e_i
The first unit only sets the scales: what a hypothesis says of it is its prior's doing.
A curve that does what neither hypothesis foresees (a step after long standing still) is less likely
by thousands of nats under one than under the other, and no other arm says how common that is:
hence e.
An arm that has not moved from the start says nothing of how curves decay.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import expit

from bhpt.beliefs.expected_min import best_other
from bhpt.beliefs.freeze_thaw.belief import FreezeThaw
from bhpt.beliefs.freeze_thaw.ends import MixtureEnds
from bhpt.beliefs.freeze_thaw.hypers import LINEAR_PRIORS, Hypers, Sampling, Structure, Unknown
from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.beliefs.scale import Scale
from bhpt.beliefs.shapes.belief import ShapeBelief, fit_digest, scaled_curves
from bhpt.beliefs.shapes.decay_evidence import decay_densities
from bhpt.beliefs.shapes.ends import ShapeEnds
from bhpt.beliefs.shapes.grid import ShapeGrid, project_shapes
from bhpt.beliefs.shapes.mixture import ShapeMixture
from bhpt.beliefs.shapes.weighed_ends import WeighedEnds
from bhpt.beliefs.shapes.weighed_mixture import WeighedMixture
from bhpt.domain import Curves, FloatArray, IntArray, Slot, View

ONE_DECAY = FreezeThaw(
    Structure("matern52", anchored=True),
    Scale("linear", running=True),
    Unknown(LINEAR_PRIORS, Sampling(warm=1, thin=1, step=1.5, always=5, growth=1.5)),
)
_SHARE = 0.2  # w_0
_GIVEN_UP = -4.6  # log odds below which one decay is not looked at any more in a study
_MOST_TOLD = float(np.log(100.0))  # e
_LEAST_WEIGHT = 0.01  # a hypothesis of less weight is left out of predictions
_NEVER = -1e6  # log density where no setting can be factorised
_NO_WEIGHT = 1e-300
_ENOUGH = 400  # reports: later ones do not weigh


@dataclass(frozen=True)
class ShapesOrOneDecay:
    """A belief of two hypotheses.

    Attributes:
        shapes: Each arm has a shape of its own.
        one_decay: All arms share one decay.
        share: w_0, how often studies are of one decay.
    """

    shapes: ShapeBelief = field(default_factory=ShapeBelief)
    one_decay: FreezeThaw = ONE_DECAY
    share: float = _SHARE

    def predict(self, view: View) -> ShapeEnds | MixtureEnds | WeighedEnds:
        """The ends of all arms within their horizons, as losses."""
        found = self.condition(view)
        if isinstance(found, ShapeMixture):
            return ShapeEnds(view, found, view.horizon)
        if isinstance(found, Mixture):
            return MixtureEnds(view, found, view.horizon)
        ours, other = found.shapes, found.one_decay
        both = ShapeEnds(view, ours, view.horizon), MixtureEnds(view, other, view.horizon)
        return WeighedEnds(*both, found.weight)

    def condition(self, view: View) -> ShapeMixture | Mixture | WeighedMixture:
        """The posterior given everything that the view shows, units in flight included.

        A hypothesis that is all but excluded is left out.
        """
        weight = self.weight(view)
        if weight < _LEAST_WEIGHT:
            return self.shapes.condition(view)
        other = self.one_decay.condition(self._leveled(view))
        self._one_decay_settings(_before(view, view.curves.first(self._last_fit(view))))
        if weight > 1 - _LEAST_WEIGHT:
            return other
        return WeighedMixture(self.shapes.condition(view), other, weight)

    def weight(self, view: View) -> float:
        """Probability of one decay, w, as of the latest fit."""
        odds = self._log_odds(view, self._last_fit(view))
        return float(expit(odds))

    def _last_fit(self, view: View) -> int:
        """Reports at the latest fit that weighs."""
        return self.shapes.sampling.last_fit(min(len(view.curves.reports), _ENOUGH))

    def _one_decay_settings(self, before: View) -> tuple[Hypers, ...]:
        """Settings of one decay as of a fit.

        They are looked at when the fit is made and kept until the units after it are weighed: by
        then one decay may have been fitted again, and to walk back would mean all fits anew.
        """
        slot: Slot[tuple[Hypers, ...]] = Slot("settings of one decay", self, 2, whole=True)
        told = fit_digest(before.curves, before)
        return before.memory.recall(
            slot, (told,), lambda: self.one_decay.settings(self._leveled(before))
        )

    def _leveled(self, view: View) -> View:
        """The view with what curves fall from as its untrained loss."""
        return replace(view, untrained=self.shapes.level(view))

    def _log_odds(self, view: View, fit: int) -> float:
        """Log odds of one decay once so many reports, those of a fit, have come."""
        if fit <= 1:
            return float(np.log(self.share / (1 - self.share)))
        curves = view.curves.first(fit)
        slot: Slot[float] = Slot("odds of one decay", self, 2, whole=True)
        told = fit_digest(curves, view)
        return view.memory.recall(slot, (told,), lambda: self._updated(view, curves))

    def _updated(self, view: View, curves: Curves) -> float:
        """The odds at a fit from those at the fit before it."""
        last = self.shapes.sampling.last_fit(len(curves.reports) - 1)
        odds = self._log_odds(view, last)
        if odds < _GIVEN_UP:
            return odds
        told = self._evidence(_before(view, curves.first(last)), curves)
        most = _MOST_TOLD if len(curves.visited) == 1 else np.inf
        return odds + float(np.clip(told, -most, most))

    def _evidence(self, before: View, curves: Curves) -> float:
        """Log ratio p_one(D)/p_shapes(D) of the units that curves have beside those of a view."""
        scaled = scaled_curves(curves, self.shapes.level(before))
        grid = self.shapes.grid(before, scaled.start)
        old, new = _compared(before.curves, curves, before.unit)
        seen = np.arange(scaled.values.shape[1]) < curves.counts[:, None]
        moved = np.any(seen & (scaled.values != scaled.start), axis=1)
        rows = np.flatnonzero((new > old) & moved)
        if not len(rows):
            return 0.0
        values = scaled.values[rows][:, grid.epochs[grid.epochs <= curves.longest] - 1]
        counts = grid.kept(old[rows]), grid.kept(new[rows])
        under_one = self._under_one_decay(before, grid.epochs, values, counts)
        return _log_mean(under_one) - _log_mean(self._under_shapes(before, grid, values, counts))

    def _under_shapes(
        self,
        before: View,
        grid: ShapeGrid,
        values: FloatArray,
        counts: tuple[IntArray, IntArray],
    ) -> FloatArray:
        """Logarithm of Π_k p(y_k with D | θ) / p(y_k | θ) for every setting, [S]."""
        then, now = (project_shapes(grid, values, seen) for seen in counts)
        found = [
            (self.shapes.densities(one.study, now) - self.shapes.densities(one.study, then)).sum()
            for one in self.shapes.settings(before)
        ]
        return np.array(found)

    def _under_one_decay(
        self,
        before: View,
        epochs: IntArray,
        values: FloatArray,
        counts: tuple[IntArray, IntArray],
    ) -> FloatArray:
        """The same for one decay, as densities of logarithms of the losses, too, [S]."""
        losses = np.exp(values)
        columns = np.arange(values.shape[1])
        new = (columns >= counts[0][:, None]) & (columns < counts[1][:, None])
        found = []
        for hypers in self._one_decay_settings(before):
            then, now = (decay_densities(hypers, epochs, losses, seen, 1.0) for seen in counts)
            found.append(float(np.sum(now - then)) if np.isfinite(then).all() else -np.inf)
        return np.array(found) + float(values[new].sum())


def _before(view: View, curves: Curves) -> View:
    """A view as it was when it showed these curves, nothing in flight."""
    return replace(view, curves=curves, pending=np.zeros(0, np.int64))


def _compared(before: Curves, after: Curves, unit: int) -> tuple[IntArray, IntArray]:
    """Epochs of each arm that count, before and after some units, [V] and [V].

    Those after its first unit, which says where an arm is and not how it goes on, as far as another
    arm has shown them, too. An arm that is ahead of all others is compared with itself alone, and
    how well either hypothesis goes on with one of several curves says nothing of whether arms share
    a decay; as long as there is a single arm, how it goes on is all there is.
    """
    old = np.zeros(len(after.counts), np.int64)
    old[: len(before.counts)] = before.counts
    counts = after.counts
    last = counts if len(counts) == 1 else -best_other(-counts.astype(float)).astype(np.int64)
    return np.minimum(np.maximum(old, unit), last), np.minimum(counts, last)


def _log_mean(logs: FloatArray) -> float:
    """Logarithm of the mean of numbers given by their logarithms, not all minus infinity."""
    highest = max(float(logs.max()), _NEVER)
    return highest + float(np.log(np.maximum(np.mean(np.exp(logs - highest)), _NO_WEIGHT)))
