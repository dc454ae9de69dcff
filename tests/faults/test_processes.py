"""Faults that only real processes have: signals to groups, hangs, kills, bills."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bhpt.domain.budget import Budget
from bhpt.executors import Running
from bhpt.study import State, Training
from bhpt.study.events import Failed
from bhpt.tuning import Options, tune
from tests.faults.cases import Drivers, events_of, eventually, has_reports, sound
from tests.faults.trainers import Hangs, Net, Noisy, Stops
from tests.study.cases import Greedy

_CONFIGS = [{"x": n / 10, "sleep": 0.1} for n in range(6)]
_QUICK = Options(grace_s=1.0)
_BHPT = "from bhpt.cli.main import main; main()"


@pytest.fixture
def drivers() -> Iterator[Drivers]:
    made = Drivers()
    yield made
    eventually(made.all_gone, within=20.0)


def _command_line(folder: Path) -> tuple[str, ...]:
    ranges = {"x": {"min": 0.0, "max": 1.0}, "sleep": {"min": 0.09, "max": 0.1}}
    (folder / "space.json").write_text(json.dumps(ranges))
    trainer = "tests.faults.trainers:Net"
    how = ("--budget", "24 epochs", "--candidates", "8", "--max-epochs", "12")
    where = ("--space", "space.json", "--study", "net.db", "--workers", "2")
    return ("-c", _BHPT, "tune", trainer, *how, *where)


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_in_a_terminal_reaches_all_and_is_resumable(
    tmp_path: Path, drivers: Drivers, times: int
) -> None:
    driver = drivers.start(*_command_line(tmp_path), cwd=tmp_path)
    file = tmp_path / "net.db"
    eventually(lambda: driver.poll() is not None or has_reports(file, 3)())
    for _ in range(times):
        os.killpg(driver.pid, signal.SIGINT)
        time.sleep(0.02)
    said, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130, said
    assert "bhpt resume" in said
    assert "Traceback" not in said
    eventually(drivers.all_gone, within=20.0)
    state = sound(file)
    assert state.reports < 24
    assert not state.open or times == 2
    again = drivers.start("-c", _BHPT, "resume", "net.db", cwd=tmp_path)
    said, _ = again.communicate(timeout=60)
    assert again.returncode == 0, said
    assert sound(file).ledger.spent == 24


def test_a_killed_worker_costs_its_unit_and_harms_nobody(tmp_path: Path) -> None:
    killed: list[int] = []

    def watch(state: State, running: tuple[Running, ...]) -> None:
        if state.reports >= 4 and len(killed) < 1 and running and running[0].pid:
            killed.append(running[0].attempt)
            os.kill(running[0].pid, signal.SIGKILL)

    options = Options(grace_s=1.0, look_s=0.02, tick_s=0.05)
    file = tmp_path / "k.db"
    tune(Net, _CONFIGS, "20 epochs", 2, file, policy=Greedy(), options=options, watch=watch)
    state = sound(file)
    failed = [event for event in events_of(file) if isinstance(event, Failed)]
    assert [event.attempt for event in failed] == killed
    assert failed[0].cost == 1
    assert not failed[0].final
    assert state.ledger.spent == 20
    assert state.reports == 19


@pytest.mark.parametrize("trainer", [Hangs, Stops])
def test_a_trainer_that_hangs_does_not_move_the_deadline(tmp_path: Path, trainer: type) -> None:
    file = tmp_path / "h.db"
    result = tune(
        trainer,
        _CONFIGS,
        "3s",
        2,
        file,
        training=Training(1, 20),
        policy=Greedy(),
        options=_QUICK,
    )
    assert (
        result.state.clock <= 3 + _QUICK.grace_s + 2.0
    )  # on a machine that has other things to do
    failed = [event for event in events_of(file) if isinstance(event, Failed)]
    assert {event.kind for event in failed} == {"stopped"}
    assert not result.state.open


def test_a_trainer_that_hangs_is_given_up_after_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "h.db"
    training = Training(1, 20, limit_s=1.0, retries=0)
    tune(
        Hangs, _CONFIGS[:2], "8 epochs", 2, file, training=training, policy=Greedy(), options=_QUICK
    )
    state = sound(file)
    assert {known.closed is not None for known in state.tried.values()} == {True}
    assert state.ledger.spent == 6  # two epochs and one failure of each; nobody is left to train


@pytest.mark.parametrize("seed", [0, 1])
def test_money_is_never_exceeded_with_real_workers(tmp_path: Path, seed: int) -> None:
    """Two workers at a dollar a second; their start is paid for, too."""
    file = tmp_path / "m.db"
    budget = Budget(24.0, "dollars", 3600.0)
    configs = [{"x": n / 10} for n in range(6)]
    result = tune(Noisy, configs, budget, 2, file, seed, policy=Greedy(), options=_QUICK)
    state = sound(file)
    assert state.ledger.spent <= 24.0
    assert state.ledger.spent == pytest.approx(sum(one.seconds for one in state.attempts))
    assert result.state.reports > 0
