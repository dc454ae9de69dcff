"""A worker that has its next unit at hand: whatever ends when, the study stays consistent."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bhpt
from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.weights import shipped
from bhpt.beliefs.predictor import Predictor
from bhpt.domain import Failure, FailureKind, View
from bhpt.executors import Fault, FollowingExecutor, Job, Report, SimulatedExecutor
from bhpt.policies.interface import Decision, PredictingPolicy
from bhpt.storage import read_store
from bhpt.study import Training, fold
from bhpt.study.events import Decided, Event, Failed, Observed
from bhpt.tuning import driver as driving
from tests.study.cases import CONFIGS, Greedy, loss_at
from tests.tuning.cases import DyingLog, Killed, check_invariants, new_log, session
from tests.tuning.trainers import Net


@dataclass(frozen=True)
class GreedyWithPredictor(PredictingPolicy):
    """As `Greedy`, and names a predictor."""

    ends: LearnedPredictor = field(default_factory=lambda: LearnedPredictor(shipped("ends")))

    @property
    def predictor(self) -> Predictor:
        return self.ends

    def decide(self, view: View) -> Decision | None:
        return Greedy().decide(view)


class Following(SimulatedExecutor):
    """A table whose workers can have a job at hand; one that fails takes its follower with it."""

    def __init__(self, slots: int, faults: dict[int, Fault], *, freezes: bool) -> None:
        super().__init__(
            lambda arm, epoch: loss_at(CONFIGS[arm], epoch), 1.0, slots, faults, freezes=freezes
        )
        self.followed: dict[int, Job] = {}
        self.given = 0

    def can_follow(self, after: int, arm: int, epoch: int) -> bool:
        running = [one for one in self._flights if one.job.attempt == after]
        if running and running[0].job.arm == arm:
            return running[0].job.done + running[0].job.epochs == epoch
        return self.can_resume(arm, epoch)

    def follow(self, job: Job, after: int) -> bool:
        if all(one.job.attempt != after for one in self._flights):
            return False
        self.followed[after] = job
        self.given += 1
        return True

    def poll(self, timeout: float | None = None) -> list[Report]:
        reports = super().poll(timeout)
        for report in tuple(reports):
            job = self.followed.pop(report.attempt, None)
            if job is None:
                continue
            if report.failure is not None:
                never = Failure(FailureKind.LOST, "its worker ended before it began")
                reports.append(Report(job.attempt, job.arm, never))
                continue
            if job.resume.live and job.arm == report.arm:
                self._alive[job.arm] = job.done  # its worker has it in hand
            self.submit(job)
        return reports


class Slow:
    """A driver that takes longer than any unit, so that every unit is short."""

    seconds = 1e6

    def count(self) -> None:
        """Nothing is measured."""

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Nothing is measured."""
        yield


@pytest.fixture(autouse=True)
def _quick_disk_slow_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(driving, "HandlingTime", Slow)


def decided_ahead(events: list[Event], workers: int) -> int:
    """Decisions that were logged while as many units as workers were in flight."""
    open_, ahead = 0, 0
    for event in events:
        if isinstance(event, Decided):
            ahead += open_ >= workers
            open_ += 1
        elif isinstance(event, Observed | Failed):
            open_ -= 1
    return ahead


faults = st.dictionaries(
    st.integers(1, 25),
    st.sampled_from([Fault(after_s=0.5), Fault(FailureKind.TIMED_OUT, 0.3)]),
    max_size=4,
)


@settings(
    deadline=None, max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(1, 3), faults, st.booleans())
def test_any_unit_may_fail_and_the_study_stays_consistent(
    tmp_path_factory: pytest.TempPathFactory, slots: int, failing: dict[int, Fault], freezes: bool
) -> None:
    run = Following(slots, failing, freezes=freezes)
    log = new_log("40s", Training(2, 12), slots)
    folder = tmp_path_factory.mktemp("files")
    state = session(log, folder, run, policy=GreedyWithPredictor())
    assert isinstance(run, FollowingExecutor)
    assert run.given > 0
    assert decided_ahead(log.read(), slots) >= run.given
    assert not state.open
    assert not run.followed
    check_invariants(state)
    for arm, known in enumerate(CONFIGS):
        losses = [] if state.curves is None else state.curves.of_arm(arm).tolist()
        assert losses == [loss_at(known, epoch + 1) for epoch in range(len(losses))]


@settings(
    deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.integers(1, 2), st.integers(3, 40), st.sampled_from(["before", "after"]))
def test_a_killed_driver_is_resumed(
    tmp_path_factory: pytest.TempPathFactory, slots: int, append: int, when: str
) -> None:
    log, folder = new_log("30s", Training(2, 12), slots), tmp_path_factory.mktemp("files")
    try:
        session(
            DyingLog(log, {append: when}),
            folder,
            Following(slots, {}, freezes=True),
            policy=GreedyWithPredictor(),
        )
    except Killed:
        lost = len(fold(log.read()).open)
        assert lost <= 2 * slots  # what ran, and what was to follow it
    state = session(log, folder, Following(slots, {}, freezes=True), policy=GreedyWithPredictor())
    assert not state.open
    check_invariants(state)


def test_nothing_is_decided_ahead_of_an_epoch_budget(tmp_path: Path) -> None:
    run = Following(1, {}, freezes=True)
    log = new_log("20 epochs")
    session(log, tmp_path / "files", run, policy=GreedyWithPredictor())
    assert run.given == decided_ahead(log.read(), 1) == 0


def test_nothing_is_decided_ahead_by_a_policy_without_a_predictor(tmp_path: Path) -> None:
    run = Following(1, {}, freezes=True)
    session(new_log("20s"), tmp_path / "files", run, policy=Greedy())
    assert run.given == 0


def test_real_workers_go_on_at_once(tmp_path: Path) -> None:
    space = {"x": (0.0, 1.0), "sleep": [0.002]}
    study = tmp_path / "study.db"
    result = bhpt.tune(Net, space, "6s", study=study, max_epochs=40)
    events = read_store(study).read()
    assert decided_ahead(events, 1) > 0
    assert fold(events).best == result.state.best
    assert {e.kind for e in events if isinstance(e, Failed)} <= {"stopped", "lost"}
    assert result.best_checkpoint is not None
