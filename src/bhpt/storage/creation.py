"""New studies in a database: the tables of one, and a file with the events of another."""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine, insert
from sqlalchemy.exc import IntegrityError

from bhpt.domain import Misuse
from bhpt.storage.address import Address
from bhpt.storage.event_rows import INSERT, NOBODY, EventRow, Head, extend
from bhpt.storage.faults import naming_faults
from bhpt.storage.files import create_file, exists
from bhpt.storage.schema import FIRST_DIGEST, FORMAT, leases, metadata, studies


def create_tables(
    engine: Engine, address: Address, bodies: Sequence[str], clock: float = 0.0
) -> None:
    """Make the tables where they are missing, and a study in them that no driver holds.

    Args:
        engine: On the database.
        address: The study.
        bodies: Its first events as JSON.
        clock: The study's clock.

    Raises:
        Exists: There is a study of this name.
    """
    try:
        with naming_faults(address), engine.begin() as connection:
            metadata.create_all(connection)
            connection.execute(insert(studies).values(study=address.study, format=FORMAT))
            connection.execute(
                insert(leases).values(
                    study=address.study, token=0, holder=NOBODY, beat=0, clock=clock
                )
            )
            extend(connection, address, bodies, 0)
    except Misuse:
        raise
    except RuntimeError as error:
        if isinstance(error.__cause__, IntegrityError):
            raise exists(address) from None
        raise


def copy_store(rows: Sequence[EventRow], clock: float, file: Path) -> Head:
    """Make a new SQLite file, which no driver holds, of the events of another study.

    Args:
        rows: See `Reader.rows`.
        clock: The study's clock at the last renewal of its lease.
        file: Nothing may be there.

    Returns:
        The last event of the copy.

    Raises:
        Exists: There is something already.
    """
    address = Address.parse(file)

    def fill(engine: Engine) -> None:
        create_tables(engine, address, (), clock)
        with naming_faults(address), engine.begin() as connection:
            connection.execute(INSERT, [{"study": address.study, **row._asdict()} for row in rows])

    create_file(file, fill)
    return Head(rows[-1].position, rows[-1].digest) if rows else Head(0, FIRST_DIGEST)
