"""The best model: a copy of its own, checked; the truth if it is lost."""

import os
import shutil
from pathlib import Path

import pytest
from rich.console import Console

from bhpt.cli.doctor import study_findings
from bhpt.cli.final_report import print_report
from bhpt.cli.main import run
from bhpt.domain import Misuse
from bhpt.tuning import Options, Result, TrainerBroken, resume, tune
from tests.faults.cases import sound
from tests.study.cases import Greedy
from tests.tuning.trainers import Net

_HOW = {"policy": Greedy(), "options": Options(grace_s=1.0)}


class Scribbler(Net):
    """Keeps its files open, and writes to them after they were saved."""

    def save(self, folder: Path) -> None:
        super().save(folder)
        self.file = (folder / "net.json").open("r+")

    def step(self) -> float:
        if self.epoch and "file" in vars(self):
            self.file.write("[")
            self.file.flush()
        return super().step()


def _made(folder: Path, trainer: type = Net) -> Result:
    arms = [{"x": 0.3}]
    return tune(trainer, arms, "5 epochs", 1, folder / "net.db", max_epochs=9, **_HOW)  # type: ignore[arg-type]


def test_the_kept_best_shares_no_file_with_a_checkpoint(tmp_path: Path) -> None:
    result = _made(tmp_path)
    assert result.best_checkpoint is not None
    files = [path for path in (tmp_path / "net.db.files").rglob("*") if path.is_file()]
    assert all(path.stat().st_nlink == 1 for path in files)


@pytest.mark.parametrize("place", ["best", "checkpoints"])
def test_damage_to_one_copy_leaves_the_other(tmp_path: Path, place: str) -> None:
    _made(tmp_path)
    for path in (tmp_path / "net.db.files" / place).rglob("net.json"):
        path.write_text("?")
    result = resume(tmp_path / "net.db", **_HOW)  # type: ignore[arg-type]
    assert result.best_checkpoint is not None
    assert (result.best_checkpoint / "net.json").read_text() == '{"epoch": 5}'


@pytest.mark.parametrize(("place", "found"), [("best", "copies it again"), ("", "LOST")])
def test_the_doctor_sees_a_damaged_best_model(tmp_path: Path, place: str, found: str) -> None:
    _made(tmp_path)
    (before,) = (one for one in study_findings(str(tmp_path / "net.db")) if "best" in one.what)
    assert before.sound
    for path in (tmp_path / "net.db.files" / place).rglob("net.json"):
        path.write_text("?")
    (after,) = (one for one in study_findings(str(tmp_path / "net.db")) if "best" in one.what)
    assert after.sound is False
    assert found in after.text
    shutil.rmtree(tmp_path / "net.db.files" / "best")  # as before it was made
    (without,) = (one for one in study_findings(str(tmp_path / "net.db")) if "best" in one.what)
    assert without.sound is (place == "best")


def test_a_lost_best_model_is_said_and_is_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _made(tmp_path)
    for path in (tmp_path / "net.db.files").rglob("net.json"):
        path.write_text("?")
    result = resume(tmp_path / "net.db", **_HOW)  # type: ignore[arg-type]
    assert result.is_checkpoint_lost
    console = Console(width=200)
    with console.capture() as captured:
        print_report(result, console)
    assert "LOST" in captured.get()
    assert run(["resume", str(tmp_path / "net.db"), "--policy", "random", "--progress", "off"]) == 1
    assert "damaged or removed" in capsys.readouterr().err
    assert run(["status", str(tmp_path / "net.db")]) == 0
    assert "LOST" in capsys.readouterr().out


def test_a_trainer_that_keeps_writing_loses_nothing_else(tmp_path: Path) -> None:
    result = _made(tmp_path, Scribbler)
    assert result.best_checkpoint is None or (result.best_checkpoint / "net.json").is_file()
    assert result.state.reports == 5


class Deep(Net):
    """Saves folders in folders in folders."""

    def save(self, folder: Path) -> None:
        here = os.open(folder, os.O_RDONLY)
        for _ in range(1200):
            os.mkdir("deeper", dir_fd=here)
            inside = os.open("deeper", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inside
        os.close(here)


def test_a_bottomless_checkpoint_fails_its_unit_and_not_the_driver(tmp_path: Path) -> None:
    with pytest.raises(TrainerBroken, match="folders in each other"):
        _made(tmp_path, Deep)
    assert sound(tmp_path / "net.db").reports == 0
    assert not list((tmp_path / "net.db.files" / "checkpoints").rglob("deeper"))


@pytest.mark.parametrize("name", ["checkpoints", "logs", "best"])
def test_a_link_inside_the_folder_is_refused_before_anything_is_made(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "net.db.files").mkdir()
    (tmp_path / "net.db.files" / name).symlink_to(tmp_path / "outside")
    with pytest.raises(Misuse, match="must be a folder"):
        _made(tmp_path)
    assert not (tmp_path / "net.db").exists()
    assert not list((tmp_path / "outside").iterdir())
