"""The default policy: uses the names of hyper-parameters where they distinguish arms.

Where the names of hyper-parameters distinguish arms, the learned policy decides, from what is
usually good and from what this study has shown. What is usually good may not be so here; so while
more than a full training is left, all workers together, every third unit goes to the arm whose
curve promises most (`promising`), which is judged without names; every second where the budget
pays for several units of every arm, so that curves are seen soon. And the second arm that is tried
is chosen without names: where all are chosen by names, nothing shows whether other arms are
better, and names that mislead would be trusted for long. A budget that pays for still more units
of every arm shows of each how it starts: every fourth unit is a first look, the best by names
first, until none is untried.

Where they do not, everything is decided without them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bhpt.beliefs.experts import Advice
from bhpt.beliefs.predictor import Predictor
from bhpt.domain import View
from bhpt.policies.interface import (
    Decision,
    Explanation,
    Policy,
    PredictingPolicy,
    advice_of,
)
from bhpt.policies.staged import plenty

_SECOND_OPINION = 3  # one unit of so many, while there is time
_WITH_PLENTY = 2  # and where there is plenty of it
_LOOK_EVERY = 4  # one unit of so many is a first look where the budget pays as many for every arm


@dataclass(frozen=True, eq=False)
class DefaultPolicy(PredictingPolicy):
    """One policy where names distinguish arms, another where they do not.

    Attributes:
        named: Decides where they do.
        second: Decides every few units instead of it, from curves alone.
        blind: The learned policy without names, for the second arm that is tried.
        nameless: Decides where they do not.
        names_tell: Whether they do, for the arms of a view.
    """

    named: PredictingPolicy
    second: Policy
    blind: Policy
    nameless: Policy
    names_tell: Callable[[View], bool]

    @property
    def predictor(self) -> Predictor:
        """The predictor of the policy that decides by names."""
        return self.named.predictor

    def advice(self, view: View, arm: int) -> Advice | None:
        """The experts' opinions that the policy `named` uses; None if it uses none."""
        return advice_of(self.named, view, arm)

    def decide(self, view: View) -> Decision | None:
        """The decision of one of the parts: which one follows from the view alone."""
        if not self.names_tell(view):
            return self.nameless.decide(view)
        chosen = self._first_look(view) or self._second_opinion(view) or self.named.decide(view)
        if chosen is None or not _is_second_arm(view, chosen.arm):
            return chosen
        other = self.blind.decide(view)
        if other is None or not _is_second_arm(view, other.arm):
            return chosen
        return Decision(other.arm, lambda: self._explain_blind(view))

    def _first_look(self, view: View) -> Decision | None:
        """The untried arm that the policy `named` prefers, where it is time for a first look."""
        if not _wants_first_look(view):
            return None
        untried = view.choosable & (view.curves.count_by_arm == 0)
        if not untried.any():
            return None
        return self.named.decide(view.among(untried, "untried arms"))

    def _second_opinion(self, view: View) -> Decision | None:
        """The decision of the policy `second`, where it is time to ask it."""
        return self.second.decide(view) if _wants_second_opinion(view) else None

    def _explain_blind(self, view: View) -> Explanation:
        why = "a first look, chosen without names"
        return Explanation.of_unpriced(self.predictor, view, why)


def _wants_first_look(view: View) -> bool:
    """Whether this unit goes to an untried arm."""
    enough = view.step + view.units_left >= _LOOK_EVERY * view.arms
    return enough and view.step % _LOOK_EVERY == _LOOK_EVERY - 1 and view.units_left > view.full


def _wants_second_opinion(view: View) -> bool:
    """Whether `second` decides on this unit."""
    every = _WITH_PLENTY if plenty(view) else _SECOND_OPINION
    return view.step % every == every - 1 and view.units_left > view.full


def _is_second_arm(view: View, arm: int) -> bool:
    """Whether one arm has been tried or is being tried, and that is another one."""
    if len(view.curves.visited) > 1:
        return False
    tried = {*view.curves.visited.tolist(), *view.pending.tolist()}
    return len(tried) == 1 and arm not in tried
