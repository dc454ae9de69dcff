"""A kind of database server of one's own; mypy reads this file, nothing runs it."""

from collections.abc import Mapping
from typing import ClassVar, assert_type

from sqlalchemy.exc import DBAPIError

from bhpt.storage import DatabaseServer, Fault


class MySQL(DatabaseServer):
    """As CONTRIBUTING has it, with types."""

    dialect: ClassVar[str] = "mysql+pymysql"
    package: ClassVar[str] = "pymysql"
    install: ClassVar[str] = "pymysql"

    def connect_args(self, patience_s: float) -> Mapping[str, object]:
        return {"connect_timeout": max(1, round(patience_s))}

    def fault(self, error: DBAPIError) -> Fault:
        return Fault.AWAY if error.connection_invalidated else Fault.OTHER


class Forgetful(DatabaseServer):
    """One that does not say what its errors mean."""

    def connect_args(self, patience_s: float) -> Mapping[str, object]:
        return {"connect_timeout": patience_s}


assert_type(MySQL().connect_args(1.0), Mapping[str, object])
Forgetful()  # type: ignore[abstract]
