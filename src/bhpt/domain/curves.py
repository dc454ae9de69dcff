"""Learning curves: what has been observed, in the order in which it was.

Curves are values: `extend` returns new ones, and what the old ones hold never changes. The newest
curves share their arrays with those before them: a report is written into room behind what is
there, so it costs O(1) amortised, the copy of the counts aside. Extending curves that have been
extended before copies them first.

Notation:
    K  arms, T  epochs of the common grid, V  visited arms, N  reported units.
"""

import hashlib
import math
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from bhpt.domain.arrays import BoolArray, FloatArray, IntArray
from bhpt.domain.errors import Misuse

Array = TypeVar("Array", FloatArray, IntArray)


EXPLODED = 1e100
"""A loss beyond this, like NaN, says only that training has failed."""

_PERCENT = 100.0
_HEADROOM = 1.05  # the loss of an untrained model lies above the worst first epoch by this factor
_LEAP = 1e3  # times the next lower one: such a first loss and those above are of failed trainings
_SMALL = 1e-3  # a loss that a leap is measured from at least


class _CurveRoom:
    """Arrays with room for further reports; they only grow, and belong to the newest curves.

    Attributes:
        visited: Arm of each row, [at least V].
        losses: Losses of each row, [at least V, T].
        best: The lowest finite loss of each row, [at least V].
        worst: The highest finite loss of each row, [at least V].
        reports: Row and number of epochs of each report, [at least N, 2].
        firsts: Losses of the first epochs of all rows that have not exploded, lowest first.
        row_of: Row of each visited arm.
        written: N of the newest curves.
        readable_visited: `visited` as others read it; likewise `losses` and `reports`.
    """

    def __init__(self, curves: "Curves") -> None:
        rows, written = len(curves.visited), len(curves.reports)
        self.visited = _with_room(curves.visited, 2 * rows + _LEAST)
        self.losses = _with_room(curves.losses, 2 * rows + _LEAST)
        self.best = _with_room(curves.best_by_row, 2 * rows + _LEAST)
        self.worst = _with_room(curves.worst_by_row, 2 * rows + _LEAST)
        self.reports = _with_room(curves.reports, 2 * written + _LEAST)
        self.firsts: list[float] = np.sort(curves.first_losses).tolist()
        self.row_of = dict(curves.row_of)
        self.written = written
        self._lock()

    def _lock(self) -> None:
        """Make what others may read: views through which nobody can write."""
        self.readable_visited = _read_only(self.visited)
        self.readable_losses = _read_only(self.losses)
        self.readable_reports = _read_only(self.reports)

    def write(self, row: int, arm: int, start: int, losses: FloatArray) -> None:
        """Add a report of an arm whose first new epoch is `start`, counted from 0."""
        if self.written == len(self.reports):
            self.reports = _with_room(self.reports, 2 * self.written)
            self._lock()
        if row == len(self.visited):
            self.visited = _with_room(self.visited, 2 * row)
            self.losses = _with_room(self.losses, 2 * row)
            self.best = _with_room(self.best, 2 * row)
            self.worst = _with_room(self.worst, 2 * row)
            self._lock()
        if arm not in self.row_of:
            self.visited[row] = arm
            self.best[row], self.worst[row] = np.inf, -np.inf
            if abs(losses[0]) < EXPLODED:
                insort(self.firsts, float(losses[0]))
        self.losses[row, start : start + len(losses)] = losses
        finite = list(filter(math.isfinite, losses.tolist()))
        if finite:
            self.best[row] = min(*finite, self.best[row])
            self.worst[row] = max(*finite, self.worst[row])
        self.reports[self.written] = row, len(losses)
        self.row_of[arm] = row
        self.written += 1


def _before_a_leap(losses: list[float]) -> list[float]:
    """Those of some losses, lowest first, that lie below the first leap; at least one."""
    if losses[-1] <= _LEAP * max(abs(losses[0]), _SMALL):
        return losses
    ordered = np.array(losses)
    leaps = ordered[1:] > _LEAP * np.maximum(np.abs(ordered[:-1]), _SMALL)
    return losses[: int(leaps.argmax()) + 1] if leaps.any() else losses


_LEAST = 8  # rows and reports that there is room for at first


