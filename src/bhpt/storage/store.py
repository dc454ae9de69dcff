"""The store: a two-method log with an exclusive writer, in a file or on a server.

The driver is the one writer. It holds a lease with a token that grows by one at each takeover;
every append checks the token in its own transaction, so a driver that was taken for dead can
never write again. Readers hold nothing.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, Engine, delete, update

from bhpt.domain import Misuse
from bhpt.storage.address import Address
from bhpt.storage.creation import copy_store, create_tables
from bhpt.storage.engines import PATIENCE_S, engine_of, locked_is_misuse, open_engine
from bhpt.storage.errors import Damaged, InUse, Removed, StoreFailed, Unreachable
from bhpt.storage.event_rows import BEAT, NOBODY, Head, Lease, extend, insert_after, read_lease
from bhpt.storage.faults import naming_faults
from bhpt.storage.files import create_file, write_back
from bhpt.storage.holder import Holder
from bhpt.storage.reader import Reader, read_store
from bhpt.storage.schema import events, leases, studies
from bhpt.storage.state_rows import StateRow, remove_state, write_state
from bhpt.study import Busy, Fenced, State, encode_event
from bhpt.study.events import Event, StudyCreated
from bhpt.study.log import FoldingLog
from bhpt.study.stored_state import encode_state, with_packs

_open_here: set[tuple[object, int]] = set()
"""Leases that this process holds: one that a full disk kept from being released is not held.

A file is known by its inode, by whichever path it was reached, a server by its address.
"""

_WRITE_BACK_S = 1.0  # between two copies of the write-ahead log to the main file
_FEW, _PART = 2000, 8  # a state is stored after so many events, and after a part of those before
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0  # between two tries to reach a server


class Store(Reader, FoldingLog):
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
        self._stored = 0
        self._write_back()
        self._held = _place(address), token
        _open_here.add(self._held)

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
        clock = max(
            (event.clock for event in added if not isinstance(event, StudyCreated)), default=0.0
        )
        before, self._head = self._head, None  # not known again until this is acknowledged
        with self._reaching(), self._engine.begin() as connection:
            if before is not None and before.position == expected:
                self._beat(connection, clock)
                head = insert_after(connection, self._address, bodies, before)
            else:
                self._require_token(connection)
                head, is_new = extend(connection, self._address, bodies, expected)
                if is_new:
                    self._beat(connection, clock)
        self._head = head
        self._write_back(_WRITE_BACK_S)

    def fold(self) -> State:
        """The state after all events."""
        found = self.folded()
        self._stored = found.stored
        return found.state

    def keep(self, state: State) -> State:
        """Keep the state after all events, once there are enough that it was not folded from.

        A store that is locked or full keeps none this time: the next append says what is wrong
        with it.

        Returns:
            The same state; what it has of attempts that ended is packed as it is stored.

        Raises:
            Fenced: Another driver has taken over.
        """
        if state.events - self._stored < max(_FEW, self._stored // _PART):
            return state
        self._stored = state.events  # if it fails now, it is tried again after as many events
        lighter = with_packs(state)
        row = StateRow(self.head(), encode_state(lighter))
        with suppress(Busy, StoreFailed), self._reaching(), self._engine.begin() as connection:
            self._require_token(connection)
            write_state(connection, self._address, row)
        return lighter

    def head(self) -> Head:
        """The last event; no other process can have added one."""
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
            self._beat(connection, clock)
        self._write_back(_WRITE_BACK_S)

    def release(self) -> None:
        """Release the lease, so that the next driver can take it at once."""
        with naming_faults(self._address), self._engine.begin() as connection:
            connection.execute(
                update(leases)
                .where(leases.c.study == self._address.study, leases.c.token == self._token)
                .values(holder=NOBODY)
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
            remove_state(connection, self._address)
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
            _open_here.discard(self._held)
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

        A copy of the main file alone then lacks a second or two of events at most, and the mark in
        the study's folder shows that they are missing.
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
        lease = read_lease(connection, self._address, locked=True)
        if lease.token != self._token:
            who = "nobody" if lease.holder is None else str(lease.holder)
            raise Fenced(f"{self._address} was taken over by {who}: this driver must stop")

    def _beat(self, connection: Connection, clock: float) -> None:
        """Renew the lease, which is locked from here on.

        Raises:
            Fenced: Another driver has taken over.
        """
        query = {"of": self._address.study, "with": self._token, "at": clock}
        if connection.execute(BEAT, query).rowcount != 1:
            self._require_token(connection)


def _inode(address: Address) -> tuple[int, int] | None:
    """Device and inode of the study's file, which another file in its place does not have."""
    if address.file is None or not address.file.exists():
        return None
    found = address.file.stat()
    return found.st_dev, found.st_ino


