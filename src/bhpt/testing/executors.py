"""What every executor promises: one job a slot, one report a job, however the job ends."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bhpt.domain import Misuse, Objective, Resume
from bhpt.executors import Executor, FailureKind, Job, PlacingExecutor, Report, TrainerGone
from bhpt.trainers import Imported

MakeExecutor = Callable[["ExecutorWorld", int], Executor]
"""From a world and the number of slots to an executor that trains in that world."""


@dataclass
class ExecutorWorld:
    """What a test trains: the loss of an arm is (arm + 1) / epoch, unless the test changes that.

    An engine that runs trainers gets `trainer`; one that simulates them gets `loss`, `seconds_of`
    and `crashing`.

    Attributes:
        folder: For logs and checkpoints.
        make_executor: Makes the executor under test.
        seconds: How long an epoch of each arm takes; next to nothing where there is no entry.
        crashing: Attempts whose training raises.
        diverging: Arms whose losses are NaN.
        metrics: Whether epochs report `acc` and `size` instead of one number.
        made: Executors to close after the test.
    """

    trainer = Imported("bhpt.testing.sample_trainer:Fraction")

    folder: Path
    make_executor: MakeExecutor
    seconds: dict[int, float] = field(default_factory=dict)
    crashing: set[int] = field(default_factory=set)
    diverging: set[int] = field(default_factory=set)
    metrics: bool = False
    made: list[Executor] = field(default_factory=list)

    def executor(self, slots: int = 1) -> Executor:
        """A new executor; the test sets what is unusual before."""
        self.made.append(self.make_executor(self, slots))
        return self.made[-1]

    def loss(self, arm: int, epoch: int) -> object:
        """What an epoch of an arm reports."""
        loss = math.nan if arm in self.diverging else (arm + 1) / epoch
        return {"acc": loss, "size": 3} if self.metrics else loss

    def seconds_of(self, arm: int, _epoch: int) -> float:
        """How long an epoch of an arm takes in a simulation."""
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
        """A job of this world; `thaw` is a checkpoint's folder and its epoch."""
        config: dict[str, object] = {"rate": arm + 1, "seconds": self.seconds.get(arm, 0.0)}
        config |= {"crash": attempt in self.crashing, "diverge": arm in self.diverging}
        config |= {"metrics": self.metrics}
        resume = Resume() if thaw is None else Resume.checkpoint(thaw[1], thaw[0])
        freeze_to = self.folder / f"attempt-{attempt}" / "files"
        freeze_to.mkdir(parents=True)
        return Job(attempt, arm, config, epochs, done, freeze_to, resume, limit_s)


def resumed(executor: Executor, job: Job) -> Job:
    """The job as a driver submits it: with the live trainer if there is one."""
    if job.done and executor.can_resume(job.arm, job.done):
        return replace(job, resume=Resume.alive(job.done))
    return job


def run(executor: Executor, job: Job, within: float = 30.0) -> Report:
    """Submit a job and wait for its report."""
    executor.submit(resumed(executor, job))
    return collect(executor, 1, within)[0]


def collect(executor: Executor, count: int, within: float = 30.0) -> list[Report]:
    """Wait for so many reports."""
    reports: list[Report] = []
    until = executor.now() + within
    while len(reports) < count:
        assert executor.now() < until, f"only {len(reports)} of {count} reports came"
        reports += executor.poll(0.5)
    return reports


