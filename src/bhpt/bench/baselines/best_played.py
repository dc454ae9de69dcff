"""Simulate, then choose: follow whichever of some policies ends lowest when all are played on.

Every so often each policy is played to the end of the budget in the same draws of how curves go on
(`policies.played`), and the one with the lowest mean end decides until the next look. The first
policy decides before anything is known, and wherever no other is surely better.
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.predictor import Predictor
from bhpt.domain import View
from bhpt.domain.memory import Slot
from bhpt.policies.interface import Decision, Policy
from bhpt.policies.played import draw_worlds_of_all, play_all

_GONE = 0.1  # part of what was left after which it looks again
_SEED = 4


@dataclass
class _Followed:
    """Which policy is followed, and down to how much that is left."""

    policy: int = 0
    until: float = np.inf


@dataclass(frozen=True, eq=False)
class BestPlayed:
    """Follows the policy that ends best when all are played on.

    Attributes:
        policies: Those to choose from; the first is the one to leave only for a better one.
        predictor: Draws how curves go on.
        draws: How many worlds a look plays.
        sure: Standard errors by which another policy must be ahead of the first.
    """

    policies: tuple[Policy, ...]
    predictor: Predictor
    draws: int = 8
    sure: float = 0.0

    def decide(self, view: View) -> Decision | None:
        """The decision of the policy that is followed."""
        followed = view.memory.recall(Slot("followed", id(self)), (), _Followed)
        if np.isfinite(view.curves.best) and view.left <= followed.until:
            followed.policy = self._best(view)
            followed.until = (1 - _GONE) * view.left
        return self.policies[followed.policy].decide(view)

    def _best(self, view: View) -> int:
        """The policy to follow from here."""
        rng = np.random.default_rng((view.seed, view.step, _SEED))
        worlds = draw_worlds_of_all(view, self.predictor.predict(view), self.draws, rng)
        if worlds is None:
            return 0
        played = play_all(view, self.policies, worlds)
        losses = np.array([[one.loss for one in row] for row in played])
        behind = losses - losses[0]
        error = behind.std(axis=1, ddof=1) / np.sqrt(self.draws)
        mean = behind.mean(axis=1)
        return int(np.argmin(np.where(mean < -self.sure * error, mean, 0.0)))
