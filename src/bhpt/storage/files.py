"""SQLite files: made whole or not at all, recognised before they are opened, never overwritten.

The journal is a write-ahead log with full synchronisation: one sync a transaction makes a report
durable, and readers (status, dashboard) never make the driver wait. A kill at any moment leaves
the last whole transaction.
"""

import os
import secrets
import shlex
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Engine, NullPool, QueuePool, create_engine, event
from sqlalchemy.exc import DBAPIError

from bhpt.checkpoints.disk import sync
from bhpt.domain import Misuse
from bhpt.storage.database_server import Fault
from bhpt.storage.errors import Damaged, Exists
from bhpt.storage.schema import APPLICATION_ID, FORMAT
from bhpt.study import NewerVersion

_LOCKED = ("locked", "busy")
_BROKEN = ("malformed", "not a database", "file is encrypted", "no such", "decode", "corrupt")
_BROKEN_CODES = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_MISMATCH"})
_SHORT_READ = "SQLITE_IOERR_SHORT_READ"  # the file ends before its own header says
_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_VERSION_AT, _APPLICATION_AT = 60, 68  # offsets in SQLite's header


def file_engine(file: Path, *, writable: bool, patience_s: float) -> Engine:
    """An engine on a file that exists; it never creates one.

    Args:
        file: The study.
        writable: Whether it is opened for writing; otherwise SQLite refuses every write.
        patience_s: Seconds to wait for a lock of another process.
    """
    name, changes = f"file:{quote(str(file.absolute()))}", can_change(file)

    def connect() -> sqlite3.Connection:
        mode = "mode=rw" if writable else "mode=ro" if changes else _unchanging(file)
        connection = sqlite3.connect(
            f"{name}?{mode}",
            uri=True,
            timeout=patience_s,
            isolation_level=None,
            check_same_thread=False,
        )
        if writable:
            try:
                connection.execute("PRAGMA synchronous=FULL")
            except BaseException:
                connection.close()
                raise
        return connection

    if changes:
        engine = create_engine(
            "sqlite://", creator=connect, poolclass=QueuePool, pool_size=1, max_overflow=0
        )
    else:  # looks anew each time whether somebody writes to it elsewhere
        engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    _begin_with(engine, "BEGIN IMMEDIATE" if writable else "BEGIN")
    return engine


def can_change(file: Path) -> bool:
    """Whether a file could be written from here: not in a folder that is read-only."""
    return os.access(file.absolute().parent, os.W_OK | os.X_OK)


def _unchanging(file: Path) -> str:
    """How a file in a read-only folder is opened.

    SQLite makes files beside it even to read, unless it is told that nobody writes. Whoever writes
    from elsewhere has made them already.
    """
    return "mode=ro" if file.with_name(f"{file.name}-wal").exists() else "mode=ro&immutable=1"


def _begin_with(engine: Engine, statement: str) -> None:
    """Take the write lock at the start of a transaction, so that it cannot fail half-way."""

    def begin(connection: object) -> None:
        connection.exec_driver_sql(statement)  # type: ignore[attr-defined]

    event.listen(engine, "begin", begin)


def file_fault(error: DBAPIError) -> Fault:
    """What an error of SQLite means: a lock, a damaged file, or a disk that is full or gone."""
    words = str(error.orig).lower()
    if any(word in words for word in _LOCKED):
        return Fault.BUSY
    name = getattr(error.orig, "sqlite_errorname", "")  # not set where Python itself complains
    code = "_".join(name.split("_")[:2])
    if name == _SHORT_READ or code in _BROKEN_CODES or any(word in words for word in _BROKEN):
        return Fault.BROKEN
    return Fault.OTHER


