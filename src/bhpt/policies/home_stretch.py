"""Two halves of a study: explore by value of information, then bring the best model home.

While what is left pays for more than one full training, there is time to learn what this task is
like: BHPT's rule on the Gaussian process that is fitted to it. The last stretch is different.
From there on every unit for one arm is missing for another, a process fitted to a few first
epochs is sure of the wrong things, and a policy that has played many such endings decides better.
A budget of no more than one full training is all last stretch.
"""

from dataclasses import dataclass

from bhpt.beliefs.interface import Belief
from bhpt.domain import View
from bhpt.policies.bhpt import Bhpt
from bhpt.policies.interface import Decision
from bhpt.policies.learned import Learned


@dataclass(frozen=True, eq=False)
class HomeStretch:
    """One policy while more than a full training is left, another from then on.

    Attributes:
        early: Decides first.
        late: Decides at last.
    """

    early: Bhpt
    late: Learned

    @property
    def belief(self) -> Belief:
        """What predicts how curves go on, for forecasts."""
        return self.early.belief

    def decide(self, view: View) -> Decision | None:
        """Ask the one whose turn it is."""
        full = -(-view.curves.epochs // view.unit)
        policy = self.early if view.units_left > full else self.late
        return policy.decide(view)
