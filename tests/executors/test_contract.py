"""One suite over every engine: what a driver may rely on."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bhpt.domain import Misuse, Objective, Resume
from bhpt.executors import (
    Executor,
    FailureKind,
    Fault,
    Job,
    LocalExecutor,
    LocalOptions,
    SimulatedExecutor,
    TrainerGone,
)
from tests.executors.helpers import NET, collect, freeze_folder, resumed, run


@dataclass
class World:
    """Losses are (arm + 1) / epoch; the rest is set by a test before it makes its executor."""

    folder: Path
    kind: str
    seconds: dict[int, float] = field(default_factory=dict)
    crashing: set[int] = field(default_factory=set)
    diverging: set[int] = field(default_factory=set)
    made: list[Executor] = field(default_factory=list)
    metrics: bool = False

    def executor(self, slots: int = 1) -> Executor:
        made: Executor
        if self.kind == "local":
            made = LocalExecutor(NET, slots, self.folder / "logs", LocalOptions(grace_s=0.2))
        else:
            crashes = {attempt: Fault(after_s=0.01) for attempt in self.crashing}
            made = SimulatedExecutor(self.loss, self.seconds_of, slots, crashes)
        self.made.append(made)
        return made

    def loss(self, arm: int, epoch: int) -> object:
        loss = math.nan if arm in self.diverging else (arm + 1) / epoch
        return {"acc": loss, "size": 3} if self.metrics else loss

    def seconds_of(self, arm: int, _epoch: int) -> float:
        return self.seconds.get(arm, 0.01)

    def job(
        self,
        attempt: int,
        arm: int = 0,
        epochs: int = 1,
        done: int = 0,
        thaw: tuple[Path, int] | None = None,
        limit_s: float | None = None,
    ) -> Job:
        config: dict[str, object] = {"rate": arm + 1, "seconds": self.seconds.get(arm, 0.0)}
        if attempt in self.crashing:
            config["mode"] = "raise"
        if arm in self.diverging:
            config["give"] = math.nan
        if self.metrics:
            config["metrics"] = True
        resume = Resume() if thaw is None else Resume.checkpoint(thaw[1], thaw[0])
        freeze_to = freeze_folder(self.folder, attempt)
        return Job(attempt, arm, config, epochs, done, freeze_to, resume, limit_s)


@pytest.fixture(params=["local", "simulated"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, request.param)
    yield made
    for executor in made.made:
        executor.close()


def test_a_job_gives_its_losses_and_a_checkpoint(world: World) -> None:
    executor = world.executor()
    job = world.job(7, arm=1, epochs=3)
    report = run(executor, job)
    assert (report.attempt, report.arm, report.failure) == (7, 1, None)
    assert report.result.losses == (2.0, 1.0, 2 / 3)
    assert report.usage.rerun == 0
    assert report.result.frozen
    assert any(job.freeze_to.iterdir())


def test_an_arm_goes_on_from_its_checkpoint(world: World) -> None:
    executor = world.executor()
    first = world.job(1, epochs=2)
    run(executor, first)
    run(executor, world.job(2, arm=5))
    later = world.job(3, epochs=1, done=2, thaw=(first.freeze_to, 2))
    assert resumed(executor, later).rerun == 0
    report = run(executor, later)
    assert (report.result.losses, report.usage.rerun) == ((1 / 3,), 0)


def test_an_arm_goes_on_in_another_executor(world: World) -> None:
    first = world.job(1, epochs=2)
    run(world.executor(), first)
    report = run(world.executor(), world.job(2, done=2, thaw=(first.freeze_to, 2)))
    assert (report.result.losses, report.usage.rerun) == ((1 / 3,), 0)


def test_epochs_since_an_older_checkpoint_are_trained_again(world: World) -> None:
    first = world.job(1, epochs=1)
    run(world.executor(), first)
    executor = world.executor()
    later = world.job(2, epochs=2, done=3, thaw=(first.freeze_to, 1))
    assert resumed(executor, later).rerun == 2
    report = run(executor, later)
    assert (report.result.losses, report.usage.rerun) == ((1 / 4, 1 / 5), 2)


def test_without_a_checkpoint_everything_is_trained_again(world: World) -> None:
    world.seconds[0] = 0.1
    executor = world.executor()
    job = world.job(1, epochs=1, done=3)
    assert resumed(executor, job).rerun == 3
    report = run(executor, job)
    assert (report.result.losses, report.usage.rerun) == ((1 / 4,), 3)
    assert report.usage.seconds >= 0.39


def test_jobs_run_side_by_side(world: World) -> None:
    world.seconds.update({0: 0.3, 1: 0.3})
    executor = world.executor(slots=2)
    for attempt in (0, 1):
        executor.submit(world.job(attempt, arm=attempt))
    assert (executor.slots, executor.free) == (2, 0)
    began = executor.now()
    reports = collect(executor, 2)
    assert {report.result.losses for report in reports} == {(1.0,), (2.0,)}
    assert executor.free == 2
    assert executor.now() - began < 5


def test_a_full_house_and_duplicates_are_refused(world: World) -> None:
    world.seconds.update({0: 0.3})
    executor = world.executor(slots=2)
    executor.submit(world.job(1, arm=0))
    with pytest.raises(Misuse, match="already running"):
        executor.submit(world.job(2, arm=0))
    again = world.job(3, arm=1)
    executor.submit(again)
    with pytest.raises(Misuse, match="all 2 slots are busy"):
        executor.submit(world.job(4, arm=2))
    assert {report.attempt for report in collect(executor, 2)} == {1, 3}


def test_a_crash_is_reported_and_harms_nobody(world: World) -> None:
    world.crashing.add(1)
    world.seconds[1] = 0.3
    executor = world.executor(slots=2)
    executor.submit(world.job(1, arm=0))
    executor.submit(world.job(2, arm=1))
    by_attempt = {report.attempt: report for report in collect(executor, 2)}
    failed = by_attempt[1]
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.CRASHED
    assert failed.failure.message
    assert failed.outcome is failed.failure
    assert by_attempt[2].result.losses == (2.0,)
    assert run(executor, world.job(3, arm=0)).result.losses == (1.0,)


def test_a_job_past_its_limit_is_ended(world: World) -> None:
    world.seconds[0] = 600.0
    executor = world.executor()
    report = run(executor, world.job(1, limit_s=0.2))
    assert report.failure is not None
    assert report.failure.kind is FailureKind.TIMED_OUT
    assert "0.2 s" in report.failure.message
    assert 0.2 <= report.usage.seconds < 5
    assert executor.free == 1


def test_a_job_can_be_stopped(world: World) -> None:
    world.seconds[0] = 600.0
    executor = world.executor()
    executor.submit(world.job(1))
    assert executor.poll(0.3) == []
    executor.stop(1, grace=0.2)
    report = collect(executor, 1)[0]
    assert report.failure is not None
    assert report.failure.kind is FailureKind.STOPPED
    assert 0.3 <= report.usage.seconds < 5
    assert run(executor, world.job(2, arm=1)).result.losses == (2.0,)


def test_stopping_what_does_not_run_does_nothing(world: World) -> None:
    executor = world.executor()
    executor.stop(99, grace=0.0)
    assert run(executor, world.job(1)).result.losses == (1.0,)
    executor.stop(1, grace=0.0)
    assert executor.poll(0.0) == []


def test_polling_waits_no_longer_than_asked(world: World) -> None:
    world.seconds[0] = 600.0
    executor = world.executor()
    began = executor.now()
    assert executor.poll(10.0) == []
    assert executor.now() - began < 1
    executor.submit(world.job(1))
    began = executor.now()
    assert executor.poll(0.2) == []
    assert 0.19 <= executor.now() - began < 2


def test_time_is_what_the_slot_was_busy(world: World) -> None:
    world.seconds[0] = 0.2
    executor = world.executor()
    run(executor, world.job(0, arm=1))
    report = run(executor, world.job(1, epochs=2))
    assert 0.39 <= report.usage.seconds < 2


def test_what_runs_can_be_looked_at(world: World) -> None:
    world.seconds[3] = 0.3
    executor = world.executor()
    assert executor.running() == ()
    began = executor.now()
    executor.submit(world.job(1, arm=3))
    (running,) = executor.running()
    assert (running.attempt, running.arm, running.slot) == (1, 3, 0)
    assert began <= running.started <= executor.now()
    collect(executor, 1)
    assert executor.running() == ()


def test_losses_that_are_no_numbers_are_kept(world: World) -> None:
    world.diverging.add(0)
    report = run(world.executor(), world.job(1, epochs=2))
    assert report.failure is None
    assert len(report.result.losses) == 2
    assert all(math.isnan(loss) for loss in report.result.losses)


def test_metrics_come_with_the_losses(world: World) -> None:
    world.metrics = True
    job = replace(world.job(1, epochs=2), objective=Objective("acc", "max"))
    result = run(world.executor(), job).result
    assert result.losses == (-1.0, -0.5)
    assert result.metrics == ({"acc": 1.0, "size": 3.0}, {"acc": 0.5, "size": 3.0})


def test_a_trainer_that_is_gone_is_not_replaced_silently(world: World) -> None:
    executor = world.executor()
    with pytest.raises(TrainerGone):
        executor.submit(replace(world.job(1, done=2), resume=Resume.alive(2)))
    assert executor.free == 1
    assert run(executor, world.job(2)).result.losses == (1.0,)


def test_closing_ends_everything_and_can_be_repeated(world: World) -> None:
    world.seconds[0] = 600.0
    executor = world.executor()
    executor.submit(world.job(1))
    executor.close(grace=0.1)
    executor.close()
    assert executor.poll(1.0) == []
    assert executor.running() == ()
    with pytest.raises(Misuse, match="closed"):
        executor.submit(world.job(2))


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: Job(1, 0, {}, 0, 0, folder),
        lambda folder: Job(1, 0, {}, 1, -1, folder),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume(place=folder)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume(1)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume(-1)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume(2, live=True, place=folder)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume.alive(1)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume.checkpoint(3, folder)),
        lambda folder: Job(1, 0, {}, 1, 0, folder, limit_s=0.0),
        lambda folder: Job(1, 0, {"x": object()}, 1, 0, folder),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(make: Callable[[Path], Job], tmp_path: Path) -> None:
    with pytest.raises(Misuse):
        make(tmp_path)


def test_an_executor_needs_a_slot(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="at least one"):
        SimulatedExecutor(0.0, slots=0)
    with pytest.raises(Misuse, match="at least one"):
        LocalExecutor(NET, 0, tmp_path)
