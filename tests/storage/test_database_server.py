"""Kinds of servers: found by the scheme of an address, also those of other packages."""

import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from sqlalchemy.exc import DBAPIError, OperationalError

from bhpt.domain import Misuse
from bhpt.storage import Address
from bhpt.storage.database_server import GROUP, Fault, find_server
from bhpt.storage.files import file_fault
from bhpt.storage.postgresql import PostgreSQL
from bhpt.testing import StoreContract


class Elephant(PostgreSQL):
    """As another package would add it."""


class Missing(PostgreSQL):
    package: ClassVar[str] = "no_such_driver"
    install: ClassVar[str] = "elephants[all]"


@pytest.fixture
def _announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with entry points; child processes see it, too."""
    package = tmp_path / "elephants-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: elephants\nVersion: 1\n")
    classes = {"elephant": "Elephant", "missing": "Missing", "postgresql": "Missing"}
    lines = [f"{scheme} = {__name__}:{name}" for scheme, name in classes.items()]
    (package / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
    monkeypatch.syspath_prepend(tmp_path)
    find_server.cache_clear()
    yield
    find_server.cache_clear()


@pytest.mark.usefixtures("_announced")
class TestStoreOfAnotherPackage(StoreContract):
    @pytest.fixture
    def new_address(self, postgres_url: str) -> object:
        url = postgres_url.replace("postgresql://", "elephant://")
        return lambda: f"{url}&study={uuid.uuid4().hex}"


@pytest.mark.usefixtures("_announced")
def test_addresses_keep_their_scheme() -> None:
    address = Address.parse("elephant://me:secret@host/team?study=net")
    assert isinstance(address.server, Elephant)
    assert str(address) == "elephant://me@host/team?study=net"
    assert Address.parse(str(address)).study == "net"


@pytest.mark.usefixtures("_announced")
def test_what_is_built_in_cannot_be_replaced() -> None:
    assert type(find_server("postgresql")) is PostgreSQL


@pytest.mark.usefixtures("_announced")
def test_an_unknown_scheme_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(Misuse, match="use a file or elephant:// or missing:// or postgresql://"):
        Address.parse("oracle://host/team")


@pytest.mark.usefixtures("_announced")
def test_a_missing_driver_is_named() -> None:
    with pytest.raises(Misuse, match=r"needs no_such_driver: pip install 'elephants\[all\]'"):
        Address.parse("missing://host/team")


@pytest.mark.parametrize(
    ("state", "lost", "fault"),
    [
        ("55P03", False, Fault.BUSY),
        ("40P01", False, Fault.BUSY),
        ("57P03", False, Fault.AWAY),
        ("08006", False, Fault.AWAY),
        (None, False, Fault.AWAY),
        ("53100", True, Fault.AWAY),
        ("53100", False, Fault.OTHER),
    ],
)
def test_faults_of_a_server_are_told_apart(state: str | None, lost: bool, fault: Fault) -> None:
    psycopg = pytest.importorskip("psycopg")
    raised = psycopg.OperationalError()
    raised.sqlstate = state
    assert (
        PostgreSQL().fault(OperationalError("", {}, raised, connection_invalidated=lost)) is fault
    )


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("database is locked", Fault.BUSY),
        ("database disk image is malformed", Fault.BROKEN),
        ("file is not a database", Fault.BROKEN),
        ("database or disk is full", Fault.OTHER),
    ],
)
def test_faults_of_a_file_are_told_apart(words: str, fault: Fault) -> None:
    assert file_fault(DBAPIError("", {}, sqlite3.OperationalError(words))) is fault
