"""What every engine promises: one job a slot, one report a job, however the job ends.

A job trains one arm from `done` to `done + epochs`. Where it starts depends on what is left of
the arm: a trainer that is still alive at `done` goes on; otherwise the checkpoint in `thaw_from`
is loaded, and the epochs between it and `done` are trained again (all of them if there is no
checkpoint). Epochs trained again are never reported as losses, only counted in `Report.rerun`,
and their time is part of `Report.seconds`: lost work is paid for at its true cost.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from bhpt.domain.errors import Misuse


class FailureKind(StrEnum):
    """How a job can fail. Whether it is tried again is the study's business."""

    CRASHED = "crashed"  # the trainer raised, or its process died
    TIMED_OUT = "timed-out"  # it ran past its limit and was killed
    BAD_REPORT = "bad-report"  # it returned what is not a loss, or too few or too many
    IMPORT_FAILED = "import-failed"  # the trainer could not be imported in the worker
    STOPPED = "stopped"  # the driver asked for it
    DISK_FULL = "disk-full"  # the checkpoint could not be written: pause the study


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a job has no losses.

    Attributes:
        kind: What happened.
        message: One line for a person.
        tail: The last lines that the job printed, without control characters.
    """

    kind: FailureKind
    message: str
    tail: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt at one unit.

    Attributes:
        attempt: Identity of this attempt; never used twice.
        arm: Which configuration, at most one job of an arm at a time.
        config: The configuration; must survive JSON.
        epochs: How many new losses are wanted.
        done: Epochs of this arm that are already reported.
        freeze_to: Empty folder for the new checkpoint, as `CheckpointStore.begin` makes it: its
            manifest goes beside it. The driver commits both after the report.
        thaw_from: Committed checkpoint folder, None to start from nothing.
        thaw_epochs: Epochs that the checkpoint in `thaw_from` holds, at most `done`.
        limit_s: Seconds after which the job is killed, None for no limit.
        digest: What `thaw_from` must be, to be checked before it is loaded; None if it was.
    """

    attempt: int
    arm: int
    config: Mapping[str, object]
    epochs: int
    done: int
    freeze_to: Path
    thaw_from: Path | None = None
    thaw_epochs: int = 0
    limit_s: float | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        """Refuse what a worker could only misunderstand."""
        if self.epochs < 1 or self.done < 0:
            raise Misuse(f"attempt {self.attempt}: a job needs epochs >= 1 and done >= 0")
        if (self.thaw_from is None) != (self.thaw_epochs == 0) or self.thaw_epochs > self.done:
            raise Misuse(
                f"attempt {self.attempt}: thaw_epochs must be 0 without thaw_from, else 1 to done"
            )
        if self.limit_s is not None and not self.limit_s > 0:
            raise Misuse(f"attempt {self.attempt}: limit_s must be positive, not {self.limit_s}")
        try:
            json.dumps(dict(self.config))
        except (TypeError, ValueError) as error:
            raise Misuse(
                f"the configuration of arm {self.arm} is not plain JSON: {error}"
            ) from None


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a job; there is exactly one for each.

    Attributes:
        attempt: The job's attempt.
        arm: The job's arm.
        losses: The new losses, `Job.epochs` of them, NaN and infinity kept; empty on failure.
        failure: None if and only if the losses are there.
        seconds: Monotonic time that the slot was busy with it, reruns and set-up included.
        setup_s: The part of `seconds` that went into starting a worker and importing the trainer.
        rerun: Epochs that had to be trained again before the new ones.
        frozen: Whether `freeze_to` holds a checkpoint at epoch `done + epochs`.
    """

    attempt: int
    arm: int
    losses: tuple[float, ...]
    failure: Failure | None
    seconds: float
    setup_s: float = 0.0
    rerun: int = 0
    frozen: bool = False


@dataclass(frozen=True, slots=True)
class Running:
    """A look at a busy slot, for progress.

    Attributes:
        attempt: The job's attempt.
        arm: The job's arm.
        slot: Which slot it runs in.
        pid: Process, None where there is none.
        started: When it was submitted, on the executor's clock.
        lines: What it printed last.
    """

    attempt: int
    arm: int
    slot: int
    pid: int | None
    started: float
    lines: tuple[str, ...] = ()


class Executor(Protocol):
    """The contract; `tests/executors/test_contract.py` runs over every engine."""

    @property
    def slots(self) -> int:
        """How many jobs can run at once."""
        ...

    @property
    def free(self) -> int:
        """How many jobs could be submitted now."""
        ...

    def now(self) -> float:
        """The clock of this executor in seconds: monotonic, or virtual."""
        ...

    def reruns(self, job: Job) -> int:
        """Epochs that `submit(job)` would have to train again first; ask before reserving."""
        ...

    def submit(self, job: Job) -> None:
        """Start a job in a free slot.

        Raises:
            Misuse: No slot is free, or the attempt or its arm is already running.
        """
        ...

    def poll(self, timeout: float | None = None) -> list[Report]:
        """Reports that have come, waiting up to `timeout` seconds for the first (None: no limit).

        Limits are enforced here, so a driver must keep polling. Returns an empty list at once
        when nothing runs.
        """
        ...

    def stop(self, attempt: int, grace: float) -> None:
        """Ask a job to end, and kill it `grace` seconds later; its report comes through `poll`.

        A job that finishes first reports its losses as usual. Nothing happens if it has already.
        """
        ...

    def running(self) -> tuple[Running, ...]:
        """What runs now."""
        ...

    def close(self, grace: float = 0.0) -> None:
        """End everything; afterwards no process is left. Jobs still running are not reported."""
        ...
