"""The rows of a study in a database: events and the lease, read and written on a connection.

Each row's digest covers all before it. Nothing here opens a database or names its faults.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from bhpt.storage.address import Address
from bhpt.storage.errors import Damaged
from bhpt.storage.holder import Holder
from bhpt.storage.schema import FIRST_DIGEST, chain, events, leases
from bhpt.study import Conflict

NOBODY = ""
"""The stored holder of a lease that is free."""

# built once, since every unit appends
_FROM = (
    select(events.c.position, events.c.digest)
    .where(events.c.study == bindparam("study"), events.c.position >= bindparam("position"))
    .order_by(events.c.position)
)
ROWS = (
    select(events.c.position, events.c.body, events.c.digest, events.c.recorded)
    .where(events.c.study == bindparam("study"), events.c.position > bindparam("after"))
    .order_by(events.c.position)
)
INSERT = insert(events)
_LEASE = select(leases.c.token, leases.c.holder, leases.c.beat, leases.c.clock).where(
    leases.c.study == bindparam("study")
)
_LEASE_LOCKED = _LEASE.with_for_update()
BEAT = (
    update(leases)
    .where(leases.c.study == bindparam("of"), leases.c.token == bindparam("with"))
    .values(beat=leases.c.beat + 1, clock=bindparam("at"))
)


@dataclass(frozen=True, slots=True)
class Lease:
    """Who may write.

    Attributes:
        token: Grows by one at each takeover.
        holder: The driver, None if the lease is free.
        beat: Counts renewals.
        clock: The study's clock at the last renewal.
    """

    token: int
    holder: Holder | None
    beat: int
    clock: float


class EventRow(NamedTuple):
    """One event as it is stored.

    Attributes:
        position: Counted from 1.
        recorded: When it was written, ISO 8601 in UTC.
        body: Its JSON.
        digest: Covers it and all before.
    """

    position: int
    recorded: str
    body: str
    digest: str


@dataclass(frozen=True, slots=True)
class Head:
    """The last event of a log.

    Attributes:
        position: How many events there are.
        digest: Of the last one, which covers all before it.
    """

    position: int
    digest: str


def extend(
    connection: Connection, address: Address, bodies: Sequence[str], expected: int
) -> tuple[Head, bool]:
    """Insert events after the first `expected` ones.

    Returns:
        The last event, and whether these were new: the same events may be there already.

    Raises:
        Conflict: There are not exactly `expected` events before them.
    """
    place = {"study": address.study, "position": expected}
    there = [tuple(row) for row in connection.execute(_FROM, place)]
    before = Head(0, FIRST_DIGEST)
    if expected:
        if not there or there[0][0] != expected:
            raise Conflict(f"{address} has fewer than {expected} events")
        before = Head(*there.pop(0))
    if not there:
        return insert_after(connection, address, bodies, before), True
    rows = _chained(address, bodies, before)
    if [(row["position"], row["digest"]) for row in rows] == there:
        return Head(*there[-1]), False
    raise Conflict(f"{address} has {there[-1][0]} events, not {expected}")


def insert_after(
    connection: Connection, address: Address, bodies: Sequence[str], before: Head
) -> Head:
    """Insert events after the last one, which the caller knows; returns the new last one."""
    rows = _chained(address, bodies, before)
    if not rows:
        return before
    connection.execute(INSERT, rows)
    return Head(before.position + len(rows), str(rows[-1]["digest"]))


def _chained(address: Address, bodies: Sequence[str], before: Head) -> list[dict[str, object]]:
    """Events as rows, each with a digest that covers all before it."""
    recorded = datetime.now(UTC).isoformat(timespec="milliseconds")
    rows: list[dict[str, object]] = []
    previous = before.digest
    for position, body in enumerate(bodies, start=before.position + 1):
        previous = chain(previous, body)
        row = {"study": address.study, "position": position, "recorded": recorded}
        rows.append({**row, "body": body, "digest": previous})
    return rows


def required_digest(connection: Connection, address: Address, position: int) -> str:
    """The digest of the event at a position.

    Raises:
        Conflict: There is no such event.
    """
    digest = digest_at(connection, address, position)
    if digest is None:
        raise Conflict(f"{address} has fewer than {position} events")
    return digest


def digest_at(connection: Connection, address: Address, position: int) -> str | None:
    """The digest of the event at a position, counted from 1; None if there is none."""
    if position == 0:
        return FIRST_DIGEST
    query = select(events.c.digest).where(
        events.c.study == address.study, events.c.position == position
    )
    digest = connection.execute(query).scalar()
    return None if digest is None else str(digest)


def last_event(connection: Connection, address: Address) -> Head:
    """The position and the digest of the last event."""
    query = (
        select(events.c.position, events.c.digest)
        .where(events.c.study == address.study)
        .order_by(events.c.position.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return Head(0, FIRST_DIGEST) if row is None else Head(row.position, row.digest)


def read_lease(connection: Connection, address: Address, *, locked: bool = False) -> Lease:
    """The lease of a study.

    Args:
        connection: To the database.
        address: The study.
        locked: Whether the row stays locked until the transaction ends.

    Raises:
        Damaged: It is missing or cannot be read.
    """
    query = _LEASE_LOCKED if locked else _LEASE
    row = connection.execute(query, {"study": address.study}).one_or_none()
    if row is None:
        raise Damaged(f"{address} is damaged: its lease is missing; restore it from a copy")
    try:
        holder = None if row.holder == NOBODY else Holder.from_text(row.holder)
        return Lease(int(row.token), holder, int(row.beat), float(row.clock))
    except (ValueError, TypeError) as error:
        raise Damaged(
            f"{address} is damaged: its lease cannot be read ({error}); restore it from a copy"
        ) from None
