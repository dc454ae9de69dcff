"""Several studies side by side: what each had found when each had used up as much.

Notation:
    S  studies, P  points of the budget.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bhpt.charts.units import units_of
from bhpt.domain import FloatArray, Misuse
from bhpt.study import State

_POINTS = 5


@dataclass(frozen=True, eq=False)
class Comparison:
    """The best value of each study after equal parts of the budget.

    Attributes:
        used: What was gone of the budget, in its currency, [P].
        best: The best value of the metric by then, NaN before there is one, [S, P].
    """

    used: FloatArray
    best: FloatArray


def compare(states: Sequence[State]) -> Comparison:
    """Studies of one metric and one kind of budget, as far as all of them have come.

    Raises:
        Misuse: They are of different metrics or kinds of budget, or nothing was reported.
    """
    objectives = {state.plan.objective for state in states}
    kinds = {state.ledger.budget.kind for state in states}
    if len(objectives) > 1 or len(kinds) > 1:
        what = "metrics" if len(objectives) > 1 else "kinds of budget"
        raise Misuse(f"these studies have different {what}: name those that can be compared")
    curves = [_best_over_budget(state) for state in states]
    if not curves or not all(len(used) for used, _ in curves):
        raise Misuse("a study without any result cannot be compared: leave it out")
    least = min(float(used[-1]) for used, _ in curves)
    points = _points(states[0], least)
    return Comparison(points, np.array([_at(points, used, best) for used, best in curves]))


def _points(state: State, most: float) -> FloatArray:
    """Amounts of the budget up to `most` that whole epochs can use up, [P]."""
    rules = state.ledger.budget.rules
    parts = most * np.arange(1, _POINTS + 1) / _POINTS
    return np.unique([min(most, rules.rounded(float(part), 1)) for part in parts])


def _best_over_budget(state: State) -> tuple[FloatArray, FloatArray]:
    """What was used and the best so far, once each unit was settled, in order, [n] each."""
    units = units_of(state)
    settled = units.settled
    return units.used[settled], units.best[settled]


def _at(points: FloatArray, used: FloatArray, best: FloatArray) -> FloatArray:
    """The best by the time that so much was used, [P]."""
    last = np.searchsorted(used, points + 1e-9, side="right") - 1
    return np.where(last >= 0, best[np.maximum(last, 0)], np.nan)
