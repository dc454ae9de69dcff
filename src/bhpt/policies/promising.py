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

from bhpt.beliefs.learned.ends import Histogram, LearnedEnds
from bhpt.domain import FloatArray, View
from bhpt.policies.interface import Decision, Explanation

_ALIKE = 1e-9  # of the improvement that there is: values that differ by less are the same


@dataclass(frozen=True, eq=False)
class Promising:
    """Runs the arm with the lowest V.

    Attributes:
        ends: Predicts where arms would end.
    """

    ends: LearnedEnds

    def decide(self, view: View) -> Decision | None:
        """The arm that promises most; None where none can run or promises anything."""
        if not view.choosable.any() or not view.curves.longest:
            return None
        drawn = self.ends.histogram(view)
        if not drawn.scale:
            return None
        best_end = float(drawn.mean().min())
        value = np.where(view.choosable[drawn.arms], drawn.mean_at_most(best_end), np.inf)
        if value.min() >= best_end - _ALIKE * drawn.scale:
            return None
        best = np.flatnonzero(value <= value.min() + _ALIKE * drawn.scale)
        arm = int(drawn.arms[best[0] if len(best) == 1 else view.rng().choice(best)])
        return Decision(arm, lambda: _explain(view, arm, drawn, value))


def _explain(view: View, arm: int, drawn: Histogram, value: FloatArray) -> Explanation:
    end, spread, price = (
        drawn.by_arm(of, view.arms) for of in (drawn.mean(), drawn.deviation(), value)
    )
    text = (
        f"arm {arm} after {int(view.curves.count_by_arm[arm])} epochs: may end at "
        f"{end[arm]:.4g} ± {spread[arm]:.2g}; promises most"
    )
    return Explanation(text, end, spread, price)
