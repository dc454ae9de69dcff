"""Studies found in folders and on servers."""

import uuid
from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.domain.budget import Budget
from bhpt.storage import create_store
from bhpt.storage.catalogue import find_studies
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
