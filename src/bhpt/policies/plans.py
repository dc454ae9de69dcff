"""Plans: give d units to each of m arms, then commit; re-planned at every step.

One unit seldom changes which arm is best, so its value alone is a poor guide. A plan (m, d)
is worth what the best arm will be once its m arms have had their d units; i-Epoch, a rung of
successive halving, the next unit (1, 1) and committing now are all plans.

While the predicted best arm needs fewer units than are left there is something to spare: what an
arm can still turn out to be is then all that counts, and Q prices it. Once it needs all that is
left, every unit for another arm is taken from it, and plans say whether that still pays.

Notation:
    r         units left                     S      the m arms of a plan
    μ_k(h)    predicted end of arm k within h units;  ζ  best value so far
    δ_a(d)    how far d units of arm a move its predicted end
    W(m, d) = E min{ζ, min_{a∈S} μ_a(r - md + d) + δ_a(d) Z_a, min_{k∉S} μ_k(r - md)}
with Z correlated as the arms' ends are.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import ndtri

from bhpt.beliefs.expected_min import expected_min
from bhpt.beliefs.interface import MovingBelief, MovingMixture
from bhpt.beliefs.predictor import Predictor
from bhpt.domain import FloatArray, IntArray, View
from bhpt.policies.bhpt import QValues, explore, horizon_epochs, q_values
from bhpt.policies.interface import Decision, PredictingPolicy

WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
DEPTHS = (1, 2, 4, 8)
_DRAWS = 128
_CANDIDATES = 128  # arms that a plan may hold: the most promising ones


@cache
def normal_draws(arms: int) -> FloatArray:
    """Fixed, evenly spread normal numbers, [arms, draws]."""
    from scipy.stats import qmc  # takes half a second, and other policies need none

    uniform = qmc.Sobol(arms, seed=1).random(_DRAWS)
    draws: FloatArray = ndtri(np.clip(uniform, 1e-9, 1 - 1e-9)).T
    return draws


@dataclass(frozen=True)
class PricedPlan:
    """A plan's worth and the arm that it starts with."""

    worth: float
    arm: int
    why: str


@dataclass(frozen=True, eq=False)
class Plans(PredictingPolicy):
    """Runs the lowest Q while there is budget to spare, then the first arm of the best plan."""

    belief: MovingBelief

    @property
    def predictor(self) -> Predictor:
        """The belief."""
        return self.belief

    def decide(self, view: View) -> Decision | None:
        """Run the lowest Q; once ĉ needs all that is left, the first arm of the best plan."""
        if not view.choosable.any():
            return None
        mixture = self.belief.condition(view)
        look = q_values(view, mixture)
        if look.exhausted:
            best = self._best(look, mixture)
            return look.decision(self.belief, best.arm, best.why)
        return look.decision(self.belief, *explore(look, None))

    def _best(self, look: QValues, mixture: MovingMixture) -> PricedPlan:
        """The best of committing now and of all plans that fit into what is left."""
        view, top = look.view, look.top
        worth = min(float(look.ends.mean[top]), mixture.scaled.best)
        best = PricedPlan(worth, top, "commit to it")
        tie = look.rng.random(view.arms)
        units = view.left / view.price
        for depth in DEPTHS:
            draws = self._draws(view, mixture, depth)
            for width in WIDTHS:
                if width * depth >= units:
                    break
                plan = self._price(view, mixture, (width, depth), draws, tie)
                if plan is not None and plan.worth < best.worth - 1e-9:
                    best = plan
        return best

    def _draws(self, view: View, mixture: MovingMixture, depth: int) -> tuple[IntArray, FloatArray]:
        """Row of each candidate arm, -1 for the others, and the candidates' Z, [C, draws]."""
        horizon = horizon_epochs(view, view.horizon)
        own, moved = mixture.moved(horizon, depth * view.unit)
        hopeful = np.where(view.choosable, own - moved, np.inf)
        arms = np.argsort(hopeful, kind="stable")[:_CANDIDATES]
        rows = np.full(view.arms, -1)
        rows[arms] = np.arange(len(arms))
        part = mixture.components[0]
        common = part.common_moves(part.ends(horizon), depth * view.unit, arms)
        values, vectors = np.linalg.eigh(common)
        root = vectors * np.sqrt(np.clip(values, 0, None))
        return rows, root @ vectors.T @ normal_draws(_CANDIDATES)[: len(arms)]

    def _price(
        self,
        view: View,
        mixture: MovingMixture,
        shape: tuple[int, int],
        draws: tuple[IntArray, FloatArray],
        tie: FloatArray,
    ) -> PricedPlan | None:
        """W of the best plan of this shape, and its first arm."""
        width, depth = shape
        rows, z = draws
        rest_units = view.affordable(view.left - width * depth * view.price)
        own_units = view.affordable(view.left - (width - 1) * depth * view.price)
        own, moved = mixture.moved(horizon_epochs(view, own_units), depth * view.unit)
        rest = mixture.lowest(horizon_epochs(view, rest_units))
        zeta = mixture.scaled.best
        able = view.choosable & np.isfinite(own) & (rows >= 0)
        if able.sum() < width:
            return None
        other = np.array(min(float(rest.min()), zeta))
        gain = np.where(able, expected_min(own, moved, other), np.inf)
        chosen = np.lexsort((tie, gain))[:width]
        rest[chosen] = np.inf
        drawn = own[chosen, None] + moved[chosen, None] * z[rows[chosen]]
        worth = np.minimum(drawn.min(axis=0), min(float(rest.min()), zeta)).mean()
        return PricedPlan(
            float(worth), int(chosen[0]), f"first of {width} arms to get {depth} units"
        )
