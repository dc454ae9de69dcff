"""The stored state of a study: a row beside its events, from which reading goes on.

It is a cache. A row counts only if it names an event of the log by its place and its digest, which
covers all events before it; if its own digest is right; and if this version of the code wrote it.
Whatever else is there is as good as nothing, and the log is read from its first event.
"""

import hashlib
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from bhpt.storage.address import Address
from bhpt.storage.event_rows import Head, digest_at
from bhpt.storage.schema import states
from bhpt.study import stored_state


@dataclass(frozen=True, slots=True)
class StateRow:
    """A stored state.

    Attributes:
        head: The last event that it was folded from.
        body: See `stored_state.encode_state`.
    """

    head: Head
    body: bytes

    def digest(self) -> str:
        """Covers all of it, and the version of the code that reads it."""
        text = f"{stored_state.VERSION}\n{self.head.position}\n{self.head.digest}\n"
        return hashlib.sha256(text.encode() + self.body).hexdigest()


def read_state(connection: Connection, address: Address) -> StateRow | None:
    """The stored state that fits the log; None if there is none."""
    if not connection.dialect.has_table(connection, states.name):
        return None  # made by an earlier version
    query = select(states).where(states.c.study == address.study)
    row = connection.execute(query).one_or_none()
    if row is None or not isinstance(row.body, bytes) or not isinstance(row.position, int):
        return None
    found = StateRow(Head(row.position, row.event), row.body)
    if row.position < 1 or found.digest() != row.digest:
        return None
    return found if digest_at(connection, address, row.position) == row.event else None


def write_state(connection: Connection, address: Address, row: StateRow) -> None:
    """Keep a state in place of the one before."""
    states.create(connection, checkfirst=True)  # a study of an earlier version has no such table
    connection.execute(delete(states).where(states.c.study == address.study))
    connection.execute(
        insert(states).values(
            study=address.study,
            position=row.head.position,
            event=row.head.digest,
            digest=row.digest(),
            body=row.body,
        )
    )


def remove_state(connection: Connection, address: Address) -> None:
    """Forget the state of a study."""
    if connection.dialect.has_table(connection, states.name):
        connection.execute(delete(states).where(states.c.study == address.study))
