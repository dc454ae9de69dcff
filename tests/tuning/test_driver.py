import contextlib
import math
import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bhpt.checkpoints import DiskFull
from bhpt.domain import Objective, View
from bhpt.domain.budget import Budget
from bhpt.executors import FailureKind, SimulatedExecutor, SimulatedFault
from bhpt.executors.interface import Job, Report
from bhpt.policies.interface import Decision, Explanation, Policy
from bhpt.study import EventLog, Training, fold
from bhpt.study.events import (
    BudgetAdded,
    CheckpointDropped,
    Decided,
    Event,
    Extended,
    Failed,
    Observed,
    Restarted,
)
from bhpt.tuning import driver
from bhpt.tuning.errors import Paused, TrainerBroken
from bhpt.tuning.folder import StudyFolder
from bhpt.tuning.interrupts import Interrupts
from bhpt.tuning.options import Options
from tests.checkpoints.far_place import FarPlace
from tests.study.cases import CONFIGS, Greedy, loss_at
from tests.tuning.cases import (
    DyingLog,
    Killed,
    LockedLog,
    check_invariants,
    essence,
    executor,
    new_log,
    session,
)


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls the plug here: what is killed is only the driver."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_an_epoch_budget_is_spent_exactly(tmp_path: Path, slots: int) -> None:
    log = new_log("41 epochs", workers=slots)
    state = session(log, tmp_path / "files", executor(slots))
    assert state.ledger.spent == 41
    assert not state.open
    check_invariants(state)


@pytest.mark.parametrize("freezes", [True, False])
def test_the_log_names_the_worker_of_every_unit(tmp_path: Path, freezes: bool) -> None:
    log = new_log("41 epochs", workers=3)
    made = executor(3, freezes=freezes)
    seen: dict[int, int] = {}
    plain = made.submit

    def submit(job: Job) -> float:
        since = plain(job)
        seen.update({one.attempt: one.slot for one in made.running()})
        return since

    made.submit = submit  # type: ignore[method-assign]
    state = session(log, tmp_path / "files", made)
    assert {one.number: one.worker for one in state.attempts} == seen
    assert set(seen.values()) == {0, 1, 2}


@pytest.mark.parametrize("slots", [1, 2])
def test_a_cheap_unit_goes_on_from_the_one_before(tmp_path: Path, slots: int) -> None:
    """Its report waits to be written with the next decision, which must start from it."""
    log = new_log("41 epochs", workers=slots)
    state = session(log, tmp_path / "files", executor(slots, seconds=0.01))
    assert state.ledger.spent == 41
    assert not [e for e in log.read() if isinstance(e, Observed) and e.rerun]


@pytest.mark.parametrize("budget", ["30 epochs", "12 epochs"])
def test_a_trainer_that_dies_after_the_decision_is_paid_for_or_taken_back(
    tmp_path: Path, budget: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "_MAY_WAIT", 0.0)  # every report is written before the decision
    run = executor(freezes=False)
    log = new_log(budget)
    decided = LockedLog(log, lambda: _forget(run, log))
    state = session(decided, tmp_path / "files", run)
    check_invariants(state)
    assert not state.open
    changed = [e for e in log.read() if isinstance(e, Extended | Failed)]
    assert changed
    assert all(e.cost == 0 for e in changed if isinstance(e, Failed))
    assert all(one.cost <= one.reserved for one in state.attempts)


def _forget(run: SimulatedExecutor, log: EventLog) -> bool:
    """All that lived dies while a decision is written, once there is something to lose."""
    if fold(log.read()).reports == 4:
        run._alive.clear()
    return False


@pytest.mark.parametrize("budget", [Budget(40), Budget(40, "seconds"), Budget(40, "dollars", 3600)])
def test_no_room_for_a_log_pauses(tmp_path: Path, budget: Budget) -> None:
    run = executor()
    submit, count = run.submit, [0]

    def full(job: Job) -> float:
        count[0] += 1
        if count[0] == 4:
            raise DiskFull(28, "no room left: free some space there and resume")
        return submit(job)

    run.submit = full  # type: ignore[method-assign]
    log = new_log(budget)
    with pytest.raises(Paused, match="no room"):
        session(log, tmp_path / "files", run)
    check_invariants(fold(log.read()))
    check_invariants(session(log, tmp_path / "files", executor()))


