"""Studies whose checkpoints lie at an fsspec path."""

import shutil
import tarfile
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from bhpt.checkpoints import remote_folder
from bhpt.domain import Misuse
from bhpt.storage import open_store, read_store
from bhpt.study import Fenced, State, fold
from bhpt.study.events import SessionEnded
from bhpt.tuning import Options, Paused, resume, tune
from bhpt.tuning.archive import write_archive
from bhpt.tuning.folder import StudyFolder
from bhpt.tuning.removal import put_away
from tests.study.cases import Greedy
from tests.tuning.trainers import Net

_CONFIGS = [{"x": value / 10} for value in range(11)]


@pytest.fixture
def options() -> Options:
    return Options(grace_s=1.0, checkpoints=f"memory://bucket/{uuid.uuid4().hex}")


def _files(file: Path) -> Path:
    return file.with_name(f"{file.name}.files")


def _state(file: Path) -> State:
    with read_store(file) as reader:
        return fold(reader.read())


def test_another_machine_goes_on_with_checkpoints_at_a_path(
    tmp_path: Path, options: Options
) -> None:
    file = tmp_path / "net.db"
    first = tune(Net, _CONFIGS, "8 epochs", 2, file, policy=Greedy(), options=options)
    assert options.checkpoints is not None
    assert first.state.checkpoints_at.startswith(f"{options.checkpoints}/net-")
    assert first.best_checkpoint is not None
    shutil.rmtree(_files(file))  # the machine is lost
    again = resume(file, "4 epochs", policy=Greedy())
    state = again.state
    assert state.checkpoints_at == first.state.checkpoints_at
    assert (state.ledger.spent, state.reports) == (12, 12)  # nothing was trained again
    assert again.best_checkpoint is not None
    assert again.best_checkpoint.is_relative_to(_files(file))


def test_the_best_checkpoint_is_found_although_its_arm_trained_on(
    tmp_path: Path, options: Options
) -> None:
    file = tmp_path / "net.db"
    rising = [{"x": 0.3}]
    tune(Net, rising, "6 epochs", 1, file, policy=Greedy(), max_epochs=9, options=options)
    shutil.rmtree(_files(file))
    result = resume(file, policy=Greedy())
    assert result.best_checkpoint is not None
    assert (result.best_checkpoint / "net.json").is_file()


def test_a_path_is_not_changed_under_checkpoints(tmp_path: Path, options: Options) -> None:
    file = tmp_path / "net.db"
    tune(Net, _CONFIGS, "2 epochs", 1, file, policy=Greedy(), options=options)
    other = Options(checkpoints="memory://elsewhere")
    with pytest.raises(Misuse, match="lie at memory://bucket"):
        resume(file, "2 epochs", policy=Greedy(), options=other)


@pytest.mark.parametrize("path", ["runs/there", "nosuch://bucket", "ftp://me:word@host/x"])
def test_a_path_that_cannot_be_used_creates_nothing(tmp_path: Path, path: str) -> None:
    file = tmp_path / "net.db"
    with pytest.raises(Misuse):
        tune(Net, _CONFIGS, "2 epochs", 1, file, options=Options(checkpoints=path))
    assert not file.exists()


def _away(*_: Any, **__: Any) -> None:
    raise ConnectionError("no route to the bucket")


def _later(times: int, do: Callable[..., Any]) -> Callable[..., Any]:
    """Does it so often, then the place is away."""
    left = [times]

    def call(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        return do(*args, **kwargs) if left[0] >= 0 else _away()

    return call


def test_a_place_that_goes_away_pauses_the_study_and_loses_nothing(
    tmp_path: Path, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.db"
    monkeypatch.setattr(remote_folder, "PATIENCE_S", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(MemoryFileSystem, "put_file", _later(3, MemoryFileSystem.put_file))
        with pytest.raises(Paused, match="no route to the bucket"):
            tune(Net, _CONFIGS, "8 epochs", 1, file, policy=Greedy(), options=options)
        before = _state(file)
        assert before.reports == 3
        patch.setattr(MemoryFileSystem, "find", _away)
        with pytest.raises(Paused, match="no route to the bucket"):
            resume(file, policy=Greedy())
    assert _state(file).reports == 3
    state = resume(file, policy=Greedy()).state
    assert (state.reports, state.ledger.spent) == (8, 8)
    assert all(arm.saved for arm in state.tried.values())


def test_the_cap_holds_at_the_path(tmp_path: Path) -> None:
    file = tmp_path / "net.db"
    path = f"memory://bucket/{uuid.uuid4().hex}"
    small = Options(grace_s=1.0, checkpoints=path, checkpoint_cap=40)
    tune(Net, _CONFIGS, "8 epochs", 1, file, policy=Greedy(), options=small)
    there = fsspec.filesystem("memory")
    files = [name for name in there.find(path) if name.endswith("net.json")]
    assert sum(there.size(name) for name in files) <= 40 + 2 * len('{"epoch": 1}')


def test_an_archive_holds_what_lies_at_the_path(tmp_path: Path, options: Options) -> None:
    file = tmp_path / "net.db"
    tune(Net, _CONFIGS, "6 epochs", 1, file, policy=Greedy(), options=options)
    shutil.rmtree(_files(file))
    done = write_archive(file, tmp_path / "net.tar")
    assert (done.missing, done.checkpoints > 0) == (0, True)
    with tarfile.open(tmp_path / "net.tar") as archive:
        assert any(name.endswith("net.json") for name in archive.getnames())


def test_a_study_that_is_put_away_leaves_nothing_at_the_path(
    tmp_path: Path, options: Options
) -> None:
    file = tmp_path / "net.db"
    tune(Net, _CONFIGS, "3 epochs", 1, file, policy=Greedy(), options=options)
    assert options.checkpoints is not None
    assert put_away(file, tmp_path / "net.tar").checkpoints > 0
    assert not file.exists()
    assert fsspec.filesystem("memory").find(options.checkpoints) == []


def test_the_folder_of_a_study_elsewhere_is_no_trouble(tmp_path: Path, options: Options) -> None:
    from bhpt.cli.read_study import read_snapshot

    file = tmp_path / "net.db"
    tune(Net, _CONFIGS, "3 epochs", 1, file, policy=Greedy(), options=options)
    shutil.rmtree(_files(file))
    seen = read_snapshot(str(file))
    assert seen.trouble is None
    assert isinstance(seen.folder, StudyFolder)


def test_another_machine_takes_over_when_the_driver_is_gone(
    tmp_path: Path, options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.db"
    tune(Net, _CONFIGS, "4 epochs", 1, file, policy=Greedy(), options=options)
    gone = open_store(file)  # its machine is lost: no sign of life comes any more
    before = len(gone.read())
    shutil.rmtree(_files(file))
    monkeypatch.setattr("bhpt.storage.holder._space", lambda: "another machine")
    waits: list[float] = []
    patient = partial(open_store, sleep=waits.append)
    monkeypatch.setattr("bhpt.tuning.session.open_store", patient)
    state = resume(file, "4 epochs", policy=Greedy(), trust=True).state
    assert waits == [60.0]
    assert (state.ledger.spent, state.reports) == (8, 8)
    with pytest.raises(Fenced):  # it comes back, and can never write again
        gone.append([SessionEnded("late", 9.0)], before)
    gone.close()
