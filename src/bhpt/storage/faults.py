"""Errors of database drivers, converted to those of a store."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError

from bhpt.storage.address import Address
from bhpt.storage.database_server import Fault
from bhpt.storage.errors import Damaged, StoreFailed, Unreachable
from bhpt.storage.files import file_fault
from bhpt.study import Busy

_FULL = re.compile(r"disk is full|disk I/O error|no space left", re.IGNORECASE)


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
        raise _named(where, error) from error


def _named(where: Address, error: DBAPIError) -> Exception:
    lines = str(error.orig).strip().splitlines()
    line = where.without_secrets(lines[0] if lines else type(error.orig).__name__)
    match where.server.fault(error) if where.file is None else file_fault(error):
        case Fault.AWAY:
            return Unreachable(
                f"{where} cannot be reached ({line}): see that the server runs, and that host, "
                "port, database, user and password are right"
            )
        case Fault.BUSY:
            return Busy(f"{where} is locked: {line}")
        case Fault.BROKEN:
            return Damaged(f"{where} is damaged ({line}): restore it from a copy")
        case Fault.OTHER:
            advice = "free some space" if _FULL.search(line) else "see to that"
            return StoreFailed(
                f"{where} cannot be used ({line}): what was acknowledged is safe; {advice}, then "
                "resume"
            )
