"""Attempts at units, and the list of them, as a value that grows without a copy.

The first attempts of a list may be packed: all of them have ended, so they never change, and
they are decoded only when somebody looks at one. A study that is read from its stored state has
most of its attempts so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import eq
from typing import Literal, overload

from pyrsistent import PVector, pvector

from bhpt.domain import Misuse, Unit
from bhpt.domain.reports import Metrics
from bhpt.study.codec import compressed, decompressed, from_plain, to_plain
from bhpt.study.events import Outlook

AttemptStatus = Literal["open", "observed", "failed"]

PACKED = 512
"""Attempts in a pack."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at one unit: what was decided and what came of it.

    Attributes:
        number: Counts all attempts from 0.
        unit: What it trains.
        done: Epochs of the arm before it.
        reserved: Cost that was set aside.
        expected_s: Predicted duration.
        why: Why this arm.
        outlook: What the policy predicted.
        started: Clock at which it was decided, or started again.
        status: In flight, reported, or failed.
        cost: What it cost in the end.
        seconds: How long it was busy.
        message: Why it failed.
        metrics: What was reported beside the losses, one mapping an epoch; empty if nothing was.
        ended: Clock at which it was reported or failed, None while it is in flight.
        failure: Which kind of failure it was, a `FailureKind`; empty if it did not fail.
        tail: The last lines that the trainer printed before it failed.
        worker: Which worker it was given to, None where nobody says.
    """

    number: int
    unit: Unit
    done: int
    reserved: float
    expected_s: float | None
    why: str
    outlook: tuple[Outlook, ...]
    started: float
    status: AttemptStatus = "open"
    cost: float = 0.0
    seconds: float = 0.0
    message: str = ""
    metrics: tuple[Metrics, ...] = ()
    ended: float | None = None
    failure: str = ""
    tail: str = ""
    worker: int | None = None

    def ended_as(
        self,
        status: AttemptStatus,
        cost: float,
        seconds: float,
        ended: float,
        *,
        message: str = "",
        metrics: tuple[Metrics, ...] = (),
        failure: str = "",
        tail: str = "",
    ) -> "Attempt":
        """The attempt with what came of it.

        `replace` would take several times as long, and a fold does this for every unit.
        """
        return Attempt(
            self.number,
            self.unit,
            self.done,
            self.reserved,
            self.expected_s,
            self.why,
            self.outlook,
            self.started,
            status,
            cost,
            seconds,
            message,
            metrics,
            ended,
            failure,
            tail,
            self.worker,
        )


@dataclass(frozen=True)
class AttemptPack:
    """`PACKED` attempts that have ended, as compressed JSON.

    Attributes:
        data: The attempts.
    """

    data: bytes

    @classmethod
    def of(cls, attempts: Sequence[Attempt]) -> "AttemptPack":
        """Pack attempts."""
        return cls(compressed([to_plain(one) for one in attempts]))

    @cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """The attempts, decoded when somebody looks."""
        try:
            found: tuple[Attempt, ...] = from_plain(tuple[Attempt, ...], decompressed(self.data))
        except (ValueError, TypeError, KeyError) as error:
            raise Misuse(
                f"the study is damaged: packed attempts cannot be read ({error})"
            ) from None
        return found


class AttemptList(Sequence[Attempt]):
    """Every attempt of a study, by number.

    Attributes:
        packs: The first attempts, all of which have ended.
        later: Those after them.
    """

    __slots__ = ("_packed", "later", "packs")

    def __init__(self, packs: tuple[AttemptPack, ...] = (), later: Sequence[Attempt] = ()) -> None:
        self.packs = packs
        self._packed = PACKED * len(packs)
        self.later: PVector[Attempt] = pvector(later)

    def plus(self, attempt: Attempt) -> "AttemptList":
        """The list with one more attempt."""
        return self._with(self.later.append(attempt))

    def changed(self, attempt: Attempt) -> "AttemptList":
        """The list with another value of an attempt that has not ended yet."""
        return self._with(self.later.set(attempt.number - self._packed, attempt))

    def packed(self, ended: int) -> "AttemptList":
        """The list with as many as possible of its first `ended` attempts in packs."""
        count = max(ended - self._packed, 0) // PACKED
        own = self.later
        packs = [AttemptPack.of(own[PACKED * n : PACKED * (n + 1)]) for n in range(count)]
        return AttemptList((*self.packs, *packs), own[PACKED * count :])

    def _with(self, later: PVector[Attempt]) -> "AttemptList":
        made = AttemptList.__new__(AttemptList)
        made.packs, made._packed, made.later = self.packs, self._packed, later
        return made

    def __len__(self) -> int:
        return self._packed + len(self.later)

    def __iter__(self) -> Iterator[Attempt]:
        for pack in self.packs:
            yield from pack.attempts
        yield from self.later

    @overload
    def __getitem__(self, place: int) -> Attempt: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Attempt]: ...

    def __getitem__(self, place: int | slice) -> Attempt | Sequence[Attempt]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        number = place if place >= 0 else place + len(self)
        if number >= self._packed:
            return self.later[number - self._packed]
        if number < 0:
            raise IndexError(f"there is no attempt {place}")
        return self.packs[number // PACKED].attempts[number % PACKED]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AttemptList):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]  # metrics are mappings, which have none
