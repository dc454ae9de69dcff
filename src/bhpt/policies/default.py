"""The default: it knows what a learning rate is, and asks one that does not.

Where the names of hyper-parameters tell arms apart, the learned policy decides, from what is
usually good and from what this study has shown. What is usually good may not be so here; so while
more than a full training is left, every third unit goes to the arm whose curve promises most
(`promising`), which is judged without names; every second where the budget pays for several units
of every arm, so that curves are seen soon.

Where names tell nothing, everything is decided without them.
"""

from dataclasses import dataclass

from bhpt.beliefs.interface import Belief
from bhpt.beliefs.learned.network_inputs import names_tell
from bhpt.domain import View
from bhpt.policies.interface import Decision
from bhpt.policies.learned import Learned
from bhpt.policies.promising import Promising
from bhpt.policies.staged import StagedPolicy, plenty

_SECOND_OPINION = 3  # one unit of so many, while there is time
_WITH_PLENTY = 2  # and where there is plenty of it


@dataclass(frozen=True, eq=False)
class DefaultPolicy:
    """Decides by what names mean, as far as they mean anything.

    Attributes:
        named: Decides where they do.
        second: Its second opinion.
        nameless: Decides where they do not.
    """

    named: Learned
    second: Promising
    nameless: StagedPolicy

    @property
    def belief(self) -> Belief:
        """What predicts how curves go on, for forecasts."""
        return self.nameless.belief

    def decide(self, view: View) -> Decision | None:
        """Ask the one whose turn it is."""
        if not names_tell(view, self.named.weights):
            return self.nameless.decide(view)
        advice = self.second.decide(view) if _wants_advice(view) else None
        return advice or self.named.decide(view)


def _wants_advice(view: View) -> bool:
    """Whether this unit is the second opinion's."""
    every = _WITH_PLENTY if plenty(view) else _SECOND_OPINION
    return view.step % every == every - 1 and view.units_left > view.full
