"""Studies on a PostgreSQL server."""

from collections.abc import Mapping
from typing import ClassVar

from sqlalchemy.exc import DBAPIError, OperationalError

from bhpt.storage.database_server import DatabaseServer, Fault

_LOCKED = frozenset({"55P03", "40001", "40P01"})  # lock timeout, serialisation, deadlock
_AWAY = ("08", "57P01", "57P02", "57P03")  # lost connections; shutting down, starting


class PostgreSQL(DatabaseServer):
    """A PostgreSQL server; libpq reads what an address does not say from its `PG…` variables."""

    dialect: ClassVar[str] = "postgresql+psycopg"
    package: ClassVar[str] = "psycopg"
    install: ClassVar[str] = "bhpt[postgres]"

    def connect_args(self, patience_s: float) -> Mapping[str, object]:
        """A connection is given up after 10 s, a lock after `patience_s`."""
        wait = max(1, round(patience_s * 1000))
        return {"options": f"-c lock_timeout={wait}", "connect_timeout": 10}

    def fault(self, error: DBAPIError) -> Fault:
        """Read from the SQLSTATE; none means that no server has answered."""
        state = _state(error)
        if error.connection_invalidated:
            return Fault.AWAY
        if isinstance(error, OperationalError) and (state is None or state.startswith(_AWAY)):
            return Fault.AWAY
        return Fault.BUSY if state in _LOCKED else Fault.OTHER


def _state(error: DBAPIError) -> str | None:
    import psycopg  # the package is optional, and there where one of its errors is

    return error.orig.sqlstate if isinstance(error.orig, psycopg.Error) else None
