"""The default: it knows what a learning rate is, and asks one that does not.

Where the names of hyper-parameters tell arms apart, the learned policy decides, from what is
usually good and from what this study has shown. What is usually good may not be so here; so while
more than a full training is left, every third unit is decided by BHPT's rule on the Gaussian
process, which knows no names. A budget that pays for several units of every arm needs no such
advice: there is time to see for oneself.

Where names tell nothing, everything is decided without them; and so it is while what has been seen
of this study does not agree with them.
"""

from dataclasses import dataclass

from bhpt.beliefs.interface import Belief
from bhpt.beliefs.learned.observing import names_fail, names_tell, see
from bhpt.domain import View
from bhpt.policies.home_stretch import HomeStretch, plenty
from bhpt.policies.interface import Decision
from bhpt.policies.learned import Learned

_SECOND_OPINION = 3  # one unit of so many, while there is time


@dataclass(frozen=True, eq=False)
class ByName:
    """Decides by what names mean, as far as they mean anything.

    Attributes:
        named: Decides where they do.
        nameless: Decides where they do not; its first part is the second opinion.
    """

    named: Learned
    nameless: HomeStretch

    @property
    def belief(self) -> Belief:
        """What predicts how curves go on, for forecasts."""
        return self.nameless.belief

    def decide(self, view: View) -> Decision | None:
        """Ask the one whose turn it is."""
        weights = self.named.weights
        if not view.choosable.any() or not names_tell(view, weights):
            return self.nameless.decide(view)
        sight = see(view, weights)
        if names_fail(sight):
            return self.nameless.decide(view)
        if _wants_advice(view) and view.step % _SECOND_OPINION == _SECOND_OPINION - 1:
            return self.nameless.early.decide(view)
        return self.named.decide_on(view, sight)


def _wants_advice(view: View) -> bool:
    """Whether there is time for it, but not to look at every arm."""
    return view.units_left > view.full and not plenty(view)
