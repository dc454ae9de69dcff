"""`bhpt studies`: a team's studies listed, compared and put away."""

import tarfile
from pathlib import Path

import pytest

from bhpt.cli.main import run
from bhpt.study import Study
from bhpt.tuning import Options, stored, tune
from bhpt.views.consoles import SafeConsole
from tests.study.cases import Greedy
from tests.tuning.trainers import Net


def _kept(file: Path, offset: float, units: int, mode: str = "min") -> None:
    """An ask/tell study with results."""
    study = Study(
        [{"x": 0}, {"x": 1}],
        "10 epochs",
        keep=stored(file),
        policy=Greedy(),
        mode="max" if mode == "max" else "min",
    )
    for _ in range(units):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, offset + unit.arm + 1 / (unit.done + 1), seconds=1.0)
    study.close()


def test_studies_are_listed_with_what_they_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _kept(tmp_path / "a.db", 0.0, 10)
    _kept(tmp_path / "team" / "b.db", 1.0, 4)
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0")
    assert run(["studies", str(tmp_path)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "done" in next(line for line in lines if line.startswith("a.db"))
    assert "4 of 10 epochs" in next(line for line in lines if line.startswith("team/b.db"))
    assert "paused" in next(line for line in lines if line.startswith("team/b.db"))
    assert "cannot be read" in next(line for line in lines if line.startswith("broken.db"))
    assert "cut short" in lines[-1]


def test_on_a_narrow_terminal_nothing_is_cut_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "a-study-with-a-rather-long-name-of-its-own.db"
    _kept(tmp_path / name, 0.0, 4)
    monkeypatch.setattr("bhpt.cli.studies.page", lambda: SafeConsole(width=50))
    assert run(["studies", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "…" not in out
    assert "".join(line[1:].split(" ")[0] for line in out.splitlines()[2:]).startswith(name)


def test_the_studies_of_runs_are_listed_where_no_folder_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["studies"]) == 2
    assert "there is no folder runs" in capsys.readouterr().err
    _kept(tmp_path / "runs" / "a.db", 0.0, 4)
    assert run(["studies"]) == 0
    assert "a.db" in capsys.readouterr().out


def test_a_folder_without_studies_is_said_to_be_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["studies", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"there is no study in {tmp_path} yet: `bhpt tune` makes one\n")


def test_studies_are_compared_at_the_same_use_of_the_budget(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _kept(tmp_path / "worse.db", 1.0, 10)
    _kept(tmp_path / "better.db", 0.0, 5)
    assert run(["studies", str(tmp_path), "--compare"]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert "5 epochs" in head
    assert "10 epochs" not in head
    assert first.split()[0] == "better.db"
    assert second.split()[0] == "worse.db"
    _kept(tmp_path / "other.db", 0.0, 5, mode="max")
    assert run(["studies", str(tmp_path), "--compare"]) == 2
    assert "different metrics" in capsys.readouterr().err


def test_a_study_is_put_away_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "runs" / "net.db"
    configs = [{"x": 0.1}, {"x": 0.3}]
    tune(Net, configs, "4 epochs", 1, file, policy=Greedy(), options=Options(grace_s=1.0))
    out = tmp_path / "archive"
    words = ["studies", str(tmp_path / "runs")]
    assert run([*words, "--archive", str(out)]) == 2  # nothing is archived unasked
    assert run([*words, "net.db", "--remove"]) == 2
    assert run([*words, "nothing.db", "--archive", str(out)]) == 2
    (tmp_path / "a-file").touch()
    assert run([*words, "net.db", "--archive", str(tmp_path / "a-file")]) == 2
    assert "a-file cannot be made: File exists" in capsys.readouterr().err
    assert run([*words, "net.db", "--archive", str(out), "--remove"]) == 0
    assert "removed from its store" in capsys.readouterr().out
    assert list((tmp_path / "runs").iterdir()) == []
    with tarfile.open(out / "net.db.tar") as archive:
        archive.extractall(tmp_path / "again", filter="data")
    way = ["--policy", "random"]
    assert (
        run(["resume", str(tmp_path / "again" / "net.db"), "--add-budget", "2 epochs", *way]) == 0
    )
