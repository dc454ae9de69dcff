"""Two stages: explore while more than a full training is left, then train the best to the end.

The last stretch, when what is left pays for one full training or less, is the learned policy's:
from there on every unit for one arm is missing for another, a Gaussian process fitted to a
few first epochs is overconfident, and a network trained on many such endings decides better.
A budget of no more than one full training is all last stretch.

Before that there is time to learn what this task is like: BHPT's rule on the Gaussian process
that is fitted to it. Only a budget that pays for several units of every arm needs no belief to
choose among them: successive halving looks at all and keeps halving. (It decides one unit at a
time, so with several workers it is BHPT's rule again.)

Notation:
    B  units of the whole study     K  arms
"""

from dataclasses import dataclass

from bhpt.beliefs.predictor import Predictor
from bhpt.domain import View
from bhpt.policies.interface import Decision, Policy, PredictingPolicy

_PLENTY = 3  # units for every arm


@dataclass(frozen=True, eq=False)
class StagedPolicy(PredictingPolicy):
    """One policy while more than a full training is left, another from then on.

    Attributes:
        early: Decides first.
        late: Decides at last.
        plenty: Decides first where the budget is so large that every arm can be looked at.
    """

    early: Policy
    late: PredictingPolicy
    plenty: Policy

    @property
    def predictor(self) -> Predictor:
        """The predictor of the policy that decides at last."""
        return self.late.predictor

    def decide(self, view: View) -> Decision | None:
        """The decision of one of the parts: which one follows from what is left."""
        if view.units_left <= view.full:
            return self.late.decide(view)
        if plenty(view) and _alone(view):
            return self.plenty.decide(view) or self.early.decide(view)
        return self.early.decide(view)


def plenty(view: View) -> bool:
    """Whether the whole budget pays for several units of every arm."""
    return view.step + view.units_left >= _PLENTY * view.arms


def _alone(view: View) -> bool:
    """Whether units are run one after the other."""
    return view.lanes == view.split == 1 and not len(view.pending)
