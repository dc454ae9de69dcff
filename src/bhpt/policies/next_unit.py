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

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw import Mixture
from bhpt.beliefs.interface import Belief
from bhpt.beliefs.posterior import Ends, Posterior
from bhpt.domain import FloatArray, IntArray, View
from bhpt.policies.bhpt import explain, horizon_epochs
from bhpt.policies.interface import Decision
from bhpt.policies.values import best_other, expected_min, expected_min_lines, pick

_PRICES = 32  # more distinct prices than this are rounded to as many levels
_PRICED_TOGETHER = 512  # of very many correlated arms only the most promising are priced in full


@dataclass(frozen=True, eq=False)
class NextUnit:
    """Runs the unit with the lowest V."""

    belief: Belief

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
        return Decision(arm, explain(view, mixture, ends, values, arm, why))


def unit_values(view: View, mixture: Mixture) -> FloatArray:
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


def _values(view: View, posterior: Posterior, best: float) -> FloatArray:
    """V for one setting of the hyper-parameters, one price at a time."""
    own = posterior.ends(horizon_epochs(view, view.horizon))
    moves = posterior.moves(own, view.unit)
    values = np.full(view.arms, np.inf)
    prices = price_levels(view.costs)
    for price in np.unique(prices[view.choosable]):
        arms = np.flatnonzero(view.choosable & (prices == price))
        left = horizon_epochs(view, view.affordable(view.left_after(float(price))))
        rest = posterior.ends(left)
        others = np.minimum(best_other(rest.mean), best)
        alone = expected_min(own.mean, moves.own, others)
        values[arms] = alone[arms]
        if posterior.asymptotes.informed is not None:
            short = arms[np.argsort(alone[arms], kind="stable")[:_PRICED_TOGETHER]]
            lines = _lines(posterior, rest, short, moves.pull[short])
            values[short] = _joint(lines, short, own.mean[short], moves.own[short], best)
    return values


def _lines(
    posterior: Posterior, rest: Ends, arms: IntArray, pull: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Intercepts [K] and slopes σ̃ [A, K] of the others' ends for units of `arms`."""
    slopes = posterior.asymptotes.with_everyone(arms)
    slopes *= pull[:, None]
    slopes *= np.where(np.isfinite(rest.mean), posterior.exposure(rest), 0.0)
    return rest.mean, slopes


def _joint(
    lines: tuple[FloatArray, FloatArray],
    arms: IntArray,
    own: FloatArray,
    moved: FloatArray,
    best: float,
) -> FloatArray:
    """E min over all lines of each row: the others, the arm itself, and the best so far."""
    mean, slopes = lines
    here = np.arange(len(arms))
    intercepts = np.broadcast_to(mean, slopes.shape).copy()
    intercepts[here, arms], slopes[here, arms] = own, moved
    intercepts = np.hstack([intercepts, np.full((len(arms), 1), best)])
    slopes = np.hstack([slopes, np.zeros((len(arms), 1))])
    return expected_min_lines(intercepts, slopes)
