"""The value of the next unit: what one unit teaches, priced at what it takes from the others.

Notation:
    ζ         best value so far            μ_k(r)  predicted end of arm k within r_k units
    δ_a       how far one unit of arm a moves its own predicted end (a standard deviation)
    σ̃_ka      how far it moves that of a correlated arm k
    r'        the horizons that a unit of arm a leaves to the others
    V[a] = E min{ζ, μ_a(r) + δ_a Z, min_{k≠a} μ_k(r') + σ̃_ka Z}

Near the end the unit taken from the others makes it commit by itself: there is no exploration
parameter and no exhaustion rule. With one epoch a unit V is exact; of a longer unit, which shows
several epochs, the others feel what goes along with the move of the arm's own end. Of more than
512 correlated arms of one price, those with the best V without σ̃ (an upper bound) are priced in
full, the others keep that bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.expected_min import best_other, expected_min
from bhpt.beliefs.freeze_thaw.posterior import GaussianEnds
from bhpt.beliefs.interface import MovingBelief, MovingMixture, MovingPosterior
from bhpt.beliefs.predictor import Predictor
from bhpt.domain import FloatArray, IntArray, View
from bhpt.policies.action_values import FAR, expected_min_lines, pick
from bhpt.policies.bhpt import explain, horizon_epochs
from bhpt.policies.interface import Decision, PredictingPolicy

_PRICES = 32  # more distinct prices than this are rounded to as many levels
_CELLS = 2**21  # most units × lines that are looked at together: 16 megabytes
_CELLS_AT_ONCE = 2**17  # so few units × arms need no groups
_FEW = 8  # arms that are priced in the first, smallest group
_PRICED_TOGETHER = 512  # of very many correlated arms only the most promising are priced in full


@dataclass(frozen=True, eq=False)
class NextUnit(PredictingPolicy):
    """Runs the unit with the lowest V."""

    belief: MovingBelief

    @property
    def predictor(self) -> Predictor:
        """The belief."""
        return self.belief

    def decide(self, view: View) -> Decision | None:
        """Run argmin V."""
        if not view.choosable.any():
            return None
        mixture = self.belief.condition(view)
        values = unit_values(view, mixture)
        ends = mixture.ends(horizon_epochs(view, view.horizon))
        arm = pick(values, view.choosable, view.rng())
        leads = ends.mean[arm] <= ends.mean[view.choosable].min()
        why = "it leads, and its unit is worth most" if leads else "its next unit teaches most"
        return Decision(arm, lambda: explain(view, self.belief, mixture, values, why))


def unit_values(view: View, mixture: MovingMixture) -> FloatArray:
    """V of every arm, averaged over the hyper-parameter samples, [K]; infinite if unchoosable."""
    best = mixture.scaled.best
    total = mixture.average(lambda posterior: _values(view, posterior, best))
    return np.where(view.choosable, total, np.inf)


def price_levels(costs: FloatArray) -> FloatArray:
    """Costs, rounded to at most so many distinct ones that each can be looked at, [K]."""
    if len(np.unique(costs)) <= _PRICES:
        return costs
    levels = np.quantile(costs, (np.arange(_PRICES) + 0.5) / _PRICES)
    nearest = np.abs(np.log(costs)[:, None] - np.log(levels)).argmin(axis=1)
    rounded: FloatArray = levels[nearest]
    return rounded


def _values(view: View, posterior: MovingPosterior, best: float) -> FloatArray:
    """V for one setting of the hyper-parameters, one price at a time."""
    own = posterior.ends(horizon_epochs(view, view.horizon))
    moves = posterior.moves(own, view.unit)
    values = np.full(view.arms, np.inf)
    prices = np.full(view.arms, np.nan)
    prices[view.choosable] = price_levels(view.costs[view.choosable])
    for price in np.unique(prices[view.choosable]):
        arms = np.flatnonzero(prices == price)
        left = horizon_epochs(view, view.affordable(view.left_after(float(price))))
        rest = posterior.ends(left)
        others = np.minimum(best_other(rest.mean), best)
        alone = expected_min(own.mean, moves.own, others)
        values[arms] = alone[arms]
        if posterior.correlated:
            short = arms[np.argsort(alone[arms], kind="stable")[:_PRICED_TOGETHER]]
            units = UnitMoves(short, own.mean[short], moves.own[short], moves.pull[short])
            values[short] = joint_values(posterior, rest, units, best)
    return values


@dataclass(frozen=True, eq=False)
class UnitMoves:
    """One unit of each of some arms.

    Attributes:
        arms: Which, [A].
        mean: μ_a(r), [A].
        own: δ_a, [A].
        pull: How far μ_k moves with it, in multiples of C_ka, [A].
    """

    arms: IntArray
    mean: FloatArray
    own: FloatArray
    pull: FloatArray

    def some(self, at: IntArray) -> "UnitMoves":
        """Those at the given places."""
        return UnitMoves(self.arms[at], self.mean[at], self.own[at], self.pull[at])


def joint_values(
    posterior: MovingPosterior, rest: GaussianEnds, units: UnitMoves, best: float
) -> FloatArray:
    """V of correlated arms: E min over ζ, the arm's own line and those of all others, [A]."""
    exposure = np.where(np.isfinite(rest.mean), posterior.exposure(rest), 0.0)
    values = np.empty(len(units.arms))
    for some, others in _that_matter(posterior, rest, units, exposure):
        for few in np.array_split(some, len(some) * len(others) // _CELLS + 1):
            here = units.some(few)
            lines = _slopes(posterior, here, others, exposure)
            intercepts = np.where(here.arms[:, None] == others, np.inf, rest.mean[others])
            intercepts = np.column_stack([intercepts, here.mean, np.full(len(few), best)])
            lines = np.column_stack([lines, here.own, np.zeros(len(few))])
            values[few] = expected_min_lines(intercepts, lines)
    return values


def _that_matter(
    posterior: MovingPosterior, rest: GaussianEnds, units: UnitMoves, exposure: FloatArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Groups of units, as places, and the arms whose lines can be the lowest for one of them.

    Most of very many lines lie above the leader's wherever Z can be. They are left out before
    their slopes are known, by how steep these can be at most; units that move much, for which
    more lines are left, are looked at apart from the many that move little.
    """
    if len(units.arms) * len(exposure) <= _CELLS_AT_ONCE:
        yield np.arange(len(units.arms)), np.flatnonzero(np.isfinite(rest.mean))
        return
    deviation = posterior.shared_deviation
    spread = deviation * np.abs(exposure)
    pull = np.abs(units.pull) * deviation[units.arms]
    lead = np.array([np.argmin(rest.mean)])
    leads = units.arms == lead
    level = np.where(leads, units.mean, rest.mean[lead])
    slope = np.where(leads, units.own, _slopes(posterior, units, lead, exposure)[:, 0])
    for some in _by_size(np.abs(slope) + pull * float(spread.max())):
        at_most = float(np.abs(slope[some]).max()) + float(pull[some].max()) * spread
        reach = float(level[some].max()) + FAR * at_most
        yield some, np.flatnonzero(rest.mean < reach)


def _by_size(sizes: FloatArray) -> list[IntArray]:
    """Places from the largest on, in groups that double in size, together [A]."""
    order = np.argsort(-sizes, kind="stable")
    stops = _FEW * 2 ** np.arange(int(np.log2(max(len(order) / _FEW, 1))) + 1)
    return [group for group in np.split(order, stops) if len(group)]


def _slopes(
    posterior: MovingPosterior, units: UnitMoves, arms: IntArray, exposure: FloatArray
) -> FloatArray:
    """σ̃ of the ends of `arms` for the units, [A, B]."""
    slopes = posterior.covariance(units.arms, arms)
    slopes *= units.pull[:, None]
    slopes *= exposure[arms]
    return slopes