def inspect_file(file: Path) -> None:
    """Recognise a study by its header, without touching the file.

    Raises:
        Misuse: There is none, or it is something else.
        Damaged: It is cut short.
        NewerVersion: A newer bhpt made it.
    """
    try:
        info = file.stat()
    except FileNotFoundError:
        raise Misuse(f"there is no study {file}: create it with `bhpt tune`") from None
    except OSError as error:
        raise Misuse(f"cannot read {file}: {error.strerror}") from None
    if not stat.S_ISREG(info.st_mode):
        command = shlex.join(["bhpt", "studies", str(file)])
        listed = f": `{command}` lists those in it" if stat.S_ISDIR(info.st_mode) else ""
        raise Misuse(f"{file} is not a study: it is not a plain file{listed}")
    header = _read_header(file)
    if not header:
        raise Damaged(f"{file} is empty and not a study: restore it from a copy or remove it")
    if not header.startswith(_MAGIC[: len(header)]):
        raise Misuse(f"{file} is not a bhpt study: name another file")
    if len(header) < _HEADER:
        raise Damaged(f"{file} is cut short: restore it from a copy")
    if _number(header, _APPLICATION_AT) != APPLICATION_ID:
        raise Misuse(f"{file} is a database, but not a bhpt study: name another file")
    if _number(header, _VERSION_AT) > FORMAT:
        raise NewerVersion(f"{file} was written by a newer version of bhpt: use that one")


def is_study_file(file: Path) -> bool:
    """Whether a file has the header of a study, or is named like one and was cut short."""
    try:
        inspect_file(file)
    except NewerVersion:
        return True
    except Damaged:
        return file.suffix == ".db"
    except Misuse:
        return False
    return True


def check_file(engine: Engine, file: Path) -> None:
    """Run SQLite's integrity check over the whole file.

    Raises:
        Damaged: Something is wrong with it.
    """
    with engine.connect() as connection:
        found = str(connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar())
    if found != "ok":
        line = found.splitlines()[-1]
        raise Damaged(f"{file} is damaged ({line}): restore it from a copy")


def write_back(engine: Engine, file: Path) -> None:
    """Copy what is in the write-ahead log to the main file, as far as no reader is in the way.

    It waits for no lock. Afterwards the main file alone holds every acknowledged event; where
    it is locked or the disk is full, the write-ahead log still does.

    Raises:
        Damaged: The file is not a sound database.
    """
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
    except sqlite3.OperationalError:
        return  # locked or full: the next time does it, and an append names a full disk
    except sqlite3.DatabaseError as error:
        raise Damaged(f"{file} is damaged ({error}): restore it from a copy") from error
    finally:
        connection.close()


def create_file(file: Path, fill: Callable[[Engine], None]) -> None:
    """Make a study file in one step: it appears complete and synced, or not at all.

    Args:
        file: Its final name; nothing may be there.
        fill: Creates and fills the tables.

    Raises:
        Exists: There is something already; it is not touched.
        Misuse: The folder cannot be written.
    """
    if os.path.lexists(file):
        raise exists(file)
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        raise Misuse(f"cannot create {file}: {error.strerror}; name another folder") from None
    try:
        _fill(temporary, fill)
        os.link(temporary, file)
    except FileExistsError:
        raise exists(file) from None
    finally:
        temporary.unlink()
    sync(file.parent)


def exists(file: object) -> Exists:
    """The error for a study that exists already, or for what else is in its place."""
    place = Path(str(file))
    if place.is_dir():
        return Exists(f"{file} is a folder: name a file in it, such as {place / 'net.db'}")
    if place.exists() and not is_study_file(place):
        return Exists(f"{file} exists already and is no study: name another file")
    command = shlex.join(["bhpt", "resume", str(file)])
    return Exists(
        f"{file} exists already: go on with `{command}`, in Python with "
        f'if_exists="resume" or bhpt.open_study, or name another study'
    )


def _fill(file: Path, fill: Callable[[Engine], None]) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={FORMAT}")
        connection.execute("PRAGMA journal_mode=WAL")
    engine = file_engine(file, writable=True, patience_s=0.0)
    try:
        fill(engine)
    finally:
        engine.dispose()


def _read_header(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(_HEADER)
    except OSError as error:
        raise Misuse(f"cannot read {file}: {error.strerror}") from None


def _number(header: bytes, at: int) -> int:
    return int.from_bytes(header[at : at + 4], "big")
