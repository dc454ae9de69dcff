"""A study whose names tell nothing: look around while there is time, then bring the best home.

The last stretch, when what is left pays for one full training or less, is the learned policy's:
from there on every unit for one arm is missing for another, a process fitted to a few first
epochs is sure of the wrong things, and a policy that has played many such endings decides better.
A budget of no more than one full training is all last stretch.

Before that there is time to learn what this task is like: BHPT's rule on the Gaussian process
that is fitted to it. Only a budget that pays for several units of every arm needs no belief to
choose among them: successive halving looks at all and keeps halving. (It decides one unit at a
time, so with several workers it is BHPT's rule again.)

Notation:
    B  units of the whole study     K  arms
"""

from dataclasses import dataclass

from bhpt.beliefs.interface import Belief
from bhpt.domain import View
from bhpt.policies.bhpt import Bhpt
from bhpt.policies.interface import Decision
from bhpt.policies.learned import Learned
from bhpt.policies.scheduled import Scheduled

_PLENTY = 3  # units for every arm


@dataclass(frozen=True, eq=False)
class StagedPolicy:
    """One policy while more than a full training is left, another from then on.

    Attributes:
        early: Decides first.
        late: Decides at last.
        plenty: Decides first where the budget is so large that every arm can be looked at.
    """

    early: Bhpt
    late: Learned
    plenty: Scheduled

    @property
    def belief(self) -> Belief:
        """What predicts how curves go on, for forecasts."""
        return self.early.belief

    def decide(self, view: View) -> Decision | None:
        """Ask the one whose turn it is."""
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
