"""A job that its worker has at hand before the one that it runs has ended."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bhpt.domain import Resume
from bhpt.executors import FailureKind, Job, LocalExecutor, LocalOptions
from tests.executors.helpers import NET, collect, freeze_folder, run

MakeJob = Callable[..., Job]


@pytest.fixture
def executor(tmp_path: Path) -> Iterator[LocalExecutor]:
    made = LocalExecutor(NET, 1, tmp_path / "logs", LocalOptions(grace_s=0.3))
    yield made
    made.close()


@pytest.fixture
def job(tmp_path: Path) -> MakeJob:
    def one(attempt: int, arm: int, done: int = 0, *, alive: bool = False, **config: object) -> Job:
        return Job(
            attempt=attempt,
            arm=arm,
            config={"rate": 1.0, "mode": "good", **config},
            epochs=1,
            done=done,
            freeze_to=freeze_folder(tmp_path, attempt),
            resume=Resume.alive(done) if alive else Resume(),
        )

    return one


def test_another_arm_and_the_same_one_follow_at_once(
    executor: LocalExecutor, job: MakeJob, tmp_path: Path
) -> None:
    run(executor, job(1, 0))
    executor.submit(job(2, 1, seconds=0.5))
    assert executor.can_follow(2, 1, 1)
    assert not executor.can_follow(2, 1, 2)
    assert executor.follow(job(3, 1, 1, alive=True), after=2)
    assert not executor.follow(job(4, 2), after=2)  # one at a time
    first, second = collect(executor, 2)
    assert (first.attempt, second.attempt) == (2, 3)
    assert second.result.losses == (1 / 2,)
    assert second.usage.setup_s < second.usage.seconds
    assert executor.can_resume(1, 2)
    executor.submit(job(5, 1, 2, alive=True, seconds=0.5))
    assert executor.follow(job(6, 0, seconds=0.0), after=5)
    assert [report.attempt for report in collect(executor, 2)] == [5, 6]
    assert not executor.can_resume(1, 3)  # left, so its trainer was let go
    assert executor.can_resume(0, 1)
    assert "thawed" not in (tmp_path / "logs" / "slot-00.log").read_text()


def test_a_worker_that_dies_loses_both(executor: LocalExecutor, job: MakeJob) -> None:
    run(executor, job(1, 0))
    executor.submit(job(2, 1, seconds=0.5, mode="kill"))
    assert executor.follow(job(3, 2), after=2)
    reports = {report.attempt: report for report in collect(executor, 2)}
    kinds = {attempt: report.failure and report.failure.kind for attempt, report in reports.items()}
    assert kinds == {2: FailureKind.CRASHED, 3: FailureKind.LOST}
    assert reports[3].usage.seconds == 0
    assert executor.free == 1
    assert run(executor, job(4, 2)).result.losses == (1.0,)


def test_after_a_failure_only_another_arm_goes_on(executor: LocalExecutor, job: MakeJob) -> None:
    run(executor, job(1, 0))
    executor.submit(job(2, 1, seconds=0.5, mode="raise"))
    assert executor.follow(job(3, 1, 1, alive=True), after=2)
    first, second = collect(executor, 2)
    assert first.failure is not None
    assert first.failure.kind is FailureKind.CRASHED
    assert second.failure is not None
    assert second.failure.kind is FailureKind.LOST
    executor.submit(job(4, 1, seconds=0.5))
    assert executor.follow(job(5, 2), after=4)
    assert [report.result.losses for report in collect(executor, 2)] == [(1.0,), (1.0,)]


def test_nothing_follows_what_has_ended_or_is_stopped(
    executor: LocalExecutor, job: MakeJob
) -> None:
    run(executor, job(1, 0))
    assert not executor.follow(job(2, 1), after=1)
    executor.submit(job(3, 1, seconds=60))
    executor.stop(3, 0.3)
    assert not executor.follow(job(4, 2), after=3)
    (report,) = collect(executor, 1)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.STOPPED
