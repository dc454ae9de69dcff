"""A policy that is shown a bounded number of arms where a study has tried very many."""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.narrowed import NarrowedPredictor, Part, part_of
from bhpt.beliefs.predictor import Predictor
from bhpt.domain import View
from bhpt.policies.interface import Decision, Explanation, PredictingPolicy


@dataclass(frozen=True, eq=False)
class NarrowedPolicy(PredictingPolicy):
    """Lets a policy choose among the arms that are looked at: all but in very large studies.

    Attributes:
        chooser: The policy.
    """

    chooser: PredictingPolicy

    @property
    def predictor(self) -> Predictor:
        """The policy's own, which looks at the same arms."""
        return NarrowedPredictor(self.chooser.predictor)

    def decide(self, view: View) -> Decision | None:
        """The policy's decision among these arms."""
        part = part_of(view)
        if part is None:
            return self.chooser.decide(view)
        decision = self.chooser.decide(part.view)
        if decision is None:
            return None
        arm = int(part.arms[decision.arm])
        return Decision(arm, lambda: _of_all_arms(part, decision.explanation))


def _of_all_arms(part: Part, inner: Explanation) -> Explanation:
    """An explanation of some arms as one of all; the others cannot be chosen."""
    return Explanation(
        inner.why,
        part.spread(inner.end),
        part.spread(inner.spread),
        part.spread(inner.value, np.inf),
    )
