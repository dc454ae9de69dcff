"""Connections to the databases that hold studies: SQLite files and servers."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, select

from bhpt.domain import Misuse
from bhpt.storage.address import Address
from bhpt.storage.errors import Damaged, InUse, StoreFailed, Unreachable
from bhpt.storage.faults import naming_faults
from bhpt.storage.files import can_change, check_file, exists, file_engine, inspect_file
from bhpt.storage.schema import FORMAT, studies
from bhpt.study import Busy, NewerVersion

PATIENCE_S = 60.0
"""How long to wait for another process's lock on the database, where nothing else can be done."""


def engine_of(address: Address, *, writable: bool, patience_s: float) -> Engine:
    """An engine on the database of a study, which may not be there yet.

    Args:
        address: The study.
        writable: Whether a file may be written to; a server decides that itself.
        patience_s: How long a statement waits for another program's lock.
    """
    if address.file is None:
        return address.server.engine(address.url, patience_s)
    return file_engine(address.file, writable=writable, patience_s=patience_s)


def open_engine(address: Address, *, writable: bool) -> Engine:
    """An engine on a study, after its format and integrity were checked.

    Raises:
        Misuse: There is no such study, or its folder is read-only and it is to be written to.
    """
    if address.file is not None:
        inspect_file(address.file)
        if writable and not can_change(address.file):
            raise Misuse(
                f"cannot write to {address.file.parent}, where {address.file.name} lies: only "
                "commands that look, such as `bhpt status`, work here"
            )
    engine = engine_of(address, writable=writable, patience_s=PATIENCE_S)
    try:
        with naming_faults(address):
            if address.file is not None:
                check_file(engine, address.file)
            check_format(engine, address)
    except BaseException:
        engine.dispose()
        raise
    return engine


def check_format(engine: Engine, address: Address) -> None:
    """Refuse a database without the study, or with one that this version cannot read.

    Raises:
        Misuse: There is no such study.
        Damaged: Its format is not a number.
        NewerVersion: A newer bhpt wrote it.
    """
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


def refuse_taken(address: Address) -> None:
    """Refuse to create a study where one is, before anything is made or started for it.

    Raises:
        Exists: There is one, or a file that is none.
        Unreachable: The server does not answer.
    """
    if address.file is not None:
        if os.path.lexists(address.file):
            raise exists(address)
        return
    engine = engine_of(address, writable=True, patience_s=PATIENCE_S)
    try:
        with naming_faults(address), engine.begin() as connection:
            if not engine.dialect.has_table(connection, studies.name):
                return
            same = select(studies.c.study).where(studies.c.study == address.study)
            if connection.execute(same).first() is not None:
                raise exists(address)
    finally:
        engine.dispose()


@contextmanager
def locked_is_misuse(address: Address) -> Iterator[None]:
    """Convert Busy to InUse while a store is opened, when no caller could wait any longer."""
    try:
        yield
    except Unreachable as error:
        raise StoreFailed(f"{error}; what was acknowledged is safe") from error
    except Busy:
        raise InUse(f"{address} is locked by another program: try again later") from None
