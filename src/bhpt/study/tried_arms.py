"""What is known of the arms that were tried, as a value that can be changed without a copy.

`TriedArms` is a mapping in the order of first trial. `with_arm` returns a changed one and never
changes another: all that follow one another share a list of changes and a table of what is known
after the last of them, and only the newest reads the table. An older one is worked out from the
changes when somebody asks; changing an older one copies it first.

Notation:
    V  tried arms, P  timings of an arm that are remembered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bhpt.domain import BoolArray, IntArray, Saved
from bhpt.study.unit_times import COMMON, FirstUnit, Timings, TimingTable

PACES = 16
"""Timings of an arm that are remembered."""


@dataclass(frozen=True, slots=True)
class Arm:
    """What is known of an arm that was tried, beside its curve.

    Attributes:
        units: Reported units.
        ready: Epochs that need not be trained again: those of its checkpoint or live trainer.
        saved: Its checkpoints that were not dropped, oldest first.
        paces: Logarithms of the seconds an epoch took, for the last few units but the first.
        failures: Failed attempts in a row.
        closed: Why it is given up, None while it is not.
        first: What its first unit took, None before that.
    """

    units: int = 0
    ready: int = 0
    saved: tuple[Saved, ...] = ()
    paces: tuple[float, ...] = ()
    failures: int = 0
    closed: str | None = None
    first: FirstUnit | None = None


@dataclass(frozen=True, eq=False)
class ArmColumns:
    """Tried arms as arrays, in the order of first trial.

    Attributes:
        arms: Which arms, [V].
        ready: Epochs that need not be trained again, [V].
        held: Epochs of the newest checkpoint, 0 if there is none, [V].
        closed: Whether an arm is given up, [V].
    """

    arms: IntArray
    ready: IntArray
    held: IntArray
    closed: BoolArray

    @property
    def given_up(self) -> IntArray:
        """The arms that are given up."""
        return self.arms[self.closed]


class _Table:
    """What is known after all changes; it only ever goes on.

    Columns are brought up to date when somebody reads them: folding a log never does.
    """

    def __init__(self) -> None:
        self.changes: list[tuple[int, Arm]] = []
        self.known: dict[int, Arm] = {}
        self._changed: dict[int, None] = {}
        self._timed: dict[int, None] = {}
        self._failing: dict[int, None] = {}
        self._latest: dict[int, None] = {}
        self._timings = TimingTable(PACES)
        self._rows: dict[int, int] = {}
        self._numbers = np.zeros((8, 3), np.int64)  # arm, ready, held
        self._closed = np.zeros(8, bool)

    def change(self, arm: int, after: Arm) -> None:
        """What is known of an arm is this from now on."""
        before = self.known.get(arm)
        if _timed(before) is not _timed(after):
            self._timed.pop(arm, None)  # in the order of the last timing, the latest at the end
            self._timed[arm] = None
        if before is None or after.units != before.units:
            self._latest.pop(arm, None)
            self._latest[arm] = None
            if len(self._latest) > COMMON:
                del self._latest[next(iter(self._latest))]
        self._changed[arm] = None
        self.known[arm] = after
        self.changes.append((arm, after))

    def columns(self) -> ArmColumns:
        """A copy as arrays."""
        self._update()
        count = len(self._rows)
        arms, ready, held = self._numbers[:count].T.copy()
        return ArmColumns(arms, ready, held, self._closed[:count].copy())

    def latest(self) -> IntArray:
        """The arms that reported last, at most `COMMON` of them, the latest at the end."""
        return np.fromiter(self._latest, np.int64, len(self._latest))

    def put_in_order(self, reported: Sequence[int], timed: Sequence[int]) -> None:
        """The arms that reported last and that were timed last are these, the latest at the end."""
        self._latest = dict.fromkeys(reported)
        for arm in timed:
            self._timed.pop(arm)
            self._timed[arm] = None

    def failing(self) -> list[int]:
        """Arms whose last attempt failed and that are not given up, lowest first."""
        self._update()
        return sorted(self._failing)

    def timings(self) -> TimingTable:
        """How long epochs took."""
        self._update()
        for arm in self._timed:
            known = self.known[arm]
            self._timings.put(self._rows[arm], arm, known.paces, known.first)
        self._timed = {}
        return self._timings

    def _update(self) -> None:
        """Bring the columns of arms that have changed up to date."""
        for arm in self._changed:
            after = self.known[arm]
            row = self._rows.setdefault(arm, len(self._rows))
            if row == len(self._closed):
                self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)])
                self._closed = np.concatenate([self._closed, np.zeros_like(self._closed)])
            held = after.saved[-1].epochs if after.saved else 0
            self._numbers[row] = arm, after.ready, held
            self._closed[row] = after.closed is not None
            if after.failures and after.closed is None:
                self._failing[arm] = None
            else:
                self._failing.pop(arm, None)
        self._changed = {}


def _timed(arm: Arm | None) -> object:
    """What changes with each unit that was timed."""
    return None if arm is None else arm.paces or arm.first


class TriedArms(Mapping[int, Arm]):
    """What is known of the arms that were tried, by arm, in the order of first trial."""

    def __init__(self, known: Mapping[int, Arm] | None = None) -> None:
        self._table = _Table()
        for arm, what in (known or {}).items():
            self._table.change(arm, what)
        self._version = len(self._table.changes)

    @classmethod
    def in_order(
        cls, known: Mapping[int, Arm], reported: Sequence[int], timed: Sequence[int]
    ) -> "TriedArms":
        """Tried arms whose last reports and timings came in an order of their own.

        Args:
            known: What is known of each, in the order of first trial.
            reported: `latest_arms`.
            timed: `latest_timed`.
        """
        made = cls(known)
        made._table.put_in_order(reported, timed)
        return made

    def with_arm(self, arm: int, after: Arm) -> "TriedArms":
        """The same with something else known of one arm."""
        return self.with_arms({arm: after})

    def with_arms(self, changed: Mapping[int, Arm]) -> "TriedArms":
        """The same with something else known of some arms."""
        made = TriedArms.__new__(TriedArms)
        made._table = self._current
        for arm, after in changed.items():
            made._table.change(arm, after)
        made._version = len(made._table.changes)
        return made

    @cached_property
    def columns(self) -> ArmColumns:
        """Tried arms as arrays."""
        return self._current.columns()

    @property
    def failing(self) -> list[int]:
        """Arms whose last attempt failed and that are not given up, lowest first."""
        return self._current.failing()

    @property
    def latest_arms(self) -> IntArray:
        """The arms that reported last, a bounded number of them, the latest at the end."""
        return self._current.latest()

    @property
    def latest_timed(self) -> tuple[int, ...]:
        """The arms that were timed last, a bounded number of them, the latest at the end."""
        return self._current.timings().latest_arms

    @property
    def timings(self) -> Timings:
        """How long epochs of these arms took."""
        return self._current.timings().timings

    @property
    def latest_timings(self) -> Timings:
        """How long epochs took of the arms that ran last, a bounded number of them."""
        return self._current.timings().latest

    def timings_of(self, arm: int) -> Timings:
        """How long epochs of one arm took; empty if it did not run."""
        known = self.get(arm)
        if known is None or not (known.paces or known.first):
            return Timings.of({})
        return Timings.of_one(arm, known.paces, known.first)

    def __getitem__(self, arm: int) -> Arm:
        return self._current.known[arm]

    def __iter__(self) -> Iterator[int]:
        return iter(self._current.known)

    def __len__(self) -> int:
        return len(self._current.known)

    @property
    def _current(self) -> _Table:
        """A table whose last change is this one's last; one of its own if that went on."""
        if len(self._table.changes) != self._version:
            table = _Table()
            for arm, after in self._table.changes[: self._version]:
                table.change(arm, after)
            self._table = table
        return self._table
