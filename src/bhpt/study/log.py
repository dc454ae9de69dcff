"""The two-method log, and the study's one way to write to it."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Protocol

from bhpt.domain import Misuse
from bhpt.study.events import Event
from bhpt.study.state import State, apply, fold


class Busy(Exception):
    """Another process has locked the store for the moment; nothing was written."""


class Fenced(Misuse):
    """Another driver has taken over the study: this one must not write any more."""


class Conflict(Misuse):
    """The log has more events than its writer expects: another process has written to it."""


class EventLog(Protocol):
    """Where events are kept. One transaction an append: all of it is there, or nothing."""

    def append(self, events: Sequence[Event], expected: int) -> None:
        """Add events after the first `expected` ones.

        Raises:
            Busy: The store is locked; nothing was written, try again.
            Conflict: There are not exactly `expected` events.
            Fenced: The right to write was lost.
        """
        ...

    def read(self, after: int = 0) -> list[Event]:
        """All events but the first `after`."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


Keep = Callable[[Sequence[Event]], EventLog]
"""Creates the log of a new study from its first events."""


class MemoryLog:
    """A log that lives as long as its process."""

    def __init__(self, first: Sequence[Event] = ()) -> None:
        self._events: list[Event] = list(first)

    def append(self, events: Sequence[Event], expected: int) -> None:
        """Add events after the first `expected` ones."""
        if expected != len(self._events):
            raise Conflict(f"the log has {len(self._events)} events, not {expected}")
        self._events.extend(events)

    def read(self, after: int = 0) -> list[Event]:
        """All events but the first `after`."""
        return self._events[after:]

    def close(self) -> None:
        """Nothing has to be let go of."""


class Journal:
    """A log with the state that it folds to; every change of a study goes through `record`.

    While the store is locked, events wait in memory in their order, and the state already holds
    them: reports are never lost. A caller that starts work must check `waiting` first, because a
    decision has to be in the log before it is submitted.

    Args:
        log: Where events are kept.
        known: A journal of the same events, all written: only those after them are read.
    """

    def __init__(self, log: EventLog, known: "Journal | None" = None) -> None:
        self._log = log
        self._waiting: list[Event] = []
        self._locked = False
        before = 0 if known is None else known.written
        events = log.read(before)
        self._position = before + len(events)
        self._state = fold(events) if known is None else reduce(apply, events, known.state)

    @property
    def state(self) -> State:
        """The study now, with what waits to be written."""
        return self._state

    @property
    def written(self) -> int:
        """Events that are in the log."""
        return self._position

    @property
    def waiting(self) -> int:
        """Events that are not in the log yet."""
        return len(self._waiting)

    @property
    def locked(self) -> bool:
        """Whether the store refused the last write."""
        return self._locked

    def hold(self, *events: Event) -> None:
        """Apply events and let them wait for the next write, which takes them all at once."""
        state = self._state
        for event in events:
            state = apply(state, event)
        self._waiting.extend(events)
        self._state = state

    def record(self, *events: Event) -> bool:
        """Apply events and write them, or let them wait; says whether they are written.

        Raises:
            Misuse: An event contradicts the state; then nothing of it is kept.
            Fenced: The right to write was lost.
        """
        self.hold(*events)
        return self.flush()

    def flush(self) -> bool:
        """Write what waits; says whether nothing waits any more."""
        if not self._waiting:
            return True
        try:
            self._log.append(self._waiting, self._position)
        except Busy:
            self._locked = True
            return False
        self._locked = False
        self._position += len(self._waiting)
        self._waiting = []
        return True

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()
