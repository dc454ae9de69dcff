import math
from pathlib import Path

import numpy as np
import pytest

from bhpt.domain import Misuse, Resume
from bhpt.executors import FailureKind, Job, SimulatedExecutor, SimulatedFault
from tests.executors.helpers import resumed, run

TABLE = [[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]]


def job(
    folder: Path,
    attempt: int = 1,
    arm: int = 0,
    epochs: int = 1,
    done: int = 0,
    limit_s: float | None = None,
) -> Job:
    return Job(attempt, arm, {}, epochs, done, folder / str(attempt), limit_s=limit_s)


def test_tables_functions_and_numbers_are_alike(tmp_path: Path) -> None:
    for losses in (TABLE, np.array(TABLE), lambda arm, epoch: TABLE[arm][epoch - 1]):
        executor = SimulatedExecutor(losses, seconds=2.0)
        report = run(executor, job(tmp_path, arm=1, epochs=3), within=math.inf)
        assert (report.result.losses, report.usage.seconds) == ((6.0, 5.0, 4.0), 6.0)
        assert executor.now() == 6.0
    assert SimulatedExecutor(0.5).now() == 0.0


def test_reports_come_in_the_order_of_the_clock(tmp_path: Path) -> None:
    executor = SimulatedExecutor(1.0, lambda arm, _epoch: [3.0, 1.0, 2.0][arm], slots=3)
    for arm in range(3):
        executor.submit(job(tmp_path, attempt=arm, arm=arm))
    seen = [(executor.poll()[0].attempt, executor.now()) for _ in range(3)]
    assert seen == [(1, 1.0), (2, 2.0), (0, 3.0)]


def test_jobs_end_while_the_driver_thinks(tmp_path: Path) -> None:
    executor = SimulatedExecutor(1.0, seconds=1.0)
    executor.submit(job(tmp_path))
    executor.advance(5.0)
    executor.stop(1, grace=0.0)  # too late: it has finished
    (report,) = executor.poll()
    assert (report.result.losses, report.usage.seconds, executor.now()) == ((1.0,), 1.0, 5.0)


def test_faults_strike_when_they_are_due(tmp_path: Path) -> None:
    faults = {1: SimulatedFault(FailureKind.DISK_FULL, 0.5, "full"), 2: SimulatedFault(after_s=9.0)}
    executor = SimulatedExecutor(1.0, seconds=1.0, faults=faults)
    executor.submit(job(tmp_path, 1))
    (failed,) = executor.poll()
    assert failed.failure is not None
    assert (failed.failure.kind, failed.failure.message) == (FailureKind.DISK_FULL, "full")
    assert (failed.usage.seconds, executor.now()) == (0.5, 0.5)
    assert run(executor, job(tmp_path, 2), within=math.inf).result.losses == (1.0,)


def test_faults_can_depend_on_the_job(tmp_path: Path) -> None:
    executor = SimulatedExecutor(1.0, faults=lambda job: SimulatedFault() if job.arm == 1 else None)
    assert run(executor, job(tmp_path, 1, arm=0)).failure is None
    assert run(executor, job(tmp_path, 2, arm=1)).failure is not None


def test_a_job_that_hangs_needs_a_limit(tmp_path: Path) -> None:
    executor = SimulatedExecutor(1.0, seconds=math.inf)
    executor.submit(job(tmp_path, 1))
    with pytest.raises(Misuse, match="never ends"):
        executor.poll()
    assert executor.poll(100.0) == []
    assert executor.now() == 100.0
    executor.stop(1, grace=1.0)
    (stopped,) = executor.poll()
    assert stopped.usage.seconds == 100.0
    executor.submit(job(tmp_path, 2, limit_s=7.0))
    (report,) = executor.poll()
    assert report.failure is not None
    assert (report.failure.kind, report.usage.seconds) == (FailureKind.TIMED_OUT, 7.0)


def test_thawing_the_wrong_checkpoint_is_found_out(tmp_path: Path) -> None:
    executor = SimulatedExecutor(TABLE)
    run(executor, job(tmp_path, 1, arm=0, epochs=2))
    with pytest.raises(Misuse, match="not arm 1's checkpoint"):
        executor.submit(Job(2, 1, {}, 1, 2, tmp_path / "2", Resume.checkpoint(2, tmp_path / "1")))


def test_without_freezing_an_arm_lives_until_it_fails(tmp_path: Path) -> None:
    executor = SimulatedExecutor(TABLE, faults={2: SimulatedFault()}, freezes=False)
    report = run(executor, job(tmp_path, 1, epochs=2))
    assert not report.result.frozen
    assert not (tmp_path / "1").exists()
    again = job(tmp_path, 2, done=2)
    assert resumed(executor, again).rerun == 0
    run(executor, again)
    assert resumed(executor, job(tmp_path, 3, done=2)).rerun == 2
    report = run(executor, job(tmp_path, 3, done=2))
    assert (report.result.losses, report.usage.rerun, report.usage.seconds) == ((1.0,), 2, 3.0)
