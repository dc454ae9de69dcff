"""Whole trainings where curves have shown nothing yet: some jobs learn late and all at once.

While no arm is better than an untrained model, or hardly, how curves go says nothing of how they
end, and a policy that follows them tries one arm after the other for a few units each. The same
holds while most arms have come as far as the best one, as where all learn the same simple thing at
once and another much later. If some arms learn late, none of these units can show it. So where the
budget pays for many full trainings, part of it goes to arms trained one after the other to their
last unit, those of which names promise most first. This ends as soon as an arm is ahead.

Notation:
    ℓ_0  loss of an untrained model     T  units of a full training     B  units of the budget
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.experts import Advice
from bhpt.beliefs.learned.arm_opinions import SOME, expected
from bhpt.beliefs.predictor import Predictor
from bhpt.beliefs.scale import starting_level
from bhpt.domain import IntArray, View
from bhpt.policies.interface import Decision, Explanation, PredictingPolicy, advice_of
from bhpt.policies.learned import Learned

_HARDLY = 0.02  # of ℓ_0, or of the best improvement: less makes no difference
_SOME_ARMS = 8  # tried ones; of fewer most may be alike by chance
_MANY = 8  # full trainings that the budget pays for
_EVERY = 3  # one unit of so many


@dataclass(frozen=True, eq=False)
class WholeTrainings(PredictingPolicy):
    """Another policy, but for units that go to whole trainings.

    These are not what the predictor would choose, nor does it judge them: it reads curves.

    Attributes:
        usual: Decides on all other units.
        learned: Reads names.
    """

    usual: PredictingPolicy
    learned: Learned

    @property
    def predictor(self) -> Predictor:
        """The other policy's."""
        return self.usual.predictor

    def advice(self, view: View, arm: int) -> Advice | None:
        """What the experts of the other policy say, if it listens to any."""
        return advice_of(self.usual, view, arm)

    def decide(self, view: View) -> Decision | None:
        """A unit of a whole training where it is time for one, or else the other's decision."""
        if wants_whole_training(view) and self.learned.names_tell(view):
            arm = self._most_promised(view)
            if arm is not None:
                return Decision(arm, lambda: self._explain(view))
        return self.usual.decide(view)

    def _most_promised(self, view: View) -> int | None:
        """The arm of which names promise most, of those that can be trained to their end."""
        rows = _compared(view)
        whole = view.choosable[rows] & (view.remaining[rows] <= view.bought_now[rows])
        if not whole.any():
            return None
        promised = expected(view, rows, self.learned.weights)[:, 0]
        return int(rows[np.where(whole, promised, -np.inf).argmax()])

    def _explain(self, view: View) -> Explanation:
        why = "a whole training, as no curve tells anything yet"
        return Explanation.of_unpriced(self.predictor, view, why)


def _compared(view: View) -> IntArray:
    """Arms among which to choose: all, or of very many those that were tried."""
    return np.arange(view.arms) if view.arms <= SOME else view.curves.visited


def wants_whole_training(view: View) -> bool:
    """Whether this unit goes to a whole training.

    One unit of three does while curves tell nothing, once the units of a full training are spent,
    and where the budget pays for eight full trainings.
    """
    turn = view.step % _EVERY == _EVERY - 2  # the default asks for a second opinion one unit later
    enough = view.step >= view.full and view.step + view.units_left >= _MANY * view.full
    return turn and enough and (nothing_learnt(view) or none_is_ahead(view))


def nothing_learnt(view: View) -> bool:
    """Whether no arm is better than an untrained model by more than a fiftieth of its loss.

    Without ℓ_0 nobody can tell.
    """
    start = view.untrained
    return start is not None and view.curves.best >= start - _HARDLY * abs(start)


def none_is_ahead(view: View) -> bool:
    """Whether most of the arms tried have improved as far as the best one."""
    curves = view.curves
    if len(curves.visited) < _SOME_ARMS:
        return False
    gained = starting_level(view) - curves.best
    return bool(gained > 0 and np.median(curves.best_by_row) <= curves.best + _HARDLY * gained)
