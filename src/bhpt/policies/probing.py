"""BHPT for budgets that cannot pay for one full training: half of it goes to first looks.

With so little, the predicted best arm needs all that is left from the first unit on, and BHPT
would commit to whatever it happens to see first. On real curves the strongest simple rule is then
i-Epoch: half of the budget for one unit each of random arms, the other half for the best. This is
the same rule with the belief's choices: the arms whose ends are worth knowing most are tried, and
the one with the lowest predicted end is continued.

Notation:
    B  units of the whole study     R  units of one full training     V  arms tried so far
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw import Mixture
from bhpt.beliefs.posterior import Ends
from bhpt.domain import View
from bhpt.policies.bhpt import Bhpt, action_values, horizon_epochs
from bhpt.policies.values import pick


@dataclass(frozen=True, eq=False)
class Probing(Bhpt):
    """BHPT that tries arms with half of a budget of less than one full training."""

    def exhausted(
        self, view: View, mixture: Mixture, ends: Ends, top: int, rng: np.random.Generator
    ) -> tuple[int, str]:
        """Try the most promising untried arm, or continue the best of those tried."""
        full = -(-view.curves.epochs // view.unit)
        budget = view.step + view.units_left
        tried = mixture.counts > 0
        fresh = view.choosable & ~tried
        if budget < full and tried.sum() < budget // 2 and fresh.any():
            values = action_values(mixture, horizon_epochs(view, view.horizon))
            return pick(values, fresh, rng), f"a first look, one of {budget // 2}"
        known = view.choosable & tried
        if budget < full and known.any():
            return pick(ends.mean, known, rng), "the best of those tried: commit"
        return super().exhausted(view, mixture, ends, top, rng)
