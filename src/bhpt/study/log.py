"""The two-method log, and the study's one way to write to it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Protocol

from bhpt.domain import Misuse
from bhpt.study.events import Event
from bhpt.study.folding import apply, fold
from bhpt.study.state import State


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


class FoldingLog(ABC):
    """A log that keeps the state of a study beside its events: reading it folds a few of them.

    The state is a cache: it changes how long reading takes, and nothing else.
    """

    @abstractmethod
    def append(self, events: Sequence[Event], expected: int) -> None:
        """Add events after the first `expected` ones, as any `EventLog`."""

    @abstractmethod
    def read(self, after: int = 0) -> list[Event]:
        """All events but the first `after`."""

    @abstractmethod
    def fold(self) -> State:
        """The state after all events."""

    @abstractmethod
    def keep(self, state: State) -> State:
        """Keep the state after all events where that pays; one that cannot be kept is no fault.

        Returns:
            The same state, in a form that takes less memory if there is one.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""


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
        known: What its first events fold to: only those after them are read.
    """

    def __init__(self, log: EventLog, known: State | None = None) -> None:
        self._log = log
        self._waiting: list[Event] = []
        self._locked = False
        if known is not None:
            self._state = reduce(apply, log.read(known.events), known)
        else:
            self._state = log.fold() if isinstance(log, FoldingLog) else fold(log.read())
        self._position = self._state.events

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
        if isinstance(self._log, FoldingLog):
            self._state = self._log.keep(self._state)
        return True

    def close(self) -> None:
        """Let go of the log."""
        self._log.close()
