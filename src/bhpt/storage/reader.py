"""A study opened for reading: nothing is locked and nothing can be written."""

import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Engine

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
from bhpt.storage.schema import FIRST_DIGEST, chain
from bhpt.study import decode_event
from bhpt.study.events import Event, StudyCreated

_AT_ONCE = 1000  # rows that are fetched at a time
_IDENTITY = 16  # hexadecimal digits of a study's identity


def new_identity() -> str:
    """Random text that no other study has."""
    return secrets.token_hex(_IDENTITY // 2)


class Reader(Closing):
    """A study opened for reading."""

    def __init__(self, address: Address, engine: Engine) -> None:
        self._address = address
        self._engine = engine

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

    def read_recorded(self, after: int = 0) -> list[tuple[Event, str]]:
        """Events with the wall-clock time (ISO 8601, UTC) at which they were written."""
        return list(self.stream(after))

    def stream(self, after: int = 0) -> Iterator[tuple[Event, str]]:
        """The same one by one: a long study is never in memory as rows and as events at once.

        All of them are of one moment. The study must not be written to by this process before
        the last one was taken.
        """
        study = self._address.study
        with naming_faults(self._address), self._engine.begin() as connection:
            previous = required_digest(connection, self._address, after)
            rows = connection.execute(
                ROWS, {"study": study, "after": after}, execution_options={"yield_per": _AT_ONCE}
            )
            for place, (position, body, digest, recorded) in enumerate(rows, start=after + 1):
                if position != place or chain(previous, body) != digest:
                    raise Damaged(
                        f"{self._address} is damaged at event {place}: restore it from a copy"
                    )
                previous = digest
                yield decode_event(body), recorded

    def identity(self) -> str:
        """Text that no other study has, wherever this one is kept and whatever its name.

        A study of before identities were noted is known by its first event and the moment at
        which that was written.

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
        study = self._address.study
        with naming_faults(self._address), self._engine.begin() as connection:
            found = connection.execute(ROWS, {"study": study, "after": 0})
            rows = [EventRow(row.position, row.recorded, row.body, row.digest) for row in found]
        previous = FIRST_DIGEST
        for place, row in enumerate(rows, start=1):
            if row.position != place or chain(previous, row.body) != row.digest:
                raise Damaged(
                    f"{self._address} is damaged at event {place}: restore it from a copy"
                )
            previous = row.digest
        return rows

    def lease(self) -> Lease:
        """Who holds the study now."""
        with naming_faults(self._address), self._engine.begin() as connection:
            return read_lease(connection, self._address)

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()


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
