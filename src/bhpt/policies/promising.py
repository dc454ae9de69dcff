"""The arm whose end promises most: a second opinion from the predictor, which knows no names.

The learned predictor says how low each arm may get within what is left, untried ones included.
Trained to its end, an arm leaves the lower of two losses: its own end, and that of the arm which
is expected to end lowest. The arm that lowers the expectation of this most is run next: expected
improvement, with ends of curves in place of values of a function.

Notation:
    e_k  lowest loss of arm k within its horizon    m = min_k E[e_k]    V_k = E[min(e_k, m)]
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.predictor import Predictor
from bhpt.beliefs.scale import starting_level
from bhpt.domain import View
from bhpt.policies.interface import Decision, Explanation, PredictingPolicy

_ALIKE = 1e-9  # of the improvement that there is: values that differ by less are the same


@dataclass(frozen=True, eq=False)
class Promising(PredictingPolicy):
    """Runs the arm with the lowest V.

    Attributes:
        ends: Predicts where arms would end.
    """

    ends: Predictor

    @property
    def predictor(self) -> Predictor:
        """Predicts the ends."""
        return self.ends

    def decide(self, view: View) -> Decision | None:
        """The arm that promises most; None where none can run or promises anything."""
        if not view.choosable.any() or not view.curves.longest:
            return None
        ends = self.ends.predict(view)
        mean = ends.mean()
        known = np.isfinite(mean)
        if not known.any():
            return None
        best_end = float(mean[known].min())
        value = np.where(view.choosable & known, ends.mean_at_most(best_end), np.inf)
        gained = starting_level(view) - view.curves.best
        if value.min() >= best_end - _ALIKE * gained:
            return None
        best = np.flatnonzero(value <= value.min() + _ALIKE * gained)
        arm = int(best[0] if len(best) == 1 else view.rng().choice(best))
        priced = np.where(known, value, np.nan)
        return Decision(arm, lambda: Explanation.of_ends(lambda: ends, priced, "promises most"))
