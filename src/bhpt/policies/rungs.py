"""Schedules as a chain of rungs: some arms, each to be trained to so many units, then the next.

What the next rung is follows from the losses of the rungs before it. Units count in the order of
the rungs and not in that of their reports: an arm that was trained further than its rung requires
is ranked by what it showed up to there.

With one worker the arms of a rung are trained one after the other. Several workers share a rung.
When all that it lacks is in flight, a worker goes on with what is next in line, but only with
units that the rungs of the schedule will not need: a schedule that the budget pays for comes to
its end however many workers there are. Where time is what is spent, nothing is saved by waiting.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Optional

import numpy as np

from bhpt.domain import Curves, FloatArray, IntArray, View
from bhpt.policies.scheduled import Setup, UnitRequest, added_later


class Board:
    """Units that count so far, and what they showed.

    Attributes:
        setup: What the schedule is sized for.
        done: Units of each arm that count, [K₀].
        best: Lowest finite loss of each arm in them, infinity if there is none, [K₀].
        spent: Their number.
    """

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.done: IntArray = np.zeros(setup.arms, np.int64)
        self.best: FloatArray = np.full(setup.arms, np.inf)
        self.spent = 0

    def copy(self) -> "Board":
        """A board of its own with the same on it."""
        made = Board(self.setup)
        made.done, made.best, made.spent = self.done.copy(), self.best.copy(), self.spent
        return made

    def ranked(self, arms: IntArray) -> IntArray:
        """Arms from best to worst, in the given order where they tie."""
        return arms[np.argsort(self.best[arms], kind="stable")]

    def take(self, rung: "Rung", curves: Curves) -> None:
        """Count the reported units that the rung requires."""
        epochs = curves.count_by_arm[rung.arms]
        reported = np.minimum(rung.units, -(-epochs // self.setup.unit))
        more = self.done[rung.arms] < reported
        for arm, units in zip(rung.arms[more].tolist(), reported[more].tolist(), strict=True):
            start, stop = int(self.done[arm]) * self.setup.unit, units * self.setup.unit
            losses = curves.of_arm(arm)[start:stop]
            lowest = losses.min(initial=np.inf, where=np.isfinite(losses))
            self.best[arm] = min(self.best[arm], lowest)
            self.spent += units - int(self.done[arm])
            self.done[arm] = units

    def lacking(self, rung: "Rung") -> IntArray:
        """Arms of the rung that have not been trained so far, in its order."""
        return rung.arms[self.done[rung.arms] < rung.units]


NextRung = Callable[[Board], Optional["Rung"]]


@dataclass(frozen=True, eq=False)
class Rung:
    """Arms to be trained to the same number of units.

    Attributes:
        arms: Which, the first to be trained first, no arm twice, [n].
        units: Units that each is to have had, at most a full training.
        why: One sentence for a person.
        after: What comes when all of them are done.
        ahead: What a worker may begin while the last units of this rung are in flight.
        reserve: Units that later rungs will need.
    """

    arms: IntArray
    units: int
    why: str
    after: NextRung
    ahead: NextRung
    reserve: int = 0


class RungCourse:
    """Where a chain of rungs stands: everything before the current rung is done."""

    def __init__(self, setup: Setup, first: Rung) -> None:
        self._board = Board(setup)
        self._rung: Rung | None = first

    def take(self, curves: Curves) -> None:
        """Count what was reported; go on to the next rung while the current one is complete."""
        while self._rung is not None:
            self._board.take(self._rung, curves)
            if self._board.lacking(self._rung).size:
                return
            self._rung = self._rung.after(self._board)

    def choose(self, view: View) -> UnitRequest | None:
        """The first unit that is lacking and can run; arms that cannot run are passed over."""
        board, rung = self._board.copy(), self._rung
        free = float(view.units_left) if view.lanes == 1 else np.inf
        while rung is not None:
            board.take(rung, view.curves)
            lacking = board.lacking(rung)
            ready = lacking[view.choosable[lacking]]
            if ready.size:
                return int(ready[0]), rung.why
            flying = lacking[np.isin(lacking, view.pending)]
            if flying.size:
                free -= int((rung.units - 1 - board.done[flying]).sum()) + rung.reserve
                if free < 1:
                    return None
            rung = rung.ahead(board) if flying.size else rung.after(board)
        return added_later(view)
