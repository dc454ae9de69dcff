"""The whole house with real processes, files and signals."""

import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bhpt.checkpoints import DiskFull
from bhpt.domain import Misuse, Objective
from bhpt.domain.budget import Budget
from bhpt.executors import Executor, Running
from bhpt.storage import Exists, InUse, create_store, open_store, read_store
from bhpt.storage.event_rows import Lease
from bhpt.storage.holder import Holder
from bhpt.study import State, Study, Training, fold
from bhpt.study.creation import first_events
from bhpt.study.events import Failed, SessionEnded
from bhpt.tuning import Options, TrainerBroken, resume, tune
from bhpt.tuning.takeover import Takeover
from tests.study.cases import Greedy
from tests.tuning.cases import check_invariants, essence
from tests.tuning.trainers import Accurate, Net, NoStep, generator, raising, returning

_CONFIGS = [{"x": value / 10} for value in range(11)]
_QUICK = Options(grace_s=1.0)


def _children() -> set[str]:
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[1] == str(os.getpid()) and fields[0] != "Z":
                found.add(entry.name)
    return found


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"workers": "2"}, "workers is a whole number, not '2'"),
        ({"seed": 1.5}, "seed is a whole number"),
        ({"unit": "1"}, "unit is a whole number"),
        ({"max_epochs": 2.5}, "max_epochs is a whole number"),
        ({"candidates": "9"}, "candidates is a whole number"),
        ({"stop_when": "low"}, "stop_when is a number"),
        ({"learn_from": "runs/a.db"}, "learn_from is a list"),
        ({"track": "tensorboard"}, "track is a list"),
        ({"policy": Greedy}, "is no policy"),
        ({"on_unit": 3}, "on_unit is a function, such as print, not 3"),
        ({"gpus_per_worker": "1"}, "gpus_per_worker is a number"),
        ({"options": {"grace_s": 1}}, "options is something like bhpt.Options"),
        ({"training": 3}, "training is something like bhpt.Training"),
        ({"study": 3}, "a study needs a file name"),
        ({"study": "."}, "is a folder: name a file in it, such as net.db"),
        ({"study": "a" * 300}, "a study cannot be called a+…: File name too long"),
        ({"workers": True}, "workers is a whole number, not True"),
        ({"stop_when": math.nan}, "stop_when is a value of the metric that is good enough"),
        ({"learn_from": [3]}, "learn_from is something like .*, not 3"),
        ({"learn_from": [{"x": 1}]}, "learn_from is something like"),
        ({"watch": 3}, "watch is a function, such as print, not 3"),
        ({"note": 3}, "note is a function, such as print, not 3"),
        ({"memory": {}}, "memory is something like"),
        ({"policy": None}, "None is no policy"),
        ({"gpus_per_worker": math.nan}, "gpus_per_worker nan: give 0, a fraction"),
        ({"training": Training(), "unit": 2}, "give training, or unit and max_epochs, not both"),
        ({"training": Training(), "max_epochs": 9}, "not both: Training has unit and epochs"),
    ],
)
def test_an_argument_of_the_wrong_type_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, object], match: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Misuse, match=match):
        tune(Net, _CONFIGS, "2 epochs", **given)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


async def _coroutine(config: dict[str, object]) -> None:
    del config


async def _stream(config: dict[str, object]) -> AsyncIterator[float]:
    del config
    yield 1.0


@pytest.mark.parametrize("trainer", [_coroutine, _stream])
def test_an_asynchronous_trainer_is_refused(tmp_path: Path, trainer: object) -> None:
    with pytest.raises(Misuse, match="is asynchronous: give a function that calls"):
        tune(trainer, _CONFIGS, "2 epochs", 1, tmp_path / "a.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"grace_s": "5"}, "grace_s is a number, not '5'"),
        ({"patience_s": None}, "patience_s is a number, not None"),
        ({"checkpoint_cap": "20GB"}, "checkpoint_cap is a whole number, not '20GB'"),
        ({"checkpoint_cap": 1.5}, "checkpoint_cap is a whole number"),
        ({"threads_per_worker": 1.5}, "threads_per_worker is a whole number"),
        ({"gpus_per_worker": "all"}, "gpus_per_worker is a number"),
        ({"look_s": -1}, "must be above 0 seconds"),
        ({"look_s": math.nan}, "must be above 0 seconds"),
        ({"tick_s": math.inf}, "must be above 0 seconds"),
        ({"variables": ["A=1"]}, "variables is something like"),
        ({"variables": {"A": 1}}, "variables are texts, such as .*, not 'A': 1"),
        ({"checkpoints": 3}, "checkpoints is something like 's3://bucket/team', not 3"),
    ],
)
def test_options_that_could_not_work_are_one_clear_line(
    given: dict[str, object], match: str
) -> None:
    with pytest.raises(Misuse, match=match):
        Options(**given)  # type: ignore[arg-type]


