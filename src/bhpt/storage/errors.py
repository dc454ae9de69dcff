"""Faults of a store, each with one clear line."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from bhpt.domain import Misuse
from bhpt.study import Busy


class Damaged(Misuse):
    """The store is not a sound study; it is left exactly as it is."""


class InUse(Misuse):
    """Another driver holds the study."""


class Exists(Misuse):
    """There is a study already where one was to be created."""


class StoreFailed(RuntimeError):
    """The store cannot be written or reached; what was acknowledged is safe."""


_LOCKED = ("locked", "busy")
_LOCK_STATES = frozenset({"55P03", "40001", "40P01"})  # lock timeout, serialisation, deadlock
_BROKEN = ("malformed", "not a database", "file is encrypted")


@contextmanager
def naming_faults(where: str) -> Iterator[None]:
    """Convert SQLAlchemy's errors.

    Raises:
        Busy: The database is locked or the connection was lost; try again.
        Damaged: The file is not a sound database.
        StoreFailed: Anything else.
    """
    try:
        yield
    except DBAPIError as error:
        lines = str(error.orig).strip().splitlines()
        line = lines[0] if lines else type(error.orig).__name__
        if is_busy(error):
            raise Busy(f"{where} is locked: {line}") from error
        if any(word in line.lower() for word in _BROKEN):
            raise Damaged(f"{where} is damaged ({line}): restore it from a copy") from error
        raise StoreFailed(
            f"{where} cannot be used ({line}): what was acknowledged is safe, resume later"
        ) from error


def is_busy(error: DBAPIError) -> bool:
    """Whether trying again later may help."""
    if error.connection_invalidated or getattr(error.orig, "sqlstate", None) in _LOCK_STATES:
        return True
    return any(word in str(error.orig).lower() for word in _LOCKED)
