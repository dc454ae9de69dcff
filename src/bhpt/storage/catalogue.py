"""Which studies there are, in a folder of files or on a server, and reading many of them."""

from pathlib import Path

from sqlalchemy import URL, Engine, select

from bhpt.domain import Misuse
from bhpt.domain.closing import Closing
from bhpt.storage.address import Address
from bhpt.storage.engines import PATIENCE_S, check_format, engine_of, locked_is_misuse
from bhpt.storage.faults import naming_faults
from bhpt.storage.files import is_study_file
from bhpt.storage.reader import Reader, read_store
from bhpt.storage.schema import studies

_DEEPEST = 4  # folders below the named one


def find_studies(where: str | Path) -> list[Address]:
    """The addresses of all studies in a folder or a database, by name.

    Args:
        where: A folder, which is searched with the folders in it; a file, for the one study in
            it; or `postgresql://…/DATABASE`.

    Raises:
        Misuse: There is no such folder or database.
    """
    if isinstance(where, str) and "://" in where:
        address = Address.parse(where)
        return _on_server(address) if address.file is None else [address]
    folder = Path(where)
    if folder.is_file():
        return [Address.parse(folder)]
    if not folder.is_dir():
        raise Misuse(f"there is no folder {folder}: name one with studies, or postgresql://…")
    return [Address.parse(file) for file in sorted(_files(folder, _DEEPEST))]


def _files(folder: Path, deep: int) -> list[Path]:
    """The study files in a folder and below; what belongs to a study beside its file is not."""
    found: list[Path] = []
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            if deep > 0 and not entry.name.endswith(".files"):
                found += _files(entry, deep - 1)
        elif is_study_file(entry):
            found.append(entry)
    return found


def _on_server(address: Address) -> list[Address]:
    """Every study of a database; none where no study was ever made."""
    engine = engine_of(address, writable=False, patience_s=PATIENCE_S)
    try:
        with naming_faults(address), engine.begin() as connection:
            if not engine.dialect.has_table(connection, studies.name):
                return []
            names = connection.execute(select(studies.c.study).order_by(studies.c.study)).scalars()
            return [Address(address.url, study=str(name)) for name in names]
    finally:
        engine.dispose()


class Readers(Closing):
    """Reads many studies one after the other; those of one database share a connection."""

    def __init__(self) -> None:
        self._engines: dict[URL, Engine] = {}

    def open(self, address: Address) -> Reader:
        """A study opened for reading, to be closed before the next one is opened.

        Raises:
            Misuse: There is none, or it cannot be read.
        """
        if address.file is not None:
            return read_store(address)
        engine = self._engines.get(address.url)
        if engine is None:
            engine = engine_of(address, writable=False, patience_s=PATIENCE_S)
            self._engines[address.url] = engine
        with locked_is_misuse(address), naming_faults(address):
            check_format(engine, address)
        return Reader(address, engine, shared=True)

    def close(self) -> None:
        """Close the connections."""
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()
