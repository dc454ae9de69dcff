"""A study opened for reading: nothing is locked and nothing can be written."""

import hashlib
import secrets
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine

from bhpt.domain import Misuse
from bhpt.domain.closing import Closing
from bhpt.storage.address import Address
from bhpt.storage.engines import PATIENCE_S, check_format, engine_of, locked_is_misuse, open_engine
from bhpt.storage.errors import Damaged
from bhpt.storage.event_rows import (
    ROWS,
    EventRow,
    Head,
    Lease,
    digest_at,
    last_event,
    read_lease,
    required_digest,
)
from bhpt.storage.faults import naming_faults
from bhpt.storage.files import inspect_file
from bhpt.storage.gc_pause import without_gc
from bhpt.storage.schema import chain
from bhpt.storage.state_rows import StateRow, read_state
from bhpt.study import State, decode_event
from bhpt.study.events import Event, StudyCreated
from bhpt.study.folding import apply, start
from bhpt.study.stored_state import Unreadable, decode_state

_AT_ONCE = 1000  # rows that are fetched at a time
_IDENTITY = 16  # hexadecimal digits of a study's identity


def new_identity() -> str:
    """Random text that no other study has."""
    return secrets.token_hex(_IDENTITY // 2)


@dataclass(frozen=True, eq=False)
class FoldedLog:
    """A log as it was when it was read.

    Attributes:
        state: What its events fold to.
        changed: When its last event was written, ISO 8601 in UTC.
        stored: How many of its events a stored state was folded from; 0 if all were folded now.
    """

    state: State
    changed: str
    stored: int


class Reader(Closing):
    """A study opened for reading.

    Args:
        address: Where it is.
        engine: A connection to its database.
        shared: Whether the connection serves others, too, and stays open when this is closed.
    """

    def __init__(self, address: Address, engine: Engine, *, shared: bool = False) -> None:
        self._address = address
        self._engine = engine
        self._shared = shared

    @property
    def address(self) -> Address:
        """Where it is."""
        return self._address

    def read(self, after: int = 0) -> list[Event]:
        """All events but the first `after`.

        Raises:
            Damaged: A row is missing or not what was written.
            NewerVersion: A newer bhpt wrote it.
        """
        with without_gc():
            return [event for event, _ in self.stream(after)]

    def stream(self, after: int = 0) -> Iterator[tuple[Event, str]]:
        """Events one by one, each with the wall-clock time (ISO 8601, UTC) at which it was written.

        A long study is never in memory as rows and as events at once.
        All of them are of one moment. The study must not be written to by this process before
        the last one was taken.
        """
        with naming_faults(self._address), self._engine.begin() as connection:
            for row in self._checked(connection, after):
                yield decode_event(row.body), row.recorded

    def folded(self) -> FoldedLog:
        """The state after all events.

        Every event is checked against its digest; those that a stored state was folded from are
        not decoded.

        Raises:
            Damaged: A row is missing or not what was written.
            NewerVersion: A newer bhpt wrote it.
            Misuse: The events contradict each other, or there are none.
        """
        with without_gc(), naming_faults(self._address), self._engine.begin() as connection:
            stored = read_state(connection, self._address)
            with closing(self._checked(connection, 0)) as rows:
                return self._folded(rows, stored)

    def _folded(self, rows: Iterator[EventRow], stored: StateRow | None) -> FoldedLog:
        """The state after all events, from the stored one on if that is sound."""
        last = next(rows, None)
        if last is None:
            raise Misuse("the study is empty: it has not been created")
        state = begun = start(decode_event(last.body))
        if stored is not None:
            state = _gone_on(stored, begun)
        known = state.events
        for last in rows:
            if last.position > known:
                state = apply(state, decode_event(last.body))
            elif stored is not None and last.position == known:
                self._require_same(last, stored)
        return FoldedLog(state, last.recorded, known if known > begun.events else 0)

    def _require_same(self, row: EventRow, stored: StateRow) -> None:
        """Make sure that the log is still the one that a stored state was found to fit.

        Raises:
            Damaged: It is another one by now.
        """
        if row.digest != stored.head.digest:
            raise Damaged(f"{self._address} was replaced while it was read: read it again")

    def _checked(self, connection: Connection, after: int) -> Generator[EventRow]:
        """Events but the first `after` as they are stored, each checked against the one before."""
        previous = required_digest(connection, self._address, after)
        query = {"study": self._address.study, "after": after}
        options = {"yield_per": _AT_ONCE}
        with connection.execute(ROWS, query, execution_options=options) as rows:
            for place, (position, body, digest, recorded) in enumerate(rows, start=after + 1):
                if position != place or chain(previous, body) != digest:
                    raise Damaged(
                        f"{self._address} is damaged at event {place}: restore it from a copy"
                    )
                previous = digest
                yield EventRow(position, recorded, body, digest)

    def identity(self) -> str:
        """Text that no other study has, wherever this one is kept and whatever its name.

        Where the log notes no identity, as in early versions, the first event and the moment at
        which it was written stand for it.

        Raises:
            Damaged: The first event is missing.
        """
        with naming_faults(self._address), self._engine.begin() as connection:
            query = {"study": self._address.study, "after": 0}
            row = connection.execute(ROWS.limit(1), query).one_or_none()
        if row is None:
            raise Damaged(f"{self._address} is damaged at event 1: restore it from a copy")
        first = decode_event(row.body)
        if isinstance(first, StudyCreated) and first.identity:
            return first.identity
        return hashlib.sha256(f"{row.digest}\n{row.recorded}".encode()).hexdigest()[:_IDENTITY]

    def head(self) -> Head:
        """The last event."""
        with naming_faults(self._address), self._engine.begin() as connection:
            return last_event(connection, self._address)

    def digest_at(self, position: int) -> str | None:
        """The digest of the event at a position, counted from 1; None if there is none."""
        with naming_faults(self._address), self._engine.begin() as connection:
            return digest_at(connection, self._address, position)

    def rows(self) -> list[EventRow]:
        """All events as they are stored, each checked against the one before."""
        with naming_faults(self._address), self._engine.begin() as connection:
            return list(self._checked(connection, 0))

    def lease(self) -> Lease:
        """Who holds the study now."""
        with naming_faults(self._address), self._engine.begin() as connection:
            return read_lease(connection, self._address)

    def close(self) -> None:
        """Close the database, unless others read it, too."""
        if not self._shared:
            self._engine.dispose()


def _gone_on(stored: StateRow, begun: State) -> State:
    """The stored state of a study that begins so; its beginning if it is no such state."""
    try:
        state = decode_state(stored.body, begun.plan)
    except Unreadable:
        return begun  # a cache: the log has it all
    return state if state.events == stored.head.position else begun


def read_store(where: str | Path | Address) -> Reader:
    """Open a study to look at it; nothing is locked and nothing can be written."""
    address = Address.parse(where)
    with locked_is_misuse(address):
        return Reader(address, open_engine(address, writable=False))


def peek_store(where: str | Path | Address) -> Reader:
    """The same without the integrity check: for a look at a few rows, each checked by its digest.

    A file that is opened so is not changed even when it is closed: its write-ahead log stays.
    """
    address = Address.parse(where)
    if address.file is not None:
        inspect_file(address.file)
    engine = engine_of(address, writable=False, patience_s=PATIENCE_S)
    try:
        with locked_is_misuse(address), naming_faults(address):
            check_format(engine, address)
    except BaseException:
        engine.dispose()
        raise
    return Reader(address, engine)
