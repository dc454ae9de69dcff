"""Faults of a store, each with one clear line."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, OperationalError

from bhpt.domain import Misuse
from bhpt.storage.address import Address
from bhpt.study import Busy


class Damaged(Misuse):
    """The store is not a sound study; it is left exactly as it is."""


class InUse(Misuse):
    """Another driver holds the study."""


class Exists(Misuse):
    """There is a study already where one was to be created."""


class StoreFailed(RuntimeError):
    """The store cannot be written or reached; what was acknowledged is safe."""


class Removed(StoreFailed):
    """The file of a study was removed or replaced while it was written to."""


class Unreachable(Busy):
    """The server does not answer or is starting; try again, it may come back."""


_LOCKED = ("locked", "busy")
_LOCK_STATES = frozenset({"55P03", "40001", "40P01"})  # lock timeout, serialisation, deadlock
_AWAY_STATES = ("08", "57P01", "57P02", "57P03")  # lost connections; shutting down, starting
_BROKEN = ("malformed", "not a database", "file is encrypted", "no such", "decode", "corrupt")
_BROKEN_CODES = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_ERROR", "SQLITE_MISMATCH"})
_SHORT_READ = "SQLITE_IOERR_SHORT_READ"  # the file ends before its own header says


@contextmanager
def naming_faults(where: Address) -> Iterator[None]:
    """Convert SQLAlchemy's errors, without anything secret of the address.

    Raises:
        Busy: The database is locked; try again.
        Unreachable: The connection was lost or cannot be made; try again.
        Damaged: The file is not a sound database.
        StoreFailed: Anything else.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        raise Damaged(f"{where} is damaged ({error.reason}): restore it from a copy") from error
    except DBAPIError as error:
        lines = str(error.orig).strip().splitlines()
        line = where.without_secrets(lines[0] if lines else type(error.orig).__name__)
        if is_away(error):
            raise Unreachable(f"{where} cannot be reached: {line}") from error
        if is_busy(error):
            raise Busy(f"{where} is locked: {line}") from error
        if is_broken(error):
            raise Damaged(f"{where} is damaged ({line}): restore it from a copy") from error
        raise StoreFailed(
            f"{where} cannot be used ({line}): what was acknowledged is safe, resume later"
        ) from error


def is_busy(error: DBAPIError) -> bool:
    """Whether trying again later may help."""
    if _state(error) in _LOCK_STATES:
        return True
    return any(word in str(error.orig).lower() for word in _LOCKED)


def is_away(error: DBAPIError) -> bool:
    """Whether a server cannot be reached for now; a file is always there, or damaged."""
    if error.connection_invalidated:
        return True
    if not isinstance(error, OperationalError) or isinstance(error.orig, sqlite3.Error):
        return False
    state = _state(error)
    return state is None or state.startswith(_AWAY_STATES)  # no state: no server has answered


def _state(error: DBAPIError) -> str | None:
    """What PostgreSQL calls an error; None for SQLite, or where no server has answered."""
    state: str | None = None
    if not isinstance(error.orig, sqlite3.Error):
        state = getattr(error.orig, "sqlstate", None)  # psycopg is optional: its class is unknown
    return state


def is_broken(error: DBAPIError) -> bool:
    """Whether a file is not a sound database, rather than a disk that is full or gone."""
    if not isinstance(error.orig, sqlite3.Error):
        return False
    name = getattr(error.orig, "sqlite_errorname", "")  # not set where Python itself complains
    if name == _SHORT_READ or name.split("_", 2)[:2] in [code.split("_") for code in _BROKEN_CODES]:
        return True
    return any(word in str(error.orig).lower() for word in _BROKEN)
