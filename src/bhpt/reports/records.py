"""What further configurations would bring if they were like those that were tried.

The network that predicts curves was trained on studies of some tens of configurations. Where
hundreds have been tried it is sure that none of the next ones will be better, and it is wrong: of
n + m configurations that are alike the best is among the last m with chance m / (n + m), however
many there are. By how much it is better follows from how far the best ones so far lie apart.

How losses are counted is that of `factors`: by factors where it is known how low they can be.

Notation:
    x_1 ≤ x_2 ≤ x_3  the lowest losses of the best three configurations, as they are counted
    r   what is left of the budget, in parts of what was spent on epochs
    β = ((x_3 - x_1) + (x_3 - x_2)) / 2,  how steeply the lower tail ends were it exponential
    s = c β, at most what the study has gained;  c as measured: real tails are shorter
    P(gain > g) = r exp(-g / s) / (1 + r exp(-g / s)),  so E[gain] = s log(1 + r)
"""

import math
from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.scale import starting_level
from bhpt.domain import View
from bhpt.reports.factors import Factors

_FEWEST = 5  # configurations that were tried: fewer say little of how their ends spread
_SHORTER = 0.6  # c, measured: benchmarks/records/live.md
_TAIL = 0.05  # of gains are larger than the low end of an interval says


@dataclass(frozen=True, slots=True)
class Records:
    """How much lower the best loss would be after more configurations like those before.

    Attributes:
        best: The best loss so far.
        spread: s; 0 where nothing can be told.
        spent: What was spent on epochs so far, above 0.
        floor: No loss is lower.
        factors: How losses are counted; None for their differences.
    """

    best: float
    spread: float
    spent: float
    floor: float = -math.inf
    factors: Factors | None = None

    @classmethod
    def of(cls, view: View, spent: float) -> "Records | None":
        """Those of a study; None while too few configurations were tried.

        Args:
            view: The study.
            spent: What was spent on epochs so far, in the currency of what is left.
        """
        curves, factors = view.curves, Factors.of(view)
        ends = curves.best_by_row[np.isfinite(curves.best_by_row)]
        if len(ends) < _FEWEST or not spent > 0:
            return None
        level = max(starting_level(view), curves.best)
        counted = np.array([*np.partition(ends, 2)[:3], level])
        if factors is not None:
            counted = factors.logs(counted)
        first, second, third, start = counted.tolist()
        apart = third - first / 2 - second / 2
        spread = min(_SHORTER * apart, start - first)
        if not math.isfinite(spread):
            return None
        return cls(curves.best, spread, spent, curves.lowest_possible, factors)

    def expected(self, left: float) -> tuple[float, float]:
        """The expected best loss at the end, and the low end of its interval.

        Args:
            left: What is left of the budget, of all workers together.
        """
        part = left / self.spent
        if not part > 0 or not self.spread > 0:
            return self.best, self.best
        tail = math.log(part) + math.log(1 / _TAIL - 1)
        return self._below(math.log1p(part)), self._below(max(tail, 0.0))

    def _below(self, spreads: float) -> float:
        """The loss that lies so many spreads below the best."""
        gain = self.spread * spreads
        if self.factors is None:
            return max(self.best - gain, self.floor)
        apart = self.best - self.floor
        return min(self.floor + apart * math.exp(-gain), self.best)
