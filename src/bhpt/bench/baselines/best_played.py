"""Simulate, then choose: follow whichever of some policies ends lowest when all are played on.

Every so often each policy is played to the end of the budget in the same draws of how curves go on
(`policies.played`), and the one with the lowest mean end decides until the next look. The first
policy decides before anything is known.
"""

from dataclasses import dataclass, replace

import numpy as np

from bhpt.beliefs.predictor import Predictor
from bhpt.domain import View
from bhpt.domain.memory import Slot
from bhpt.policies.interface import Decision, Policy
from bhpt.policies.played import draw_worlds_of_all, play_all

_GONE = 0.1  # part of what was left after which it looks again
_SEED = 4
_TINY = 1e-9
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class BestPlayed:
    """Follows the policy that ends best when all are played on.

    Attributes:
        policies: Those to choose from; of equally good ones the first.
        predictor: Draws how curves go on.
        draws: How many worlds a look plays.
    """

    policies: tuple[Policy, ...]
    predictor: Predictor
    draws: int = 8

    def decide(self, view: View) -> Decision | None:
        """The decision of the policy that the last look was in favour of."""
        then = _last_look(view)
        if not np.isfinite(then.curves.best):
            return self.policies[0].decide(view)
        slot: Slot[int] = Slot("followed", self)
        shown = (then.curves.counts, then.curves.visited, then.curves.losses)
        followed = view.memory.recall(slot, shown, lambda: self._best(then))
        return self.policies[followed].decide(view)

    def _best(self, view: View) -> int:
        """The policy to follow from here."""
        rng = np.random.default_rng((view.seed, view.step, _SEED))
        worlds = draw_worlds_of_all(view, self.predictor.predict(view), self.draws, rng)
        if worlds is None:
            return 0
        played = play_all(view, self.policies, worlds)
        losses = np.array([[one.loss for one in row] for row in played])
        return int(np.argmin((losses - losses[0]).mean(axis=1)))


def _last_look(view: View) -> View:
    """The view at the last look: they come when what is left falls below 1, .9, .81, .. of all.

    It follows from the view alone, as if there was one worker and units always cost what they cost
    now.
    """
    reports = view.curves.reports
    spent = view.costs[view.curves.visited[reports[:, 0]]]
    left = view.left + np.concatenate([np.cumsum(spent[::-1])[::-1], [0.0]])  # before each report
    level = np.floor(np.log(np.maximum(left, _TINY) / left[0]) / np.log(1 - _GONE))
    at = int(np.argmax(level == level[-1]))
    return replace(view, curves=view.curves.first(at), left=float(left[at]), pending=_NONE)