def _with_room(array: Array, rows: int) -> Array:
    """A copy with room for so many rows; what is not used reads 0."""
    larger = np.zeros((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


def _read_only(array: Array) -> Array:
    """A view of a shared array through which nobody can write."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class Curves:
    """All losses seen so far. Only visited arms have a row, so a million candidates are cheap.

    Attributes:
        arms: K, how many arms there are.
        epochs: T, the last epoch that any arm may reach.
        visited: Arm of each row, in order of first visit, [V].
        losses: Row v holds the losses of epochs 1..n_v; what follows is unused and may change,
            [V, T].
        counts: n_v, observed epochs of each row, [V].
        reports: Row and number of epochs of every unit, in the order reported, [N, 2].
    """

    arms: int
    epochs: int
    visited: IntArray
    losses: FloatArray
    counts: IntArray
    reports: IntArray
    _room: _CurveRoom | None = field(default=None, init=False, repr=False)

    @classmethod
    def empty(cls, arms: int, epochs: int) -> "Curves":
        """Nothing observed yet."""
        if arms < 1 or epochs < 1:
            raise Misuse(f"curves need at least one arm and one epoch, not {arms} and {epochs}")
        return cls(
            arms=arms,
            epochs=epochs,
            visited=np.zeros(0, np.int64),
            losses=np.zeros((0, epochs)),
            counts=np.zeros(0, np.int64),
            reports=np.zeros((0, 2), np.int64),
        )

    @classmethod
    def of(cls, curves: Sequence[Sequence[float]], epochs: int) -> "Curves":
        """One report an arm, in arm order; an empty sequence leaves its arm unvisited."""
        made = cls.empty(len(curves), epochs)
        for arm, curve in enumerate(curves):
            if len(curve):
                made = made.extend(arm, np.asarray(curve, float))
        return made

    @cached_property
    def row_of(self) -> dict[int, int]:
        """Row of each visited arm."""
        return {int(arm): row for row, arm in enumerate(self.visited)}

    @cached_property
    def count_by_arm(self) -> IntArray:
        """Observed epochs of every arm, visited or not, [K]."""
        counts = np.zeros(self.arms, np.int64)
        counts[self.visited] = self.counts
        return counts

    @cached_property
    def longest(self) -> int:
        """The most epochs that any arm has been observed for."""
        return int(self.counts.max(initial=0))

    @cached_property
    def observed(self) -> BoolArray:
        """Where the first `longest` columns of `losses` hold an observation, [V, longest]."""
        mask: BoolArray = np.arange(self.longest)[None, :] < self.counts[:, None]
        return mask

    @cached_property
    def best_by_row(self) -> FloatArray:
        """The lowest finite loss of every row, infinity where there is none, [V]."""
        if self._room is not None and self._room.written == len(self.reports):
            return self._room.best[: len(self.visited)].copy()
        losses, usable = self._usable
        best: FloatArray = losses.min(axis=1, initial=np.inf, where=usable)
        return best

    @cached_property
    def worst_by_row(self) -> FloatArray:
        """The highest finite loss of every row, minus infinity where there is none, [V]."""
        if self._room is not None and self._room.written == len(self.reports):
            return self._room.worst[: len(self.visited)].copy()
        losses, usable = self._usable
        worst: FloatArray = losses.max(axis=1, initial=-np.inf, where=usable)
        return worst

    @property
    def _usable(self) -> tuple[FloatArray, BoolArray]:
        """The first `longest` columns of `losses`, and where they are observed and finite."""
        losses = self.losses[:, : self.longest]
        return losses, self.observed & np.isfinite(losses)

    @cached_property
    def best_by_arm(self) -> FloatArray:
        """The lowest finite loss of every arm, infinity where there is none, [K]."""
        best = np.full(self.arms, np.inf)
        best[self.visited] = self.best_by_row
        return best

    @property
    def first_losses(self) -> FloatArray:
        """Losses of the first epochs of the rows that have not exploded, [at most V]."""
        firsts = self.losses[self.counts > 0, 0]
        return np.asarray(firsts[np.abs(firsts) < EXPLODED])

    @cached_property
    def untrained(self) -> float:
        """A guess of the loss of an untrained model: a little above the worst first epoch."""
        if self._room is not None and self._room.written == len(self.reports):
            firsts = self._room.firsts
        else:
            firsts = np.sort(self.first_losses).tolist()
        if not firsts:
            return 1.0
        learning = _before_a_leap(firsts)
        half = len(learning) // 2
        typical = (learning[half] + learning[~half]) / 2  # the two in the middle, or the one
        worst = min(firsts[-1], typical + 3 * abs(typical))  # an exploded arm is no untrained level
        return worst + (_HEADROOM - 1) * abs(worst)

    @cached_property
    def lowest_possible(self) -> float:
        """No loss can be lower, as far as what was seen tells: minus infinity if it does not.

        Losses that were never negative cannot be. Values of a maximised metric (losses below 0)
        that all lie between 0 and 1 are shares, and between 0 and 100 percentages.
        """
        if self.best >= 0:
            return 0.0
        if self.worst_by_row.max() > 0 or self.best < -_PERCENT:
            return -math.inf
        return -1.0 if self.best >= -1 else -_PERCENT

    @property
    def record(self) -> object:
        """Curves with the same record agree on every report that both have."""
        return self if self._room is None else self._room

    @cached_property
    def best(self) -> float:
        """The lowest finite loss seen, infinity before there is one."""
        return float(self.best_by_row.min(initial=np.inf))

    @property
    def leader(self) -> int:
        """The first of the arms with the lowest loss seen; there must be one that was visited."""
        return int(self.visited[self.best_by_row.argmin()])

    def row(self, arm: int) -> int | None:
        """The row of an arm, None if it was not visited."""
        if self._room is None:
            return self.row_of.get(arm)
        row = self._room.row_of.get(arm)  # whoever shares the room may have visited more arms
        return None if row is None or row >= len(self.visited) else row

    def rows(self, arms: IntArray) -> IntArray:
        """The rows of some arms that were visited, [A]."""
        known = self.row_of if self._room is None else self._room.row_of
        return np.array([known[arm] for arm in arms.tolist()], np.int64)

    def count(self, arm: int) -> int:
        """Observed epochs of one arm."""
        row = self.row(arm)
        return 0 if row is None else int(self.counts[row])

    def of_arm(self, arm: int) -> FloatArray:
        """The observed losses of one arm, [n]."""
        row = self.row(arm)
        if row is None:
            return np.zeros(0)
        return self.losses[row, : self.counts[row]]

    def with_arms(self, arms: int) -> "Curves":
        """The same observations of a study with so many arms."""
        return replace(self, arms=arms)._sharing(self._room)

    def extend(self, arm: int, losses: FloatArray) -> "Curves":
        """The curves with one more unit of `arm` reported."""
        if not 0 <= arm < self.arms:
            raise Misuse(f"arm {arm} is not one of the {self.arms} arms")
        known = self.row(arm)
        row = len(self.visited) if known is None else known
        start = self.count(arm)
        stop = start + len(losses)
        if not len(losses) or stop > self.epochs:
            raise Misuse(
                f"arm {arm} reports {len(losses)} epochs after {start} of at most {self.epochs}"
            )
        room = self._room
        if room is None or room.written != len(self.reports):
            room = _CurveRoom(self)
        room.write(row, arm, start, losses)
        counts = np.empty(len(self.counts) + (known is None), np.int64)
        counts[: len(self.counts)] = self.counts
        counts[row] = stop
        made = Curves(
            arms=self.arms,
            epochs=self.epochs,
            visited=room.readable_visited[: len(counts)],
            losses=room.readable_losses[: len(counts)],
            counts=counts,
            reports=room.readable_reports[: room.written],
        )
        if known is not None and "untrained" in self.__dict__:
            made.__dict__["untrained"] = self.untrained  # first epochs are the same
        return made._sharing(room)

    def _sharing(self, room: _CurveRoom | None) -> "Curves":
        """These curves, just made: they may write the next report into a room."""
        object.__setattr__(self, "_room", room)  # not a field to set: it must fit the others
        return self

    def first(self, reports: int) -> "Curves":
        """The curves as they were after the first `reports` units."""
        if reports >= len(self.reports):
            return self
        kept = self.reports[:reports]
        rows = int(kept[:, 0].max()) + 1 if reports else 0
        counts = np.bincount(kept[:, 0], weights=kept[:, 1], minlength=rows).astype(np.int64)
        return Curves(
            arms=self.arms,
            epochs=self.epochs,
            visited=self.visited[:rows],
            losses=self.losses[:rows],
            counts=counts,
            reports=kept,
        )

    def visited_after(self, reports: int) -> int:
        """How many arms had been visited after the first `reports` units."""
        return int(self.reports[:reports, 0].max(initial=-1)) + 1

    def digest(self, *told: object) -> bytes:
        """Identifies all that was observed, in its order, and what else a result follows from.

        Args:
            told: Arrays, which count by their bytes, and values, which count by their `repr`.
        """
        parts = hashlib.blake2b(digest_size=16)
        seen = self.losses[:, : self.longest][self.observed]
        for one in (self.visited, self.reports, seen, self.epochs, *told):
            array = isinstance(one, np.ndarray)
            parts.update(np.ascontiguousarray(one).tobytes() if array else repr(one).encode())
        return parts.digest()

    def only(self, arms: IntArray) -> "Curves":
        """The curves of some arms alone, numbered anew in the given order.

        Args:
            arms: Which, none twice.
        """
        place = np.full(self.arms, -1)
        place[arms] = np.arange(len(arms))
        rows = np.flatnonzero(place[self.visited] >= 0)
        row = np.full(len(self.visited), -1)
        row[rows] = np.arange(len(rows))
        reports = np.column_stack([row[self.reports[:, 0]], self.reports[:, 1]])
        return Curves(
            arms=len(arms),
            epochs=self.epochs,
            visited=place[self.visited[rows]],
            losses=self.losses[rows],
            counts=self.counts[rows],
            reports=reports[reports[:, 0] >= 0],
        )
