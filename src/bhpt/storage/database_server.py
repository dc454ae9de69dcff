"""Kinds of database servers that hold studies: our own, and those that others announce.

A kind is a subclass of `DatabaseServer`, tested by `bhpt.testing.StoreContract`. One of the package
is a file and a line in `_OWN`. One of another package is an entry point of the group
`bhpt.database_servers`, named by the scheme of its addresses, that leads to the class.
"""

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar, cast

from sqlalchemy import URL, Engine, create_engine
from sqlalchemy.exc import DBAPIError

from bhpt.domain import Misuse

GROUP = "bhpt.database_servers"
_OWN = {"postgresql": "bhpt.storage.postgresql:PostgreSQL"}


class Fault(Enum):
    """What an error of a database means for its caller."""

    BUSY = "locked by another program: try again"
    AWAY = "cannot be reached for now: try again, it may come back"
    BROKEN = "not a sound database"
    OTHER = "anything else: nothing was written"


class DatabaseServer(ABC):
    """A kind of database server that SQLAlchemy speaks to.

    Attributes:
        dialect: SQLAlchemy's name of the database and of its driver.
        package: The module of the driver.
        install: What to install for it.
    """

    dialect: ClassVar[str]
    package: ClassVar[str]
    install: ClassVar[str]

    @abstractmethod
    def connect_args(self, patience_s: float) -> Mapping[str, object]:
        """Arguments of the driver: a statement waits so many seconds for another's lock."""

    @abstractmethod
    def fault(self, error: DBAPIError) -> Fault:
        """What an error of the driver means."""

    def engine(self, url: URL, patience_s: float) -> Engine:
        """An engine with one connection on a database, which is opened when it is first used.

        Args:
            url: Of the database, with any scheme.
            patience_s: How long a statement waits for another program's lock.
        """
        return create_engine(
            url.set(drivername=self.dialect),
            pool_size=1,
            max_overflow=0,
            pool_pre_ping=True,
            connect_args=dict(self.connect_args(patience_s)),
        )


@cache
def find_server(scheme: str) -> DatabaseServer:
    """The kind of server whose addresses begin so.

    Raises:
        Misuse: There is none, or the package that it needs is missing.
    """
    points = _points()
    if scheme not in points:
        known = " or ".join(f"{name}://" for name in sorted(points))
        raise Misuse(f"a study cannot be kept in {scheme!r}: use a file or {known}")
    server = cast("type[DatabaseServer]", points[scheme].load())()
    if importlib.util.find_spec(server.package) is None:
        raise Misuse(
            f"a study on {scheme}:// needs {server.package}: pip install '{server.install}'"
        )
    return server


def _points() -> dict[str, EntryPoint]:
    own = {name: EntryPoint(name, where, GROUP) for name, where in _OWN.items()}
    return {point.name: point for point in entry_points(group=GROUP)} | own
