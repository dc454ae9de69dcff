"""A guard around a policy: no unit for an arm without a chance while another arm has one.

Whatever chooses, a unit is wasted on an arm that the study's own predictor gives no chance to end
below the best loss so far, as long as there are arms that have a chance. The guard asks the policy
again, with these arms alone, where it has chosen one of the others. Studies run every named policy
that has a predictor under it (`registry`).

Where what is left takes an arm to less than half of the epochs that the best loss took, it would
have to learn twice as fast as the best arm. Hardly any does, however wide the predictor's intervals
are, so such a chance counts as negligible, too.

Where arms are alike, a unit of one also teaches about another. The guard does not count that: the
arm that may end below the best can be run itself, which teaches about it, too.

Notation:
    ζ  the best loss so far     e_k  lowest loss of arm k within its horizon
    arm k is hopeful if P(e_k < ζ) is not negligible
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bhpt.beliefs.experts import Advice
from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.domain import BoolArray, View
from bhpt.policies.interface import (
    Decision,
    EndsExplanation,
    Explanation,
    Policy,
    PredictingPolicy,
    advice_of,
)

NEGLIGIBLE = 0.01
"""A smaller chance to end below the best is none."""

_FASTER = 2  # times as fast as the best arm: others are not


@dataclass(frozen=True, eq=False)
class SensiblePolicy(PredictingPolicy):
    """Lets a policy choose among hopeful arms only, where there are any.

    Attributes:
        chooser: The policy.
        ends: The study's predictor.
    """

    chooser: Policy
    ends: Predictor

    @property
    def predictor(self) -> Predictor:
        """Predicts the ends."""
        return self.ends

    def advice(self, view: View, arm: int) -> Advice | None:
        """What the experts of the policy say, if it listens to any."""
        return advice_of(self.chooser, view, arm)

    def decide(self, view: View) -> Decision | None:
        """The policy's decision; asked again without hopeless arms if it chose one of them."""
        decision = self.chooser.decide(view)
        if decision is None or not np.isfinite(view.curves.best):
            return decision
        ends = self.ends.predict(view)
        if _surely_hopeful(view, ends, decision.arm) and not too_late(view)[decision.arm]:
            return decision
        hopeful = hopeful_arms(view, ends)
        if hopeful[decision.arm] or not hopeful.any():
            return decision
        again = self.chooser.decide(view.among(hopeful, "hopeful arms"))
        return decision if again is None else Decision(again.arm, lambda: _shown(again, ends))


def _surely_hopeful(view: View, ends: Ends, arm: int) -> bool:
    """Whether an arm is hopeful, where that can be told without looking at all arms."""
    quantile_of: Callable[[int, float], float] | None = getattr(ends, "quantile_of", None)
    return quantile_of is not None and quantile_of(arm, NEGLIGIBLE) < view.curves.best


def _shown(decision: Decision, ends: Ends) -> Explanation:
    """Why an arm was chosen, with what is predicted of all arms and not of hopeful ones alone."""
    given = decision.explanation
    why = f"{given.why}, as those preferred to it have no chance to beat the best"
    if isinstance(given, EndsExplanation):
        return EndsExplanation(lambda: ends, given.value, why)
    return replace(given, why=why)


def hopeful_arms(view: View, ends: Ends) -> BoolArray:
    """Arms that can run and whose chance to end below the best so far is not negligible, [K].

    A predictor that looks at some of many arms looks at the best of the tried ones, and at untried
    ones that are like the others. So a tried arm about which nothing is predicted is not hopeful,
    and an untried one is if any is about which something is, or if there is none; all are where
    nothing is predicted of any.
    """
    low = ends.quantiles([NEGLIGIBLE])[0]
    unknown = np.isnan(low)
    promising = low < view.curves.best
    if not unknown.all():
        untried = view.curves.count_by_arm == 0
        alike = promising[untried & ~unknown & view.choosable]
        unknown &= untried & bool(alike.any() or not len(alike))
    hopeful: BoolArray = view.choosable & (unknown | promising) & ~too_late(view)
    return hopeful


def too_late(view: View) -> BoolArray:
    """Arms that end at less than half of the epochs that the best loss took, [K]."""
    curves = view.curves
    taken = int((curves.of_arm(curves.leader) == curves.best).argmax()) + 1
    last = curves.count_by_arm + view.unit * view.horizon
    late: BoolArray = _FASTER * last < taken
    return late