def test_a_metric_that_is_maximised(tmp_path: Path) -> None:
    file = tmp_path / "acc.db"
    result = tune(
        Accurate, _CONFIGS, "8 epochs", 2, file, policy=Greedy(), metric="acc", mode="max"
    )
    assert result.state.best is not None
    assert result.best_loss == -result.state.best.loss
    again = resume(file, "4 epochs", policy=Greedy())
    assert again.best_loss >= result.best_loss
    state = again.state
    assert state.ledger.spent == 12
    assert state.plan.objective == Objective("acc", "max")
    every = [one for arm in state.tried for one in state.metrics_of(arm)]
    assert len(every) == 12
    assert all(one["acc"] == pytest.approx(1 - one["loss"]) for one in every)
    assert all(math.isnan(one["odd"]) for one in every)
    assert again.best_loss == max(one["acc"] for one in every)


def test_a_metric_that_is_never_reported_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainerBroken, match="gave 'acc', 'loss', 'odd' but no 'f1'"):
        tune(Accurate, _CONFIGS, "8 epochs", 1, tmp_path / "f1.db", policy=Greedy(), metric="f1")


def test_tune_and_resume_with_more_budget(tmp_path: Path) -> None:
    before = _children()
    file = tmp_path / "runs" / "net.db"
    looks: list[int] = []
    result = tune(
        Net,
        {"x": (0.0, 1.0)},
        "24 epochs",
        workers=2,
        study=file,
        unit=2,
        max_epochs=12,
        policy=Greedy(),
        candidates=30,
        options=_QUICK,
        watch=lambda state, _: looks.append(state.reports),
    )
    assert result.status == "done"
    assert result.state.ledger.spent == 24
    check_invariants(result.state)
    assert result.best_config is not None
    assert looks
    assert result.best_checkpoint is not None
    saved = json.loads((result.best_checkpoint / "net.json").read_text())
    assert saved["epoch"] >= 2
    assert _children() == before
    assert (tmp_path / "runs" / "net.db.files").stat().st_mode & 0o077 == 0
    with pytest.raises(Exists, match="resume"):
        tune(Net, _CONFIGS, "3 epochs", study=file, policy=Greedy())
    more = resume(file, add_budget="6 epochs", policy=Greedy(), options=_QUICK)
    assert more.state.ledger.spent == 30
    assert more.best_loss <= result.best_loss
    with pytest.raises(Misuse, match="epochs"):
        resume(file, add_budget="6s", policy=Greedy())
    with read_store(file) as reader:
        events = reader.read()
    assert fold(events).ledger.spent == 30
    assert [e.reason for e in events if isinstance(e, SessionEnded)] == ["done", "done"]


@pytest.mark.parametrize("budget", ["3 epochs", "$0.002"])
def test_a_study_that_is_done_is_asked_again_without_workers(tmp_path: Path, budget: str) -> None:
    price = 1.0 if budget.startswith("$") else None
    file = tmp_path / "net.db"
    first = tune(
        Net, _CONFIGS, budget, study=file, policy=Greedy(), options=_QUICK, price_per_hour=price
    )
    assert first.status == "done"
    with read_store(file) as reader:
        before = reader.read()
    seen: list[State] = []
    again = resume(
        file, policy=Greedy(), executor=_no_workers, watch=lambda state, _: seen.append(state)
    )
    assert (again.status, again.best_loss) == ("done", first.best_loss)
    assert again.best_checkpoint == first.best_checkpoint
    assert len(seen) == 1
    with read_store(file) as reader:
        assert reader.read() == before


def test_a_full_disk_does_not_hide_the_result_of_a_study_that_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "net.db"
    first = tune(Net, _CONFIGS, "3 epochs", study=file, policy=Greedy(), options=_QUICK)
    assert first.best_checkpoint is not None
    shutil.rmtree(first.best_checkpoint)

    def full(*_: object) -> None:
        raise DiskFull(28, "no room left")

    monkeypatch.setattr("bhpt.tuning.folder.StudyFolder.keep_best", full)
    result = resume(file, policy=Greedy(), executor=_no_workers)
    assert (result.status, result.best_loss) == ("done", first.best_loss)
    assert result.best_checkpoint is not None
    assert result.best_checkpoint.is_relative_to(tmp_path / "net.db.files" / "checkpoints")
    monkeypatch.undo()
    again = resume(file, policy=Greedy(), executor=_no_workers)
    assert again.best_checkpoint == first.best_checkpoint


