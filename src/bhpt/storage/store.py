"""The store: a two-method log with an exclusive writer, on SQLite or PostgreSQL.

The driver is the one writer. It holds a lease with a token that grows by one at each takeover;
every append checks the token in its own transaction, so a driver that was taken for dead can
never write again. Readers hold nothing.
"""

import hashlib
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, Engine, bindparam, create_engine, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from bhpt.domain import Misuse
from bhpt.domain.closing import Closing
from bhpt.storage.address import Address
from bhpt.storage.collecting import not_collecting
from bhpt.storage.errors import (
    Damaged,
    InUse,
    Removed,
    StoreFailed,
    Unreachable,
    naming_faults,
)
from bhpt.storage.files import (
    check_file,
    create_file,
    exists,
    file_engine,
    inspect_file,
    write_back,
)
from bhpt.storage.holder import Holder
from bhpt.storage.schema import FIRST_DIGEST, FORMAT, chain, events, leases, metadata, studies
from bhpt.study import Busy, Conflict, Fenced, NewerVersion, decode_event, encode_event
from bhpt.study.events import Event, StudyCreated

PATIENCE_S = 60.0
"""How long to wait for somebody else's lock on the database, where nothing else can be done."""

_NOBODY = ""

_open_here: set[tuple[str, int]] = set()
"""Leases that this process holds: one that a full disk kept from being released is not held."""

# built once, since every unit appends
_FROM = (
    select(events.c.position, events.c.digest)
    .where(events.c.study == bindparam("study"), events.c.position >= bindparam("position"))
    .order_by(events.c.position)
)
_ROWS = (
    select(events.c.position, events.c.body, events.c.digest, events.c.recorded)
    .where(events.c.study == bindparam("study"), events.c.position > bindparam("after"))
    .order_by(events.c.position)
)
_AT_ONCE = 1000  # rows that are fetched at a time
_WRITE_BACK_S = 1.0  # between two copies of the write-ahead log to the main file
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0  # between two tries to reach a server
_IDENTITY = 16  # hexadecimal digits of a study's identity
_INSERT = insert(events)
_LEASE = select(leases.c.token, leases.c.holder, leases.c.beat, leases.c.clock).where(
    leases.c.study == bindparam("study")
)
_LEASE_LOCKED = _LEASE.with_for_update()
_BEAT = (
    update(leases)
    .where(leases.c.study == bindparam("of"))
    .values(beat=leases.c.beat + 1, clock=bindparam("at"))
)


@dataclass(frozen=True, slots=True)
class Lease:
    """Who may write.

    Attributes:
        token: Grows by one at each takeover.
        holder: The driver, None if nobody holds the study.
        beat: Counts renewals.
        clock: The study's clock at the last renewal.
    """

    token: int
    holder: Holder | None
    beat: int
    clock: float


@dataclass(frozen=True, slots=True)
class EventRow:
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
        with not_collecting():
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
            previous = _digest_at(connection, self._address, after)
            rows = connection.execute(
                _ROWS, {"study": study, "after": after}, execution_options={"yield_per": _AT_ONCE}
            )
            for place, (position, body, digest, recorded) in enumerate(rows, start=after + 1):
                if position != place or chain(previous, body) != digest:
                    raise Damaged(
                        f"{self._address} is damaged at event {place}: restore it from a copy"
                    )
                previous = digest
                yield decode_event(body), recorded

    def identity(self) -> str:
        """What tells this study from every other, wherever it is kept and whatever its name.

        A study of before identities were noted is known by its first event and the moment at
        which that was written.

        Raises:
            Damaged: The first event is missing.
        """
        with naming_faults(self._address), self._engine.begin() as connection:
            query = {"study": self._address.study, "after": 0}
            row = connection.execute(_ROWS.limit(1), query).one_or_none()
        if row is None:
            raise Damaged(f"{self._address} is damaged at event 1: restore it from a copy")
        first = decode_event(row.body)
        if isinstance(first, StudyCreated) and first.identity:
            return first.identity
        return hashlib.sha256(f"{row.digest}\n{row.recorded}".encode()).hexdigest()[:_IDENTITY]

    def head(self) -> Head:
        """The last event."""
        with naming_faults(self._address), self._engine.begin() as connection:
            return _head(connection, self._address)

    def digest_at(self, position: int) -> str | None:
        """The digest of the event at a position, counted from 1; None if there is none."""
        with naming_faults(self._address), self._engine.begin() as connection:
            return _digest(connection, self._address, position)

    def rows(self) -> list[EventRow]:
        """All events as they are stored, each checked against the one before."""
        study = self._address.study
        with naming_faults(self._address), self._engine.begin() as connection:
            found = connection.execute(_ROWS, {"study": study, "after": 0})
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
            return _lease(connection, self._address)

    def close(self) -> None:
        """Close the database."""
        self._engine.dispose()