def _place(address: Address) -> object:
    """What two addresses of one database have in common."""
    return _inode(address) or str(address)


def create_store(
    where: str | Path | Address, first: Sequence[Event], patience_s: float = PATIENCE_S
) -> Store:
    """Create a study with its first events and take its lease.

    Args:
        where: A new file, or an address.
        first: Its first events.
        patience_s: How long an append waits for another process's lock on the database.

    Raises:
        Exists: There is one already; it is not touched.
        Misuse: It cannot be created there.
    """
    address = Address.parse(where)
    bodies = [encode_event(event) for event in first]
    if address.file is not None:
        create_file(address.file, lambda engine: create_tables(engine, address, bodies))
    else:
        engine = engine_of(address, writable=True, patience_s=PATIENCE_S)
        try:
            create_tables(engine, address, bodies)
        finally:
            engine.dispose()
    return open_store(address, patience_s)


def open_store(
    where: str | Path | Address,
    patience_s: float = PATIENCE_S,
    stale_s: float = 60.0,
    sleep: Callable[[float], None] = time.sleep,
) -> Store:
    """Open a study to write to it.

    Args:
        where: Its file or address.
        patience_s: How long an append waits for another process's lock on the database.
        stale_s: Seconds without a renewal after which a holder on another machine counts as dead.
        sleep: Waits for so many seconds.

    Raises:
        InUse: Another driver holds it.
        Damaged: It is not a sound study.
        NewerVersion: A newer bhpt wrote it.
        Misuse: There is none.
    """
    address = Address.parse(where)
    with locked_is_misuse(address):
        engine = open_engine(address, writable=True)
        try:
            before = _watch(engine, address, stale_s, sleep)
            token = _take(engine, address, before)
        finally:
            engine.dispose()
    return Store(address, engine_of(address, writable=True, patience_s=patience_s), token, before)


def _watch(
    engine: Engine, address: Address, stale_s: float, sleep: Callable[[float], None]
) -> Lease:
    """Wait until no living driver holds the study; returns its lease.

    No clocks are compared: a holder on another machine counts as dead if its beat does not change
    within `stale_s`.

    Raises:
        InUse: A driver holds it.
    """
    first = _lease_now(engine, address)
    if first.holder is None:
        return first
    alive = first.holder.is_alive()
    if first.holder == Holder.me():
        alive = (_place(address), first.token) in _open_here
        if alive:
            raise InUse(f"{address} is in use by {first.holder}, this very one: close() it first")
    if alive is False:
        return first
    if alive is None:
        sleep(stale_s)
        again = _lease_now(engine, address)
        if again == first or again.holder is None:
            return again
    raise InUse(f"{address} is in use by {first.holder}: stop it first, or wait until it is done")


def _lease_now(engine: Engine, address: Address) -> Lease:
    with naming_faults(address), engine.begin() as connection:
        return read_lease(connection, address)


def _take(engine: Engine, address: Address, seen: Lease) -> int:
    """Take the lease.

    Returns:
        The new token.

    Raises:
        InUse: Another driver has taken it since `seen` was read.
    """
    with naming_faults(address), engine.begin() as connection:
        now = read_lease(connection, address, locked=True)
        if now.token != seen.token:
            raise InUse(f"{address} was just taken by {now.holder}: wait until it is done")
        connection.execute(
            update(leases)
            .where(leases.c.study == address.study)
            .values(token=now.token + 1, holder=Holder.me().to_text(), beat=now.beat + 1)
        )
    return now.token + 1