def test_what_a_dead_driver_left_under_a_deadline_that_is_over_is_settled(tmp_path: Path) -> None:
    file, clock = tmp_path / "net.db", [0.0]
    training = Training(1, 10)
    with create_store(
        file, first_events(_CONFIGS, Budget(10, "seconds"), training=training)
    ) as store:
        study = Study.resume(store, Greedy(), clock=lambda: clock[0])
        unit = study.ask()
        assert unit is not None
        clock[0] = 0.5
        study.tell(unit, [0.5])
        clock[0] = 9.0
        assert study.ask() is not None
        store.renew(9.99)  # it was killed after that
    result = resume(file, trainer=Net, policy=Greedy(), executor=_no_workers)
    assert (result.status, result.best_loss) == ("done", 0.5)
    check_invariants(result.state)
    assert [attempt.status for attempt in result.state.attempts] == ["observed", "failed"]
    assert result.state.ledger.used == 9.99
    assert result.state.session is None
    assert resume(file, trainer=Net, policy=Greedy(), executor=_no_workers).status == "done"


def test_a_driver_that_died_may_have_run_on_after_it_was_last_seen() -> None:
    lively, dead = Lease(1, None, 5, 7.0), Lease(1, Holder("here", 1, "", 0), 5, 7.0)
    for kind, late in (("seconds", 9.0), ("epochs", 7.0)):
        state = fold(first_events(_CONFIGS, Budget(10, kind), training=Training(1, 10)))
        assert Takeover.of(state, lively, 2.0).clock == 7.0
        found = Takeover.of(state, dead, 2.0)
        assert (found.clock, found.unseen_s) == (late, 2.0)
        assert found.applied(state).ledger.clock == late


def _no_workers(*_: object) -> Executor:
    raise AssertionError("a worker was asked for")


def test_a_generator_is_tuned_too(tmp_path: Path) -> None:
    result = tune(
        generator, _CONFIGS, "14 epochs", 2, tmp_path / "g.db", policy=Greedy(), options=_QUICK
    )
    assert result.state.ledger.spent == 14
    assert result.best_checkpoint is None
    assert result.best_loss < 1.5
    assert not list((tmp_path / "g.db.files" / "checkpoints").glob("*/*"))


@pytest.mark.parametrize(
    ("trainer", "space", "budget"),
    [
        (NoStep, _CONFIGS, "5 epochs"),
        ("tests.tuning.nowhere:Net", _CONFIGS, "5 epochs"),
        (Net, _CONFIGS, "five"),
        (Net, {"x": (1.0, 0.0)}, "5 epochs"),
        (Net, _CONFIGS, "$5"),
    ],
)
def test_bad_input_creates_nothing(
    tmp_path: Path, trainer: object, space: object, budget: str
) -> None:
    with pytest.raises(Misuse) as caught:
        tune(trainer, space, budget, study=tmp_path / "runs" / "net.db", policy=Greedy())
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["file/net.db", "file/deep/net.db", "/proc/bhpt/net.db"])
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misuse, match="cannot write"):
        tune(Net, _CONFIGS, "5 epochs", study=tmp_path / place, policy=Greedy())
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_once_a_trainer_is_mended_its_next_mistake_is_named(tmp_path: Path) -> None:
    file = tmp_path / "net.db"
    with pytest.raises(TrainerBroken, match="does not work: FileNotFoundError: no data for"):
        tune(raising, _CONFIGS, "12 epochs", study=file, policy=Greedy(), options=_QUICK)
    with pytest.raises(TrainerBroken, match=r"does not work: returning returned 0\.1, which"):
        resume(file, trainer=returning, policy=Greedy(), options=_QUICK)


def test_a_budget_in_which_no_unit_was_finished_is_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="no unit was finished within 2 epochs: .*no data") as seen:
        result = tune(raising, _CONFIGS, "2 epochs", study=tmp_path / "r.db", policy=Greedy())
    assert result.why_nothing == str(seen[0].message)
    assert seen[0].filename == __file__
    heard: list[str] = []
    result = resume(tmp_path / "r.db", "1 epoch", policy=Greedy(), note=heard.append)
    assert "3 epochs" in result.why_nothing  # whoever hears notes reads the result, too
    assert heard == []


def test_a_trainer_that_never_works_shows_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(TrainerBroken, match="no data") as caught:
        tune(raising, _CONFIGS, "30 epochs", study=tmp_path / "r.db", policy=Greedy())
    assert "looking for the data" in "".join(caught.value.__notes__)
    with read_store(tmp_path / "r.db") as reader:
        state = fold(reader.read())
    assert not state.open
    check_invariants(state)


