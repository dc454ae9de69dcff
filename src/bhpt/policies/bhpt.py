"""BHPT and its variants: the action value of perfect information about an arm's end.

Notation:
    r    units left, this one included       ĉ  arm of the lowest predicted end
    ν_a  predicted end of arm a within r, a Gaussian with mean μ_a and deviation σ_a
    Q[a] = E min{ν_a, min_{k≠a} μ_k}         τ_ĉ  units that ĉ needs to its predicted end
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw import Mixture
from bhpt.beliefs.interface import Belief
from bhpt.beliefs.posterior import Ends
from bhpt.domain import FloatArray, IntArray, View
from bhpt.policies.action_values import best_other, expected_min, pick
from bhpt.policies.interface import Decision, Explanation


@dataclass(frozen=True, eq=False)
class Bhpt:
    """The paper's algorithm.

    Attributes:
        belief: What predicts the ends.
        epsilon: None to run the lowest Q; else the probability with which, while exploring,
            the best of the other arms is run and not ĉ (BHPT-ε).
        exhaustion: Whether ĉ is run for good once it needs all that is left (the `else` of the
            paper's rule; without it the variants Q-alone and Q-ε-alone).
    """

    belief: Belief
    epsilon: float | None = None
    exhaustion: bool = True

    def decide(self, view: View) -> Decision | None:
        """Run the lowest Q, or commit to ĉ when it needs all that is left."""
        if not view.choosable.any():
            return None
        mixture = self.belief.condition(view)
        horizon = horizon_epochs(view, view.horizon)
        ends = mixture.ends(horizon)
        values = action_values(mixture, horizon)
        rng = view.rng()
        top = pick(ends.mean, view.choosable, rng)
        needed = -(-int(ends.tau[top]) // view.unit)
        if self.exhaustion and needed >= view.bought(view.left)[top]:
            arm, why = self.exhausted(view, mixture, ends, top, rng)
        else:
            arm, why = self._explore(view, values, top, rng)
        return Decision(arm, explain(view, mixture, ends, values, arm, why))

    def exhausted(
        self, view: View, mixture: Mixture, ends: Ends, top: int, rng: np.random.Generator
    ) -> tuple[int, str]:
        """What to run, and why, once ĉ = `top` needs all that is left: `top`."""
        del view, mixture, ends, rng  # for those who think again
        return top, f"arm {top} needs all that is left: commit"

    def _explore(
        self, view: View, values: FloatArray, top: int, rng: np.random.Generator
    ) -> tuple[int, str]:
        others = view.choosable.copy()
        if self.epsilon is None:
            arm = pick(values, others, rng)
            return arm, "its end is worth knowing most" if arm != top else "it leads"
        others[top] = False
        if others.any() and rng.random() < self.epsilon:
            return pick(values, others, rng), "explore: the most promising of the others"
        return top, "exploit: the predicted best"


def horizon_epochs(view: View, units: IntArray) -> IntArray:
    """A horizon of units as one of epochs, [K]; the grid's end cuts a last, partial unit."""
    return units * view.unit


def action_values(mixture: Mixture, horizon: IntArray) -> FloatArray:
    """Q of every arm, averaged over the hyper-parameter samples, [K]."""
    return mixture.average(lambda posterior: _q(posterior.ends(horizon)))


def _q(ends: Ends) -> FloatArray:
    return expected_min(ends.mean, np.sqrt(ends.variance), best_other(ends.mean))


def explain(
    view: View, mixture: Mixture, ends: Ends, values: FloatArray, arm: int, why: str
) -> Explanation:
    """The numbers of a decision in the scale of the losses, and one sentence."""
    scaled = mixture.scaled
    reachable = np.isfinite(ends.mean)
    mean = np.where(reachable, ends.mean, np.nan)
    end = scaled.loss(mean)
    spread = scaled.spread(mean, np.sqrt(ends.variance))
    value = np.where(view.choosable, scaled.loss(np.where(reachable, values, np.nan)), np.inf)
    text = (
        f"arm {arm} after {int(view.curves.count_by_arm[arm])} epochs: predicted to end at "
        f"{end[arm]:.4g} ± {spread[arm]:.2g}; {why}"
    )
    return Explanation(text, end, spread, value)
