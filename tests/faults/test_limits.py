"""Limits that hold without the driver, and what counts against them."""

import math
import os
import signal
from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.domain.budget_kinds import UnitUsage
from bhpt.domain.budget_kinds.wall_clock import WallClock
from bhpt.executors.guard import members
from bhpt.study import fold
from bhpt.study.events import Observed, SessionStarted
from bhpt.trainers.specs import Imported
from bhpt.tuning import Options, tune
from tests.faults.cases import ROOT, Drivers, events_of, eventually, sound
from tests.study.cases import Greedy
from tests.tuning.cases import executor, new_log, session

_RUN = """
import sys
from bhpt.tuning import tune
from bhpt.trainers.specs import Imported
from tests.study.cases import Greedy
arms = [{'x': 0.2, 'sleep': 600.0}]
tune(Imported("tests.faults.slow_start:Deaf"), arms, sys.argv[2], 1, sys.argv[1], max_epochs=9,
     policy=Greedy(), price_per_hour=3.6)
"""


def _workers(drivers: Drivers) -> set[int]:
    """Processes that train."""
    return {pid for pid in members(drivers.token) if b"executors.worker" in _command(pid)}


def _guards(drivers: Drivers) -> set[int]:
    """Processes that keep the limits."""
    return {pid for pid in members(drivers.token) if b"guard.py\0" in _command(pid)}


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _started(file: Path) -> bool:
    return file.exists() and bool(sound(file).flying)


@pytest.mark.parametrize("budget", ["$0.005", "8s"])
def test_limits_hold_though_the_driver_is_stopped(tmp_path: Path, budget: str) -> None:
    drivers, file = Drivers(), tmp_path / "net.db"
    driver = drivers.start("-c", _RUN, str(file), budget, cwd=ROOT)
    eventually(lambda: _started(file))
    os.kill(driver.pid, signal.SIGSTOP)
    eventually(lambda: not _workers(drivers), 60)
    os.kill(driver.pid, signal.SIGCONT)
    said, _ = driver.communicate(timeout=90)
    assert driver.returncode == 0, said
    eventually(drivers.all_gone)
    state = fold(events_of(file))
    assert not state.open
    assert all(one.status != "observed" for one in state.attempts)
    if budget == "$0.005":
        assert 0 < state.ledger.spent <= 0.005


def test_a_guard_that_was_killed_is_told_again(tmp_path: Path) -> None:
    drivers, file = Drivers(), tmp_path / "net.db"
    driver = drivers.start("-c", _RUN, str(file), "$0.006", cwd=ROOT)
    eventually(lambda: _started(file))
    (guard,) = _guards(drivers)
    os.kill(guard, signal.SIGKILL)

    def other() -> bool:
        found = _guards(drivers)
        return bool(found) and guard not in found

    eventually(other)
    os.kill(driver.pid, signal.SIGSTOP)
    eventually(lambda: not _workers(drivers), 60)
    os.kill(driver.pid, signal.SIGCONT)
    driver.communicate(timeout=90)
    assert 0 < sound(file).ledger.spent <= 0.006


def test_an_import_longer_than_the_deadline_ends_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOW_START_S", "40")
    with pytest.raises(Misuse, match=r"took more than 2 s"):
        tune(
            Imported("tests.faults.slow_start:Slow"),
            [{"x": 0.2}],
            "2s",
            study=tmp_path / "net.db",
            policy=Greedy(),
        )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("budget", "workers"), [("60s", 1), ("$60", 2)])
def test_the_start_of_workers_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: str, workers: int
) -> None:
    monkeypatch.setenv("SLOW_START_S", "1.5")
    tune(
        Imported("tests.faults.slow_start:Slow"),
        [{"x": 0.2}, {"x": 0.3}],
        budget,
        workers,
        tmp_path / "net.db",
        max_epochs=3,
        policy=Greedy(),
        price_per_hour=3600,
    )
    events = events_of(tmp_path / "net.db")
    (began,) = [event for event in events if isinstance(event, SessionStarted)]
    paid = [event for event in events if isinstance(event, Observed) and event.setup_s >= 1.5]
    assert len(paid) == workers
    assert all(event.cost >= 1.5 for event in paid)
    assert began.clock >= 1.5 if budget == "60s" else began.clock == 0.0
    sound(tmp_path / "net.db")


def test_the_grace_is_inside_the_deadline() -> None:
    deadline = WallClock(1000.0)

    def asked(clock: float, grace: float) -> bool:
        return deadline.verdict(UnitUsage(0.0, 1.0, clock, 0.0, grace)) is not None

    assert not asked(994.9, 5.0)
    assert asked(995.0, 5.0)
    assert not asked(979.9, 100.0)  # at most a fiftieth of the budget
    assert asked(980.0, 100.0)
    assert deadline.next_look(UnitUsage(0.0, 1.0, 900.0, 0.0, 5.0)) == 95.0
    assert deadline.paid_s(UnitUsage(0.0, 1.0, 900.0, 0.0, 5.0)) == 101.0


def test_a_stop_at_the_deadline_kills_no_later_than_it(tmp_path: Path) -> None:
    run = executor(seconds=3000.0)
    stopped: list[tuple[float, float]] = []
    stop = run.stop

    def noted(attempt: int, grace: float) -> None:
        stopped.append((run.now(), grace))
        stop(attempt, grace)

    run.stop = noted  # type: ignore[method-assign]
    session(new_log("1000s"), tmp_path / "files", run, options=Options(grace_s=5.0))
    assert stopped
    assert all(at + grace <= 1000.0 + 1e-6 for at, grace in stopped)
    assert len(stopped) == 1  # nothing is started only to be stopped


@pytest.mark.parametrize("grace", [math.nan, math.inf, -1.0])
def test_nonsense_is_refused(grace: float) -> None:
    with pytest.raises(Misuse, match="grace"):
        Options(grace_s=grace)