def test_the_best_checkpoint_is_kept_though_its_arm_trains_on(tmp_path: Path) -> None:
    def worse_later(arm: int, epoch: int) -> float:
        return 1.0 if epoch <= 2 else 2.0 + arm

    run = executor()
    run._losses = worse_later
    log = new_log("40 epochs")
    folder = StudyFolder(tmp_path / "files")
    state = session(log, folder.root, run)
    assert state.best is not None
    assert state.best.epoch <= 2
    kept = folder.best_checkpoint(state.best)
    assert kept is not None
    assert (kept / "simulated.json").read_text() == f'{{"arm": {state.best.arm}, "epochs": 2}}'
    assert len(list(folder.best.iterdir())) == 1


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(st.integers(1, 24), st.sampled_from(["before", "after"])), max_size=6),
    st.sampled_from([1.0, 1000.0]),  # reports alone, or with the next decision
)
def test_a_kill_at_any_write_ends_like_the_uninterrupted_run(
    tmp_path_factory: pytest.TempPathFactory, deaths: list[tuple[int, str]], seconds: float
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    whole = new_log("20 epochs")
    session(whole, folder / "whole", executor(seconds=seconds))
    broken = new_log("20 epochs")
    for death in deaths:
        try:
            run = executor(seconds=seconds)
            session(DyingLog(broken, dict([death])), folder / "broken", run)
        except Killed:
            check_invariants(fold(broken.read()))
    state = session(broken, folder / "broken", executor(seconds=seconds))
    check_invariants(state)
    assert essence(broken.read()) == essence(whole.read())
    assert state.best is not None
    expected = fold(whole.read()).best
    assert expected is not None
    assert (state.best.loss, state.best.arm) == (expected.loss, expected.arm)
    assert StudyFolder(folder / "broken").best_checkpoint(state.best) is not None


@dataclass
class _Appended:
    """A log that notes which events were written together."""

    log: EventLog
    together: list[list[str]] = field(default_factory=list)

    def append(self, events: Sequence[Event], expected: int) -> None:
        self.log.append(events, expected)
        self.together.append([type(event).__name__ for event in events])

    def read(self, after: int = 0) -> list[Event]:
        return self.log.read(after)

    def close(self) -> None:
        self.log.close()


class _Ponders(Greedy):
    """Takes a while to decide."""

    def decide(self, view: View) -> Decision | None:
        time.sleep(0.02)
        return super().decide(view)


@pytest.mark.parametrize(
    ("seconds", "policy", "at_once"),
    [(1000.0, _Ponders(), False), (2.0, _Ponders(), True), (0.1, _Ponders(), False)],
    ids=["a moment beside the unit", "long beside the unit", "a cheap unit"],
)
def test_a_report_waits_for_the_next_decision_only_if_that_takes_a_moment(
    tmp_path: Path, seconds: float, policy: Policy, at_once: bool
) -> None:
    log = _Appended(new_log("12 epochs"))
    session(log, tmp_path / "files", executor(seconds=seconds), policy=policy)
    reports = [names for names in log.together if "Observed" in names]
    alone = [names for names in reports if names == ["Observed"]]
    both = [names for names in reports if names == ["Observed", "Decided"]]
    assert len(reports) == 6
    assert (len(alone) >= 5) if at_once else (len(both) >= 4)


@pytest.mark.parametrize("slots", [2, 3])
def test_a_kill_with_several_workers_keeps_the_invariants(tmp_path: Path, slots: int) -> None:
    log = new_log("30 epochs", workers=slots)
    for nth in range(1, 20, 3):
        try:
            session(DyingLog(log, {nth: "after"}), tmp_path / "files", executor(slots))
        except Killed:
            check_invariants(fold(log.read()))
    state = session(log, tmp_path / "files", executor(slots))
    assert state.ledger.spent == 30
    check_invariants(state)


def test_fewer_workers_finish_what_more_have_left(tmp_path: Path) -> None:
    log = new_log("30 epochs", workers=3)
    with pytest.raises(Killed):
        session(DyingLog(log, {4: "after"}), tmp_path / "files", executor(3))
    assert len(fold(log.read()).open) > 1
    state = session(log, tmp_path / "files", executor(1))
    assert state.ledger.spent == 30
    check_invariants(state)


def test_a_unit_left_in_flight_runs_again_under_its_own_reservation(tmp_path: Path) -> None:
    log = new_log("20 epochs")
    with pytest.raises(Killed):
        session(DyingLog(log, {3: "before"}), tmp_path / "files", executor())
    assert len(fold(log.read()).open) == 1
    state = session(log, tmp_path / "files", executor())
    assert any(isinstance(event, Restarted) for event in log.read())
    assert state.ledger.spent == 20


def test_what_was_only_alive_is_retrained_at_its_true_cost(tmp_path: Path) -> None:
    log = new_log("30 epochs")
    with pytest.raises(Killed):
        session(DyingLog(log, {12: "after"}), tmp_path / "files", executor(freezes=False))
    before = fold(log.read())
    state = session(log, tmp_path / "files", executor(freezes=False))
    check_invariants(state)
    assert state.ledger.spent <= 30
    reruns = [e.cost - e.epochs for e in log.read() if isinstance(e, Decided)]
    extended = [e for e in log.read() if isinstance(e, Extended)]
    assert before.reports
    assert sum(reruns) + len(extended) > 0


def test_a_failed_unit_is_tried_again_from_its_checkpoint_then_given_up(tmp_path: Path) -> None:
    def faults(job: Job) -> SimulatedFault | None:
        return SimulatedFault(after_s=0.5) if job.arm == 3 and job.done >= 2 else None

    log = new_log("60 epochs")
    state = session(log, tmp_path / "files", executor(faults=faults))
    check_invariants(state)
    assert state.ledger.spent == 60
    failed = [event for event in log.read() if isinstance(event, Failed)]
    assert len(failed) == 3
    assert [event.final for event in failed] == [False, False, True]
    assert all(event.cost == 2 for event in failed)
    assert state.arm(3).closed == "injected"


@pytest.mark.parametrize("freezes", [True, False])
def test_a_maximised_metric_is_tuned_like_its_negative(tmp_path: Path, freezes: bool) -> None:
    low = new_log("30 epochs", workers=2)
    session(low, tmp_path / "low", executor(2, freezes=freezes))
    up = executor(2, freezes=freezes)
    up._losses = lambda arm, epoch: {"acc": -loss_at(CONFIGS[arm], epoch), "epoch": epoch}
    log = new_log("30 epochs", workers=2, objective=Objective("acc", "max"))
    state = session(log, tmp_path / "high", up)
    assert essence(log.read()) == essence(low.read())
    for arm in state.tried:
        metrics = state.metrics_of(arm)
        assert [one["epoch"] for one in metrics] == list(range(1, state.count(arm) + 1))
        assert [-one["acc"] for one in metrics] == state.curves.of_arm(arm).tolist()  # type: ignore[union-attr]


def test_a_live_trainer_that_dies_as_its_unit_starts_is_paid_for(tmp_path: Path) -> None:
    """The executor says so, and the driver starts the unit from what is left."""
    run = executor(freezes=False)
    submit, gone = run.submit, [0]

    def dying(job: Job) -> float:
        if job.resume.live and not gone[0]:
            gone[0] = job.attempt
            run._alive.pop(job.arm)
        return submit(job)

    run.submit = dying  # type: ignore[method-assign]
    log = new_log("40 epochs")
    state = session(log, tmp_path / "files", run)
    check_invariants(state)
    (again,) = [e for e in log.read() if isinstance(e, Observed) and e.attempt == gone[0]]
    assert again.rerun == state.attempts[gone[0]].done > 0
    assert again.cost == len(again.losses) + again.rerun
    assert [e.attempt for e in log.read() if isinstance(e, Extended)] == gone


def test_a_trainer_that_never_works_ends_the_session(tmp_path: Path) -> None:
    log = new_log("60 epochs")
    run = executor(faults=lambda _: SimulatedFault(message="no GPU"))
    with pytest.raises(TrainerBroken, match="no GPU"):
        session(log, tmp_path / "files", run)
    state = fold(log.read())
    check_invariants(state)
    assert len(state.attempts) == 6


def test_a_full_disk_pauses_and_the_unit_runs_on_resume(tmp_path: Path) -> None:
    whole = new_log("20 epochs")
    session(whole, tmp_path / "whole", executor())
    log = new_log("20 epochs")
    run = executor(faults={3: SimulatedFault(FailureKind.DISK_FULL, message="no room")})
    with pytest.raises(Paused, match="no room"):
        session(log, tmp_path / "files", run)
    assert fold(log.read()).open == (3,)
    session(log, tmp_path / "files", executor())
    assert essence(log.read()) == essence(whole.read())


def test_a_deadline_is_kept_and_used(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pace = rng.uniform(0.2, 3.0, size=(11, 200))
    log = new_log("30s", Training(1, 100), workers=2)
    run = executor(2, pace)
    state = session(log, tmp_path / "files", run)
    check_invariants(state)
    assert run.now() <= 30 + 1e-6
    busy = sum(attempt.seconds for attempt in state.attempts)
    assert busy >= 0.85 * 2 * 30
    assert state.best is not None


class _Busy(SimulatedExecutor):
    """On a busy machine: nothing ends because it is asked to, and reports are read late."""

    def stop(self, attempt: int, grace: float) -> None:
        pass

    def poll(self, timeout: float | None = None) -> list[Report]:
        came = super().poll(timeout)
        if came:
            self.advance(0.25)
        return came


@pytest.mark.parametrize(("second", "counts"), [(15.625, True), (15.875, False)])
def test_what_ends_after_the_deadline_does_not_count(
    tmp_path: Path, *, second: float, counts: bool
) -> None:
    """Each of two units is read .25 s after its end: at 14.25 s, then at 30.125 or 30.375 s."""
    run = _Busy(lambda _, epoch: 1.0 / epoch, lambda _, epoch: {1: 14.0}.get(epoch, second))
    log = new_log("30s", Training(1, 2))
    state = session(log, tmp_path / "files", run, policy=_Only(0))
    first, last = state.attempts
    assert (first.status, first.ended) == ("observed", 14.25)
    assert state.best is not None
    if counts:
        assert (last.status, last.ended) == ("observed", 14.25 + second)  # not when it was read
        assert state.best.loss == 0.5
    else:
        assert (last.failure, last.message) == ("stopped", "the deadline came first")
        assert last.seconds == second
        assert state.best.loss == 1.0
        assert not state.arm(0).failures
    assert state.clock == 14.25 + second + 0.25


@dataclass(frozen=True)
class _Only:
    """Goes on with one arm."""

    arm: int

    def decide(self, view: View) -> Decision | None:
        if not view.choosable[self.arm]:
            return None
        return Decision(self.arm, Explanation.in_words("the only one", view.arms))


def test_a_hung_trainer_does_not_move_the_deadline(tmp_path: Path) -> None:
    def pace(_: int, epoch: int) -> float:
        return math.inf if epoch == 3 else 0.5

    log = new_log("20s", Training(1, 100))
    run = executor(1, pace)
    state = session(log, tmp_path / "files", run)
    assert run.now() <= 20 + 1e-6
    assert not state.open
    failed = [event for event in log.read() if isinstance(event, Failed)]
    assert failed[-1].kind == "stopped"


def test_a_hung_unit_is_stopped_by_its_limit(tmp_path: Path) -> None:
    def pace(arm: int, _: int) -> float:
        return math.inf if arm == 3 else 1.0

    log = new_log("60 epochs", Training(1, 12, limit_s=5.0))
    state = session(log, tmp_path / "files", executor(2, pace))
    kinds = {event.kind for event in log.read() if isinstance(event, Failed)}
    assert kinds <= {"timed-out"}
    assert state.ledger.spent == 60


def test_a_limit_is_learned_from_the_others(tmp_path: Path) -> None:
    def pace(arm: int, _: int) -> float:
        return math.inf if arm == first else 1.0

    probe = new_log("4 epochs", Training(1, 100))
    session(probe, tmp_path / "probe", executor())
    first = next(e.arm for e in probe.read() if isinstance(e, Decided))
    log = new_log("300 epochs", Training(1, 100), workers=2)
    run = executor(2, pace)
    state = session(log, tmp_path / "files", run)
    failed = [event for event in log.read() if isinstance(event, Failed)]
    assert [event.kind for event in failed] == ["timed-out"] * 3
    assert state.arm(first).closed is not None
    assert state.ledger.spent == 300


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("slots", [1, 3])
def test_money_is_never_exceeded_and_mostly_used(tmp_path: Path, seed: int, slots: int) -> None:
    rng = np.random.default_rng(seed)
    pace = np.exp(rng.normal(0.5, 0.7, size=(11, 1))) * np.exp(rng.normal(0, 0.6, size=(11, 400)))
    log = new_log(Budget(100, "dollars", 3600.0), Training(1, 300), workers=slots)
    state = session(log, tmp_path / "files", executor(slots, pace))
    check_invariants(state)
    assert state.ledger.spent <= 100
    assert state.ledger.spent >= 90


def test_a_unit_that_takes_longer_is_paid_for_while_there_is_money(tmp_path: Path) -> None:
    def pace(_: int, epoch: int) -> float:
        return 40.0 if epoch == 4 else 1.0

    log = new_log(Budget(100, "dollars", 3600.0), Training(1, 300))
    state = session(log, tmp_path / "files", executor(1, pace))
    assert any(isinstance(event, Extended) for event in log.read())
    assert state.ledger.spent <= 100
    assert any(attempt.seconds == 40 for attempt in state.attempts)


@pytest.mark.parametrize("budget", ["40s", Budget(40, "dollars", 3600.0)])
def test_time_and_money_of_a_dead_driver_are_charged(tmp_path: Path, budget: str | Budget) -> None:
    log = new_log(budget, Training(1, 100), workers=2)
    for nth in (6, 9, 7):
        with contextlib.suppress(Killed):
            session(DyingLog(log, {nth: "after"}), tmp_path / "files", executor(2), unseen_s=1.0)
    state = session(log, tmp_path / "files", executor(2), unseen_s=1.0)
    lost = [event for event in log.read() if isinstance(event, Failed) and event.kind == "lost"]
    assert lost
    assert all(event.cost > 0 for event in lost)
    check_invariants(state)


def test_damaged_checkpoints_are_never_loaded(tmp_path: Path) -> None:
    log = new_log("16 epochs")
    session(log, tmp_path / "files", executor())
    before = fold(log.read())
    for file in (tmp_path / "files" / "checkpoints").rglob("simulated.json"):
        file.write_bytes(b"\0" + file.read_bytes()[1:])
    log.append([BudgetAdded(Budget(30), before.clock)], before.events)
    state = session(log, tmp_path / "files", executor())
    dropped = [event for event in log.read() if isinstance(event, CheckpointDropped)]
    assert dropped
    assert all("damaged" in event.reason for event in dropped)
    check_invariants(state)
    assert state.ledger.spent <= 46
    charged = [e for e in log.read() if isinstance(e, Decided) and e.cost > e.epochs]
    assert charged  # what was lost is trained again, and paid for


def test_a_removed_checkpoint_is_noticed(tmp_path: Path) -> None:
    log = new_log("16 epochs")
    session(log, tmp_path / "files", executor())
    shutil.rmtree(tmp_path / "files" / "checkpoints")
    session(log, tmp_path / "files", executor())
    dropped = [event for event in log.read() if isinstance(event, CheckpointDropped)]
    assert dropped
    assert all(known.ready == 0 for known in fold(log.read()).tried.values())


def test_checkpoints_may_lie_elsewhere(tmp_path: Path) -> None:
    whole = new_log("41 epochs")
    session(whole, tmp_path / "whole", executor())
    log, place = new_log("41 epochs"), FarPlace(tmp_path / "near")
    with pytest.raises(Killed):
        session(DyingLog(log, {12: "after"}), tmp_path / "files", executor(), place=place)
    state = session(log, tmp_path / "files", executor(), place=place)
    assert essence(log.read()) == essence(whole.read())
    assert len(place.bucket) == sum(len(known.saved) for known in state.tried.values())
    assert StudyFolder(tmp_path / "files").best_checkpoint(state.best) is not None


def test_the_cap_on_checkpoints_is_kept(tmp_path: Path) -> None:
    log = new_log("60 epochs")
    options = Options(checkpoint_cap=120)
    state = session(log, tmp_path / "files", executor(), options=options)
    check_invariants(state)
    files = list((tmp_path / "files" / "checkpoints").rglob("simulated.json"))
    assert sum(file.stat().st_size for file in files) <= 120
    assert any(isinstance(event, CheckpointDropped) for event in log.read())
    assert StudyFolder(tmp_path / "files").best_checkpoint(state.best) is not None


def test_ctrl_c_once_finishes_what_runs(tmp_path: Path) -> None:
    whole = new_log("20 epochs")
    session(whole, tmp_path / "whole", executor())
    log = new_log("20 epochs")
    interrupts = Interrupts()
    run = executor(seconds=lambda *_: _count_up(interrupts, 5))
    state = session(log, tmp_path / "files", run, interrupts=interrupts)
    assert not state.open
    assert state.ledger.spent < 20
    session(log, tmp_path / "files", executor())
    assert essence(log.read()) == essence(whole.read())


_calls = [0]


def _count_up(interrupts: Interrupts, at: int, by: int = 1) -> float:
    _calls[0] += 1
    if _calls[0] % at == 0:
        interrupts.count += by
    return 1.0


def test_ctrl_c_twice_stops_now_and_is_resumable(tmp_path: Path) -> None:
    whole = new_log("20 epochs")
    session(whole, tmp_path / "whole", executor())
    log = new_log("20 epochs")
    interrupts = Interrupts()
    run = executor(seconds=lambda *_: _count_up(interrupts, 5, by=2))
    state = session(log, tmp_path / "files", run, interrupts=interrupts)
    assert len(state.open) == 1
    session(log, tmp_path / "files", executor())
    assert essence(log.read()) == essence(whole.read())


def test_a_locked_store_loses_nothing_and_nothing_runs_unlogged(tmp_path: Path) -> None:
    whole = new_log("40 epochs", workers=2)
    session(whole, tmp_path / "whole", executor(2))
    log = new_log("40 epochs", workers=2)
    run = executor(2)
    turns = [0]

    def locked() -> bool:
        turns[0] += 1
        return 10 < turns[0] < 60 or turns[0] % 3 == 0

    locking = LockedLog(log, locked)
    submitted: list[int] = []
    submit = run.submit

    def watched(job: Job) -> float:
        decided = [e.attempt for e in log.read() if isinstance(e, Decided)]
        assert job.attempt in decided
        submitted.append(job.attempt)
        return submit(job)

    run.submit = watched  # type: ignore[method-assign]
    state = session(locking, tmp_path / "files", run)
    assert locking.refused
    assert submitted == list(range(len(state.attempts)))
    assert state.ledger.spent == 40
    check_invariants(fold(log.read()))
    assert fold(log.read()).events == state.events


def test_a_diverging_arm_is_charged_and_never_the_best(tmp_path: Path) -> None:
    run = executor()
    run._losses = lambda arm, epoch: math.nan if arm % 2 else 1.0 / epoch
    log = new_log("30 epochs")
    state = session(log, tmp_path / "files", run)
    assert state.ledger.spent == 30
    assert state.best is not None
    assert state.best.arm % 2 == 0
