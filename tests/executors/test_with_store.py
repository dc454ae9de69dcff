"""The executor and the checkpoint store together, as a driver uses them."""

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bhpt.checkpoints import CheckpointStore, LocalFolder
from bhpt.domain import Resume
from bhpt.executors import FailureKind, Job, LocalExecutor, LocalOptions, Report
from tests.executors.helpers import NET, collect, run


@dataclass
class Driver:
    """The least that a driver has to do for one arm."""

    executor: LocalExecutor
    store: CheckpointStore
    arm: int = 3
    done: int = 0
    attempt: int = 0

    def job(self, **config: object) -> Job:
        self.attempt += 1
        thawed = self.store.thaw(self.arm)
        resume = Resume()
        if thawed.checkpoint is not None and thawed.folder is not None:
            resume = Resume.checkpoint(thawed.checkpoint.epochs, thawed.folder)
        return Job(
            attempt=self.attempt,
            arm=self.arm,
            config={"rate": 1.0, **config},
            epochs=2,
            done=self.done,
            freeze_to=self.store.begin(self.arm, self.attempt),
            resume=resume,
            limit_s=10.0,
        )

    def settle(self, report: Report) -> Report:
        if report.failure is not None:
            self.store.discard(self.arm, report.attempt)
            return report
        self.done += len(report.result.losses)
        self.store.settled(self.store.commit(self.arm, report.attempt, self.done))
        return report

    def unit(self, **config: object) -> Report:
        return self.settle(run(self.executor, self.job(**config)))


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    root = tmp_path / "study.files"
    return Driver(
        LocalExecutor(NET, 1, root / "logs", LocalOptions(grace_s=0.2)),
        CheckpointStore(LocalFolder(root)),
    )


def test_units_follow_each_other_through_checkpoints(driver: Driver) -> None:
    with driver.executor:
        losses = [loss for _ in range(3) for loss in driver.unit().result.losses]
    assert losses == [1 / epoch for epoch in range(1, 7)]
    assert [one.epochs for one in driver.store.held] == [4, 6]


def test_a_worker_killed_mid_unit_costs_one_unit(driver: Driver) -> None:
    with driver.executor:
        driver.unit(seconds=0.3)
        driver.executor.submit(driver.job(seconds=0.3))
        assert driver.executor.poll(0.1) == []
        (running,) = driver.executor.running()
        assert running.pid is not None
        os.kill(running.pid, signal.SIGKILL)
        failed = driver.settle(collect(driver.executor, 1)[0])
        assert failed.failure is not None
        assert failed.failure.kind is FailureKind.CRASHED
        again = driver.unit()
    assert (again.result.losses, again.usage.rerun) == ((1 / 3, 1 / 4), 0)


def test_a_damaged_checkpoint_is_trained_again_from_the_one_before(driver: Driver) -> None:
    with driver.executor:
        driver.unit()
        driver.unit()
        newest = driver.store.of_arm(3)[-1]
        (driver.store.folder(newest) / "epoch").write_text("9")
        driver.arm, other = 4, (driver.arm, driver.done)
        driver.done = 0
        driver.unit()  # another arm takes the worker, so the checkpoint is needed
        driver.arm, driver.done = other
        report = driver.unit()
    assert (report.result.losses, report.usage.rerun) == ((1 / 5, 1 / 6), 2)


def test_a_full_disk_keeps_the_checkpoint_before(driver: Driver) -> None:
    with driver.executor:
        driver.unit()
        driver.executor.stop(99, 0.0)
        driver.arm, kept = 5, driver.store.held
        driver.done = 0
        failed = driver.unit(mode="full")
    assert failed.failure is not None
    assert failed.failure.kind is FailureKind.DISK_FULL
    assert driver.store.held == kept
    assert driver.store.thaw(3).checkpoint == kept[-1]


@pytest.mark.parametrize("damage", [False, True])
def test_a_worker_checks_what_the_driver_has_not(driver: Driver, damage: bool) -> None:
    """A driver that counts on a living trainer checks nothing; the trainer may be dead by now."""
    with driver.executor as executor:
        driver.unit()
        (checkpoint,) = driver.store.of_arm(driver.arm)
        job = driver.job()
        digest = checkpoint.digest
        unchecked = replace(job, resume=replace(job.resume, digest=digest))
        driver.arm, driver.done = 4, 0
        driver.unit()  # another arm takes the worker
        driver.arm, driver.done = 3, 2
        if damage:
            saved = next(path for path in driver.store.folder(checkpoint).iterdir())
            saved.write_bytes(b"\0" + saved.read_bytes()[1:])
        report = driver.settle(run(executor, unchecked))
        if not damage:
            assert report.result.losses
            return
        assert report.failure is not None
        assert "has changed" in report.failure.message