class ExecutorContract:
    """Tests of an `Executor`. Override the fixture `make_executor`."""

    @pytest.fixture
    def make_executor(self) -> MakeExecutor:
        """Makes the executor under test."""
        raise NotImplementedError("override the fixture `make_executor`")

    @pytest.fixture
    def world(self, tmp_path: Path, make_executor: MakeExecutor) -> Iterator[ExecutorWorld]:
        """A world whose executors are closed after the test."""
        made = ExecutorWorld(tmp_path, make_executor)
        yield made
        for executor in made.made:
            executor.close()

    def test_a_job_gives_its_losses_and_a_checkpoint(self, world: ExecutorWorld) -> None:
        """One loss an epoch, and files in `freeze_to`."""
        executor = world.executor()
        job = world.job(7, arm=1, epochs=3)
        report = run(executor, job)
        assert (report.attempt, report.arm, report.failure) == (7, 1, None)
        assert report.result.losses == (2.0, 1.0, 2 / 3)
        assert report.usage.rerun == 0
        assert report.result.frozen
        assert any(job.freeze_to.iterdir())

    def test_an_arm_goes_on_from_its_checkpoint(self, world: ExecutorWorld) -> None:
        """Also if another arm ran in between."""
        executor = world.executor()
        first = world.job(1, epochs=2)
        run(executor, first)
        run(executor, world.job(2, arm=5))
        later = world.job(3, epochs=1, done=2, thaw=(first.freeze_to, 2))
        assert resumed(executor, later).rerun == 0
        report = run(executor, later)
        assert (report.result.losses, report.usage.rerun) == ((1 / 3,), 0)

    def test_an_arm_goes_on_in_another_executor(self, world: ExecutorWorld) -> None:
        """A checkpoint is all that a new executor needs."""
        first = world.job(1, epochs=2)
        run(world.executor(), first)
        report = run(world.executor(), world.job(2, done=2, thaw=(first.freeze_to, 2)))
        assert (report.result.losses, report.usage.rerun) == ((1 / 3,), 0)

    def test_epochs_since_an_older_checkpoint_are_trained_again(self, world: ExecutorWorld) -> None:
        """They are counted as rerun and not reported."""
        first = world.job(1, epochs=1)
        run(world.executor(), first)
        executor = world.executor()
        later = world.job(2, epochs=2, done=3, thaw=(first.freeze_to, 1))
        assert resumed(executor, later).rerun == 2
        report = run(executor, later)
        assert (report.result.losses, report.usage.rerun) == ((1 / 4, 1 / 5), 2)

    def test_without_a_checkpoint_everything_is_trained_again(self, world: ExecutorWorld) -> None:
        """And its time is part of what the job took."""
        world.seconds[0] = 0.1
        executor = world.executor()
        job = world.job(1, epochs=1, done=3)
        assert resumed(executor, job).rerun == 3
        report = run(executor, job)
        assert (report.result.losses, report.usage.rerun) == ((1 / 4,), 3)
        assert report.usage.seconds >= 0.39

    def test_jobs_run_side_by_side(self, world: ExecutorWorld) -> None:
        """As many as there are slots."""
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

    def test_a_full_house_and_duplicates_are_refused(self, world: ExecutorWorld) -> None:
        """No job waits in a queue."""
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

    def test_a_crash_is_reported_and_harms_nobody(self, world: ExecutorWorld) -> None:
        """Jobs in other slots and later jobs are not affected."""
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

    def test_a_job_past_its_limit_is_ended(self, world: ExecutorWorld) -> None:
        """The limit is enforced while the driver polls."""
        world.seconds[0] = 600.0
        executor = world.executor()
        report = run(executor, world.job(1, limit_s=0.2))
        assert report.failure is not None
        assert report.failure.kind is FailureKind.TIMED_OUT
        assert "0.2 s" in report.failure.message
        assert 0.2 <= report.usage.seconds < 5
        assert executor.free == 1

    def test_a_job_can_be_stopped(self, world: ExecutorWorld) -> None:
        """And its slot is free for another."""
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

    def test_stopping_what_does_not_run_does_nothing(self, world: ExecutorWorld) -> None:
        """Whether it has ended or never ran."""
        executor = world.executor()
        executor.stop(99, grace=0.0)
        assert run(executor, world.job(1)).result.losses == (1.0,)
        executor.stop(1, grace=0.0)
        assert executor.poll(0.0) == []

    def test_polling_waits_no_longer_than_asked(self, world: ExecutorWorld) -> None:
        """It returns at once when nothing runs."""
        world.seconds[0] = 600.0
        executor = world.executor()
        began = executor.now()
        assert executor.poll(10.0) == []
        assert executor.now() - began < 1
        executor.submit(world.job(1))
        began = executor.now()
        assert executor.poll(0.2) == []
        assert 0.19 <= executor.now() - began < 2

    def test_time_is_what_the_slot_was_busy(self, world: ExecutorWorld) -> None:
        """Not the time in which it was idle."""
        world.seconds[0] = 0.2
        executor = world.executor()
        run(executor, world.job(0, arm=1))
        report = run(executor, world.job(1, epochs=2))
        assert 0.39 <= report.usage.seconds < 2

    def test_what_runs_can_be_looked_at(self, world: ExecutorWorld) -> None:
        """For progress."""
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

    def test_a_job_runs_where_it_was_said_to(self, world: ExecutorWorld) -> None:
        """For the log, which names the worker of a unit before it is submitted."""
        world.seconds |= {0: 0.5, 3: 0.5}
        executor = world.executor(2)
        if not isinstance(executor, PlacingExecutor):
            pytest.skip("it does not say beforehand which worker trains a unit")
        for attempt, arm in enumerate((0, 3)):
            said = executor.worker_for(arm, Resume())
            assert said is not None
            executor.submit(replace(world.job(attempt, arm), worker=said))
            slots = {running.attempt: running.slot for running in executor.running()}
            assert slots[attempt] == said
        assert sorted(one.slot for one in executor.running()) == [0, 1]
        assert executor.worker_for(5, Resume()) is None
        assert all(report.failure is None for report in collect(executor, 2))

    def test_a_job_for_a_worker_that_is_not_there_runs_elsewhere(
        self, world: ExecutorWorld
    ) -> None:
        """A study may have had more workers in an earlier session."""
        report = run(world.executor(), replace(world.job(1), worker=3))
        assert report.failure is None

    def test_losses_that_are_no_numbers_are_kept(self, world: ExecutorWorld) -> None:
        """They mean that training has diverged."""
        world.diverging.add(0)
        report = run(world.executor(), world.job(1, epochs=2))
        assert report.failure is None
        assert len(report.result.losses) == 2
        assert all(math.isnan(loss) for loss in report.result.losses)

    def test_metrics_come_with_the_losses(self, world: ExecutorWorld) -> None:
        """The objective picks the metric that is the loss."""
        world.metrics = True
        job = replace(world.job(1, epochs=2), objective=Objective("acc", "max"))
        result = run(world.executor(), job).result
        assert result.losses == (-1.0, -0.5)
        assert result.metrics == ({"acc": 1.0, "size": 3.0}, {"acc": 0.5, "size": 3.0})

    def test_a_trainer_that_is_gone_is_not_replaced_silently(self, world: ExecutorWorld) -> None:
        """A job that goes on with a live trainer is refused if there is none."""
        executor = world.executor()
        with pytest.raises(TrainerGone):
            executor.submit(replace(world.job(1, done=2), resume=Resume.alive(2)))
        assert executor.free == 1
        assert run(executor, world.job(2)).result.losses == (1.0,)

    def test_closing_ends_everything_and_can_be_repeated(self, world: ExecutorWorld) -> None:
        """A closed executor takes no jobs."""
        world.seconds[0] = 600.0
        executor = world.executor()
        executor.submit(world.job(1))
        executor.close(grace=0.1)
        executor.close()
        assert executor.poll(1.0) == []
        assert executor.running() == ()
        with pytest.raises(Misuse, match="closed"):
            executor.submit(world.job(2))
