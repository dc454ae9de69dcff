"""`bhpt track` and `--track`."""

from pathlib import Path

import pytest

from tests.cli.cases import Folder


def _events(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("events.out.tfevents.*"))


def test_a_study_is_tracked_while_it_runs_and_later(folder: Folder) -> None:
    pytest.importorskip("tensorboard")
    answer = folder.tune("--track", "tensorboard:now")
    assert answer.status == 0, answer
    answer = folder.bhpt("track", "s.db", "tensorboard:later")
    assert answer.status == 0, answer
    assert answer.out.startswith("tensorboard:later: ")
    now, later = (
        sorted(path.name for path in (folder.path / where).glob("s-*/arm-*"))
        for where in ("now", "later")
    )
    assert now == later
    size = _events(folder.path / "later")
    assert folder.bhpt("track", "s.db", "tensorboard:later").status == 0
    assert _events(folder.path / "later") == size  # nothing is written twice
    assert folder.bhpt("track", "s.db", "nowhere").status == 2
