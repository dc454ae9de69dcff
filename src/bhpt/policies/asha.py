"""Asynchronous successive halving, promoting or stopping, for any number of workers.

A rung is a number of units; it holds the arms that have had as many, with the lowest loss that
they had shown by then. Units are decided one at a time: an arm that is on its way to the next
rung goes on before another is begun, so with as many workers each has an arm of its own.

Promoting (Li et al., 2020): whenever the best third of a rung holds an arm that is waiting there,
the arm goes on to the next rung, from the highest rung down; else a new arm is begun.
Stopping: an arm goes on until it arrives at a rung and is not in its best third; while a rung
holds fewer than three arms, no arm is stopped there.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

import numpy as np

from bhpt.domain import Curves, IntArray, View
from bhpt.policies.scheduled import Setup, UnitRequest, added_later

ETA = 3
"""η: of a rung one arm in so many goes on."""

Entry = tuple[float, int, int]
"""An arm in a rung: its loss, the number of reports before its arrival, and the arm."""


class AshaCourse:
    """Where ASHA stands: what was reported, in the order of the reports.

    Args:
        setup: What it is sized for.
        levels: Units of each rung, ascending, the last a full training.
        stopping: Stop arms instead of promoting them.
    """

    def __init__(self, setup: Setup, levels: Sequence[int], *, stopping: bool) -> None:
        self._setup = setup
        self._rung_at = {units: rung for rung, units in enumerate(levels)}
        self._levels = list(levels)
        self._stopping = stopping
        self._order: IntArray = setup.rng().permutation(setup.arms)
        self._taken = 0
        self._epochs: dict[int, int] = {}
        self._best: dict[int, float] = {}
        # arms of each rung, best first, the earlier one where they tie; those that wait there
        self._rungs: list[list[Entry]] = [[] for _ in levels]
        self._waiting: list[list[Entry]] = [[] for _ in levels]
        self._entry: dict[int, tuple[int, Entry]] = {}
        self._under_way: set[int] = set()
        self._through = 0  # arms of the first K₀ that have had a unit
        self._over = False

    def take(self, curves: Curves) -> None:
        """Take in the new reports, one after the other."""
        for row, epochs in curves.reports[self._taken :].tolist():
            arm = int(curves.visited[row])
            before = self._epochs.get(arm, 0)
            losses = curves.of_arm(arm)[before : before + epochs]
            lowest = float(losses.min(initial=np.inf, where=np.isfinite(losses)))
            self._best[arm] = min(self._best.get(arm, np.inf), lowest)
            self._epochs[arm] = before + epochs
            self._through += not before and arm < self._setup.arms
            self._arrive(arm)
            self._taken += 1
            self._over = self._over or self._nothing_left()

    def _units(self, arm: int) -> int:
        """Units that an arm has had."""
        return -(-self._epochs.get(arm, 0) // self._setup.unit)

    def _arrive(self, arm: int) -> None:
        """Enter an arm into the rung that it has reached, if it has."""
        self._leave(arm)
        self._under_way.add(arm)
        rung = self._rung_at.get(self._units(arm))
        if rung is None:
            return
        entry = (self._best[arm], self._taken, arm)
        insort(self._rungs[rung], entry)
        if self._stopping and rung < len(self._levels) - 1 and self._may_go_on(rung, entry):
            return
        self._under_way.discard(arm)
        insort(self._waiting[rung], entry)
        self._entry[arm] = rung, entry

    def _leave(self, arm: int) -> None:
        """Take an arm that goes on from those that wait in a rung."""
        if arm in self._entry:
            rung, entry = self._entry.pop(arm)
            waiting = self._waiting[rung]
            del waiting[bisect_left(waiting, entry)]

    def _may_go_on(self, rung: int, entry: Entry) -> bool:
        """Whether an arm that has just arrived at a rung is not stopped there."""
        return len(self._rungs[rung]) < ETA or self._in_best_third(rung, entry)

    def _in_best_third(self, rung: int, entry: Entry) -> bool:
        held = self._rungs[rung]
        return bisect_left(held, entry) < len(held) // ETA

    def _nothing_left(self) -> bool:
        """Whether all arms have been tried, and none is under way or to be promoted."""
        if self._through < self._setup.arms or self._under_way:
            return False
        return next(self._promotable(), None) is None

    def _promotable(self) -> Iterator[tuple[int, int]]:
        """Arms that wait in the best third of a rung and the units that they go on to.

        From the highest rung down, the best of a rung first.
        """
        if self._stopping:
            return
        for rung in range(len(self._levels) - 2, -1, -1):
            for entry in self._waiting[rung]:
                if not self._in_best_third(rung, entry):
                    break
                yield entry[2], self._levels[rung + 1]

    def choose(self, view: View) -> UnitRequest | None:
        """Go on, promote, begin a new arm, or spend what is left over."""
        if not (self._over and view.arms == self._setup.arms):
            found = self._wanted(view)
            if found is not None:
                return found
        return self._leftover(view) or added_later(view)

    def _wanted(self, view: View) -> UnitRequest | None:
        """What the rule says, None if there is nothing under way, to promote or to begin."""
        going = [arm for arm in self._under_way if view.choosable[arm]]
        if going:
            arm = max(going, key=lambda one: (self._epochs[one], -one))
            return arm, self._reason(self._target(arm))
        for arm, units in self._promotable():
            if view.choosable[arm]:
                return arm, self._reason(units)
        fresh = self._fresh(view)
        return None if fresh is None else (fresh, self._reason(self._levels[0]))

    def _fresh(self, view: View) -> int | None:
        """An arm that was never tried: those of the start in random order, then added ones."""
        can = view.choosable & (view.curves.count_by_arm == 0)
        first = self._order[can[self._order]]
        if first.size:
            return int(first[0])
        added = np.flatnonzero(can[self._setup.arms :])
        return self._setup.arms + int(added[0]) if added.size else None

    def _target(self, arm: int) -> int:
        """The next rung of an arm."""
        return next(units for units in self._levels if units > self._units(arm))

    def _reason(self, units: int) -> str:
        return f"ASHA: to {units} units"

    def _leftover(self, view: View) -> UnitRequest | None:
        """The best of the first arms that can run a unit."""
        arms = np.flatnonzero(view.choosable[: self._setup.arms])
        if not arms.size:
            return None
        best = int(view.curves.best_by_arm[arms].argmin())
        return int(arms[best]), "what is left goes to the best arm"
