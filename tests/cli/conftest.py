import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.cases import Folder, fill, spawn


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Folder]:
    fill(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield Folder(tmp_path, capsys)
    for name in {"job", "broken"} & (set(sys.modules) - known):
        del sys.modules[name]


@pytest.fixture(scope="session")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 14 epochs over a space, made once."""
    place = tmp_path_factory.mktemp("tuned")
    fill(place)
    words = [
        "--space",
        "space.json",
        "--budget",
        "14epochs",
        "--study",
        "s.db",
        "--candidates",
        "40",
    ]
    process = spawn(place, "tune", "job:Net", *words)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    return place


@pytest.fixture
def study(folder: Folder, tuned: Path) -> Folder:
    """The folder with a copy of that study as s.db."""
    for name in ("s.db", "s.db.files"):
        source, target = tuned / name, folder.path / name
        shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
    return folder
