"""What the executor tests share."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bhpt.domain import Resume
from bhpt.executors import Executor, Job, Report
from bhpt.trainers import Imported

SAMPLES = Path(__file__).with_name("sample_trainers.py")
NET = Imported(f"{SAMPLES}:Net")
TRAIN = Imported(f"{SAMPLES}:train")


def freeze_folder(root: Path, attempt: int) -> Path:
    folder = root / f"attempt-{attempt}" / "files"
    folder.mkdir(parents=True)
    return folder


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
    reports: list[Report] = []
    until = executor.now() + within
    while len(reports) < count:
        assert executor.now() < until, f"only {len(reports)} of {count} reports came"
        reports += executor.poll(0.5)
    return reports


def eventually(holds: Callable[[], bool], within: float = 10.0) -> None:
    until = time.monotonic() + within
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.01)


def lives(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}