class Store(Reader):
    """A study that this process alone may write to, until it lets go or is fenced out."""

    def __init__(self, address: Address, engine: Engine, token: int, seen: Lease) -> None:
        super().__init__(address, engine)
        self._token = token
        self._seen = seen
        self._head: Head | None = None
        self._retry_at = float("-inf")
        self._pause_s = _FIRST_PAUSE_S
        self._written_back = float("-inf")
        self._inode = _inode(address)
        self._write_back()
        _open_here.add((str(address), token))

    @property
    def before(self) -> Lease:
        """The lease as it was before this driver took it: how the last one ended."""
        return self._seen

    def append(self, added: Sequence[Event], expected: int) -> None:
        """Add events after the first `expected` ones, in one transaction.

        Appending what is already there at that place is no error: the answer to the first try
        may have been lost.

        Raises:
            Busy: The store is locked; nothing was written, try again.
            Conflict: There are not exactly `expected` events.
            Fenced: Another driver has taken over.
            StoreFailed: It cannot be written at all.
        """
        bodies = [encode_event(event) for event in added]
        clock = max((getattr(event, "clock", 0.0) for event in added), default=0.0)
        with self._reaching(), self._engine.begin() as connection:
            self._require_token(connection)
            head, is_new = _extend(connection, self._address, bodies, expected)
            if is_new:
                self._beat(connection, clock)
        self._head = head
        self._write_back(_WRITE_BACK_S)

    def head(self) -> Head:
        """The last event; nobody else can have added one."""
        if self._head is None:
            self._head = super().head()
        return self._head

    def renew(self, clock: float) -> None:
        """Renew the lease and store the study's clock.

        Raises:
            Busy: The store is locked.
            Fenced: Another driver has taken over.
        """
        with self._reaching(), self._engine.begin() as connection:
            self._require_token(connection)
            self._beat(connection, clock)
        self._write_back(_WRITE_BACK_S)

    def release(self) -> None:
        """Release the lease, so that the next driver can take it at once."""
        with naming_faults(self._address), self._engine.begin() as connection:
            connection.execute(
                update(leases)
                .where(leases.c.study == self._address.study, leases.c.token == self._token)
                .values(holder=_NOBODY)
            )

    def erase(self) -> None:
        """Remove the study for good, and close the database.

        Raises:
            Busy: The store is locked; nothing was removed.
            Fenced: Another driver has taken over.
        """
        file = self._address.file
        with self._reaching(), self._engine.begin() as connection:
            self._require_token(connection)
            for table in (events, leases, studies):
                connection.execute(delete(table).where(table.c.study == self._address.study))
        if file is not None:
            self._engine.dispose()
            for suffix in ("", "-wal", "-shm"):
                file.with_name(file.name + suffix).unlink(missing_ok=True)

    def verify(self) -> None:
        """Make sure at the end of a session that the next one finds all of it in the file.

        Raises:
            Damaged: The file is not sound any more, or lacks what was acknowledged.
            Removed: It is not there any more.
        """
        if self._address.file is None:
            return
        self._require_file(self._address.file)
        with suppress(InUse), read_store(self._address) as reader:
            if reader.head() != self.head():
                raise Damaged(f"{self._address} lacks its last events: restore it from a copy")

    def close(self) -> None:
        """Release the lease and close the database."""
        try:
            self.release()
            self._write_back()
        except (Busy, StoreFailed):
            pass  # the next driver sees that this process is gone, as after a kill
        finally:
            _open_here.discard((str(self._address), self._token))
            self._engine.dispose()

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Convert errors; a server that is away is asked again less and less often.

        Raises:
            Unreachable: It is away, or was a moment ago.
        """
        if time.monotonic() < self._retry_at:
            raise Unreachable(f"{self._address} cannot be reached")
        try:
            with naming_faults(self._address):
                yield
        except Unreachable:
            self._retry_at = time.monotonic() + self._pause_s
            self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
            raise
        self._pause_s = _FIRST_PAUSE_S

    def _write_back(self, every_s: float = 0.0) -> None:
        """Let the main file have what is in the write-ahead log, at most every so often.

        Whoever copies the main file alone then loses a second or two of events at most, and the
        study's folder tells that they are missing.
        """
        now = time.monotonic()
        if self._address.file is None or now - self._written_back < every_s:
            return
        self._written_back = now
        self._require_file(self._address.file)
        write_back(self._engine, self._address.file)

    def _require_file(self, file: Path) -> None:
        """Notice that the file is not the one that is written to; what was written is copied.

        Raises:
            Removed: It was removed, or another one is in its place.
        """
        if _inode(self._address) == self._inode:
            return
        copy = file.with_name(f"{file.name}.rescued")
        try:
            copy_store(self.rows(), self.lease().clock, copy)
        except (Misuse, StoreFailed, OSError) as error:
            raise Removed(
                f"{file} was removed or replaced while the study ran, and could not be copied to "
                f"{copy} ({error}): restore it from a copy"
            ) from error
        raise Removed(
            f"{file} was removed or replaced while the study ran; all of it is in {copy}: remove "
            f"{file.name}-wal and {file.name}-shm, rename {copy.name} to {file.name} and resume"
        )

    def _require_token(self, connection: Connection) -> None:
        lease = _lease(connection, self._address, locked=True)
        if lease.token != self._token:
            who = "nobody" if lease.holder is None else str(lease.holder)
            raise Fenced(f"{self._address} was taken over by {who}: this driver must stop")

    def _beat(self, connection: Connection, clock: float) -> None:
        connection.execute(_BEAT, {"of": self._address.study, "at": clock})


def _inode(address: Address) -> tuple[int, int] | None:
    """What tells the file of a study from another one in its place; None if there is none."""
    if address.file is None or not address.file.exists():
        return None
    found = address.file.stat()
    return found.st_dev, found.st_ino


def create_store(
    where: str | Path | Address, first: Sequence[Event], patience_s: float = PATIENCE_S
) -> Store:
    """Create a study with its first events and take its lease.

    Args:
        where: A new file, or an address.
        first: Its first events.
        patience_s: How long an append waits for somebody else's lock on the database.

    Raises:
        Exists: There is one already; it is not touched.
        Misuse: It cannot be created there.
    """
    address = Address.parse(where)
    bodies = [encode_event(event) for event in first]
    if address.file is not None:
        create_file(address.file, lambda engine: _create(engine, address, bodies))
    else:
        engine = server_engine(address, PATIENCE_S)
        try:
            _create(engine, address, bodies)
        finally:
            engine.dispose()
    return open_store(address, patience_s)


def copy_store(rows: Sequence[EventRow], clock: float, file: Path) -> Head:
    """Make a new SQLite file, which nobody holds, of the events of another study.

    Args:
        rows: See `Reader.rows`.
        clock: The study's clock when its driver last said so.
        file: Nothing may be there.

    Returns:
        The last event of the copy.

    Raises:
        Exists: There is something already.
    """
    address = Address.parse(file)

    def fill(engine: Engine) -> None:
        _create(engine, address, (), clock)
        with naming_faults(address), engine.begin() as connection:
            connection.execute(_INSERT, [{"study": address.study, **asdict(row)} for row in rows])

    create_file(file, fill)
    return Head(rows[-1].position, rows[-1].digest) if rows else Head(0, FIRST_DIGEST)


def open_store(
    where: str | Path | Address,
    patience_s: float = PATIENCE_S,
    stale_s: float = 60.0,
    sleep: Callable[[float], None] = time.sleep,
) -> Store:
    """Open a study to write to it.

    Args:
        where: Its file or address.
        patience_s: How long an append waits for somebody else's lock on the database.
        stale_s: Seconds without a renewal after which a holder on another machine counts as dead.
        sleep: Waits for so many seconds.

    Raises:
        InUse: Another driver holds it.
        Damaged: It is not a sound study.
        NewerVersion: A newer bhpt wrote it.
        Misuse: There is none.
    """
    address = Address.parse(where)
    with _locked_is_misuse(address):
        engine = _open_engine(address, writable=True)
        try:
            before = _watch(engine, address, stale_s, sleep)
            token = _take(engine, address, before)
        finally:
            engine.dispose()
    return Store(address, _engine(address, writable=True, patience_s=patience_s), token, before)


def read_store(where: str | Path | Address) -> Reader:
    """Open a study to look at it; nothing is locked and nothing can be written."""
    address = Address.parse(where)
    with _locked_is_misuse(address):
        return Reader(address, _open_engine(address, writable=False))


def peek_store(where: str | Path | Address) -> Reader:
    """The same without the integrity check: for a look at a few rows, each checked by its digest.

    A file that is opened so is not changed even when it is closed: its write-ahead log stays.
    """
    address = Address.parse(where)
    if address.file is not None:
        inspect_file(address.file)
    engine = _engine(address, writable=False, patience_s=PATIENCE_S)
    try:
        with _locked_is_misuse(address), naming_faults(address):
            _check_format(engine, address)
    except BaseException:
        engine.dispose()
        raise
    return Reader(address, engine)


@contextmanager
def _locked_is_misuse(address: Address) -> Iterator[None]:
    """Convert Busy to InUse while a store is opened, when no caller could wait any longer."""
    try:
        yield
    except Unreachable as error:
        raise StoreFailed(f"{error}: what was acknowledged is safe, resume later") from error
    except Busy:
        raise InUse(f"{address} is locked by another program: try again later") from None


def _engine(address: Address, *, writable: bool, patience_s: float) -> Engine:
    if address.file is None:
        return server_engine(address, patience_s)
    return file_engine(address.file, writable=writable, patience_s=patience_s)


def _open_engine(address: Address, *, writable: bool) -> Engine:
    """An engine on a study, after its format and integrity were checked."""
    if address.file is not None:
        inspect_file(address.file)
    engine = _engine(address, writable=writable, patience_s=PATIENCE_S)
    try:
        with naming_faults(address):
            if address.file is not None:
                check_file(engine, address.file)
            _check_format(engine, address)
    except BaseException:
        engine.dispose()
        raise
    return engine


def server_engine(address: Address, patience_s: float = PATIENCE_S) -> Engine:
    """An engine on PostgreSQL with the same lock timeout as for SQLite."""
    wait = max(1, round(patience_s * 1000))
    return create_engine(
        address.url,
        pool_size=1,
        max_overflow=0,
        pool_pre_ping=True,
        connect_args={"options": f"-c lock_timeout={wait}", "connect_timeout": 10},
    )


def _create(engine: Engine, address: Address, bodies: Sequence[str], clock: float = 0.0) -> None:
    try:
        with naming_faults(address), engine.begin() as connection:
            metadata.create_all(connection)
            connection.execute(insert(studies).values(study=address.study, format=FORMAT))
            connection.execute(
                insert(leases).values(
                    study=address.study, token=0, holder=_NOBODY, beat=0, clock=clock
                )
            )
            _extend(connection, address, bodies, 0)
    except Misuse:
        raise
    except RuntimeError as error:
        if isinstance(error.__cause__, IntegrityError):
            raise exists(address) from None
        raise


def _check_format(engine: Engine, address: Address) -> None:
    with engine.begin() as connection:
        if not engine.dialect.has_table(connection, studies.name):
            raise Misuse(f"there is no study {address}: create it with `bhpt tune`")
        version = connection.execute(
            select(studies.c.format).where(studies.c.study == address.study)
        ).scalar()
    if version is None:
        raise Misuse(f"there is no study {address}: create it with `bhpt tune`")
    if not isinstance(version, int):
        raise Damaged(f"{address} is damaged ({version!r} is no format): restore it from a copy")
    if version > FORMAT:
        raise NewerVersion(f"{address} was written by a newer version of bhpt: use that one")


def _extend(
    connection: Connection, address: Address, bodies: Sequence[str], expected: int
) -> tuple[Head, bool]:
    """Insert events after the first `expected` ones; the last one, and whether they were new."""
    place = {"study": address.study, "position": expected}
    there = [tuple(row) for row in connection.execute(_FROM, place)]
    previous = FIRST_DIGEST
    if expected:
        if not there or there[0][0] != expected:
            raise Conflict(f"{address} has fewer than {expected} events")
        previous = there.pop(0)[1]
    recorded = datetime.now(UTC).isoformat(timespec="milliseconds")
    rows = []
    for position, body in enumerate(bodies, start=expected + 1):
        previous = chain(previous, body)
        rows.append(
            {
                "study": address.study,
                "position": position,
                "recorded": recorded,
                "body": body,
                "digest": previous,
            }
        )
    head = Head(expected + len(rows), previous)
    if there:
        if [(row["position"], row["digest"]) for row in rows] == there:
            return head, False
        raise Conflict(f"{address} has {there[-1][0]} events, not {expected}")
    if rows:
        connection.execute(_INSERT, rows)
    return head, True


def _digest_at(connection: Connection, address: Address, position: int) -> str:
    """The digest of the event at a position, of which there must be one."""
    digest = _digest(connection, address, position)
    if digest is None:
        raise Conflict(f"{address} has fewer than {position} events")
    return digest


def _digest(connection: Connection, address: Address, position: int) -> str | None:
    if position == 0:
        return FIRST_DIGEST
    query = select(events.c.digest).where(
        events.c.study == address.study, events.c.position == position
    )
    digest = connection.execute(query).scalar()
    return None if digest is None else str(digest)


def _head(connection: Connection, address: Address) -> Head:
    query = (
        select(events.c.position, events.c.digest)
        .where(events.c.study == address.study)
        .order_by(events.c.position.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return Head(0, FIRST_DIGEST) if row is None else Head(row.position, row.digest)


def _lease(connection: Connection, address: Address, *, locked: bool = False) -> Lease:
    query = _LEASE_LOCKED if locked else _LEASE
    row = connection.execute(query, {"study": address.study}).one_or_none()
    if row is None:
        raise Damaged(f"{address} is damaged: its lease is missing; restore it from a copy")
    try:
        holder = None if row.holder == _NOBODY else Holder.from_text(row.holder)
        return Lease(int(row.token), holder, int(row.beat), float(row.clock))
    except (ValueError, TypeError) as error:
        raise Damaged(
            f"{address} is damaged: its lease cannot be read ({error}); restore it from a copy"
        ) from None


def _watch(
    engine: Engine, address: Address, stale_s: float, sleep: Callable[[float], None]
) -> Lease:
    """Wait until no living driver holds the study; returns its lease.

    No clocks are compared: a holder on another machine counts as dead if its beat does not change
    within `stale_s`.

    Raises:
        InUse: A driver holds it.
    """
    first = _read_lease(engine, address)
    if first.holder is None:
        return first
    alive = first.holder.is_alive()
    if first.holder == Holder.me():
        alive = (str(address), first.token) in _open_here
    if alive is False:
        return first
    if alive is None:
        sleep(stale_s)
        again = _read_lease(engine, address)
        if again == first or again.holder is None:
            return again
    raise InUse(f"{address} is in use by {first.holder}: stop it first, or wait until it is done")


def _read_lease(engine: Engine, address: Address) -> Lease:
    with naming_faults(address), engine.begin() as connection:
        return _lease(connection, address)


def _take(engine: Engine, address: Address, seen: Lease) -> int:
    """Take the lease.

    Returns:
        The new token.

    Raises:
        InUse: Another driver has taken it since `seen` was read.
    """
    with naming_faults(address), engine.begin() as connection:
        now = _lease(connection, address, locked=True)
        if now.token != seen.token:
            raise InUse(f"{address} was just taken by {now.holder}: wait until it is done")
        connection.execute(
            update(leases)
            .where(leases.c.study == address.study)
            .values(token=now.token + 1, holder=Holder.me().to_text(), beat=now.beat + 1)
        )
    return now.token + 1