def test_a_deadline_is_kept_with_real_processes(tmp_path: Path) -> None:
    configs = [{"x": n / 10, "sleep": 0.03 * (1 + n % 5)} for n in range(11)]
    result = tune(
        Net,
        configs,
        Budget(3, "seconds"),
        2,
        tmp_path / "d.db",
        training=Training(1, 200),
        policy=Greedy(),
        options=_QUICK,
    )
    assert result.state.clock <= 3 + _QUICK.grace_s
    assert result.state.clock > 2  # and what is left would not buy another unit
    assert result.state.reports > 10


def test_a_jump_of_the_clock_moves_no_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, jumps = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: real() + jumps[0])

    def jump(*_: object) -> None:
        jumps[0] = 3600.0 if jumps[0] <= 0 else -3600.0

    configs = [{"x": n / 10, "sleep": 0.05} for n in range(5)]
    result = tune(
        Net, configs, "10s", 1, tmp_path / "c.db", policy=Greedy(), options=_QUICK, watch=jump
    )
    assert 0.5 < result.state.clock <= 10 + _QUICK.grace_s
    assert result.state.reports > 3


@pytest.mark.parametrize("seconds", [1.5, pytest.param(60.0, marks=pytest.mark.slow)])
def test_a_store_that_is_locked_for_a_while_loses_nothing(tmp_path: Path, seconds: float) -> None:
    file = tmp_path / "l.db"
    lock: list[sqlite3.Connection] = []
    busy: list[int] = []
    since = [0.0]

    def watch(state: State, running: tuple[Running, ...]) -> None:
        if not lock and state.reports >= 3:
            lock.append(sqlite3.connect(file, isolation_level=None))
            lock[0].execute("BEGIN IMMEDIATE")
            since[0] = time.monotonic()
        elif lock and since[0] and time.monotonic() - since[0] > seconds:
            lock[0].execute("ROLLBACK")
            since[0] = 0.0
        elif since[0]:
            busy.append(len(running))

    configs = [{"x": n / 10, "sleep": 0.1} for n in range(5)]
    result = tune(Net, configs, "12 epochs", 2, file, policy=Greedy(), options=_QUICK, watch=watch)
    lock[0].close()
    assert busy
    assert result.state.ledger.spent == 12
    check_invariants(result.state)
    with read_store(file) as reader:
        assert fold(reader.read()).reports == 12


_DRIVER = """
import sys
from bhpt.tuning import Options, resume, tune
from bhpt.tuning.takeover import Takeover
from tests.study.cases import Greedy
from tests.tuning.trainers import Net

if __name__ == "__main__":
    configs = [{"x": n / 10, "sleep": 0.05} for n in range(11)]
    how = {"policy": Greedy(), "options": Options(grace_s=1.0)}
    if sys.argv[2] == "tune":
        result = tune(Net, configs, "24 epochs", 1, sys.argv[1], 3, **how)
    else:
        result = resume(sys.argv[1], **how)
    print(result.status, flush=True)
"""


def _spawn(file: Path, what: str) -> "subprocess.Popen[str]":
    script = file.parent / "driver.py"
    script.write_text(_DRIVER)
    return subprocess.Popen(
        [sys.executable, str(script), str(file), what],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
    )


def _wait_for(file: Path, reports: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if file.exists():
            with read_store(file) as reader:
                if fold(reader.read()).reports >= reports:
                    return
        time.sleep(0.05)
    raise TimeoutError(f"{file} never had {reports} reports")


def _finish(process: "subprocess.Popen[str]") -> str:
    said, _ = process.communicate(timeout=60)
    return said.strip()


def test_killed_interrupted_and_contested_it_ends_like_the_uninterrupted_run(
    tmp_path: Path,
) -> None:
    configs = [{"x": n / 10, "sleep": 0.05} for n in range(11)]
    whole = tmp_path / "whole.db"
    tune(Net, configs, "24 epochs", 1, whole, 3, policy=Greedy(), options=_QUICK)

    file = tmp_path / "broken.db"
    driver = _spawn(file, "tune")
    _wait_for(file, 4)
    with pytest.raises(InUse, match=f"process {driver.pid}"):
        open_store(file)
    driver.kill()
    driver.communicate()

    driver = _spawn(file, "resume")
    _wait_for(file, 9)
    driver.send_signal(signal.SIGINT)
    assert _finish(driver) == "interrupted"
    with read_store(file) as reader:
        assert not fold(reader.read()).open

    driver = _spawn(file, "resume")
    _wait_for(file, 14)
    driver.send_signal(signal.SIGINT)
    driver.send_signal(signal.SIGTERM)
    assert _finish(driver) == "interrupted"

    assert _finish(_spawn(file, "resume")) == "done"
    with read_store(file) as broken, read_store(whole) as uninterrupted:
        assert essence(broken.read()) == essence(uninterrupted.read())
        state = fold(broken.read())
        assert not [e for e in broken.read() if isinstance(e, Failed)]
    check_invariants(state)
    assert state.ledger.spent == 24
