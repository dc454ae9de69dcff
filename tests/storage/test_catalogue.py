"""Studies found in folders and on servers."""

import uuid
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from bhpt.domain import Misuse
from bhpt.domain.budget import Budget
from bhpt.storage import Address, create_store
from bhpt.storage.catalogue import Readers, find_studies
from bhpt.study import Training
from bhpt.study.creation import first_events

FIRST = first_events([{"x": 1}], Budget.parse("5 epochs"), training=Training(1, 5))


def test_studies_of_a_folder_are_found_below_it(tmp_path: Path) -> None:
    for name in ("a.db", "team/b.db", "team/deep/c.study", "a.db.files/inside.db"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        create_store(tmp_path / name, FIRST).close()
    (tmp_path / "notes.txt").write_text("no study")
    (tmp_path / "empty.txt").touch()
    found = [address.file for address in find_studies(tmp_path)]
    assert found == [tmp_path / name for name in ("a.db", "team/b.db", "team/deep/c.study")]
    assert [one.file for one in find_studies(tmp_path / "a.db")] == [tmp_path / "a.db"]
    with pytest.raises(Misuse, match="there is no folder"):
        find_studies(tmp_path / "nowhere")


def test_studies_of_a_server_are_found(postgres_url: str) -> None:
    names = {f"team-{uuid.uuid4().hex}" for _ in range(2)}
    for name in names:
        create_store(f"{postgres_url}&study={name}", FIRST).close()
    found = {address.study for address in find_studies(postgres_url)}
    assert names <= found


def test_studies_of_a_server_are_read_over_one_connection(postgres_url: str) -> None:
    names = [f"team-{uuid.uuid4().hex}" for _ in range(3)]
    for name in names:
        create_store(f"{postgres_url}&study={name}", FIRST).close()
    addresses = [Address.parse(f"{postgres_url}&study={name}") for name in names]
    opened: list[object] = []

    def count(connection: object, _: object) -> None:
        opened.append(connection)

    event.listen(Engine, "connect", count)
    try:
        _read_in_turn(addresses, postgres_url)
    finally:
        event.remove(Engine, "connect", count)
    assert len(opened) == 1


def _read_in_turn(addresses: list[Address], server: str) -> None:
    with Readers() as readers:
        for address in addresses:
            with readers.open(address) as reader:
                assert reader.address == address
                assert reader.folded().state.events == len(FIRST)
        with pytest.raises(Misuse, match="there is no study"):
            readers.open(Address.parse(f"{server}&study=nobody"))
        with readers.open(addresses[0]) as reader:  # that one was not there harms no other
            assert reader.read() == list(FIRST)


def test_files_are_read_one_by_one(tmp_path: Path) -> None:
    for name in ("a.db", "b.db"):
        create_store(tmp_path / name, FIRST).close()
    with Readers() as readers:
        for address in find_studies(tmp_path):
            with readers.open(address) as reader:
                assert reader.read() == list(FIRST)
        with pytest.raises(Misuse, match="there is no study"):
            readers.open(Address.parse(tmp_path / "c.db"))
