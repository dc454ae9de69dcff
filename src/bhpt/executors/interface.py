"""What every engine promises: one job a slot, one report a job, however the job ends.

A job trains one arm from `done` to `done + epochs`. Where it starts is in `Job.resume`: nothing, a
checkpoint, or the trainer that is still alive in a slot. The epochs between that and `done` are
trained again. They are never reported as losses, only counted in `Usage.rerun`, and their time is
part of `Usage.seconds`: lost work is paid for at its true cost.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from bhpt.domain.errors import Misuse
from bhpt.domain.objective import Objective
from bhpt.domain.results import Failure, UnitOutcome, UnitResult, Usage
from bhpt.domain.resume import Resume


class TrainerGone(RuntimeError):
    """The live trainer that a job was to go on with is dead: ask again where the arm goes on."""


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt at one unit.

    Attributes:
        attempt: Identity of this attempt; never used twice.
        arm: Which configuration, at most one job of an arm at a time.
        config: The configuration; must survive JSON.
        epochs: How many new epochs are wanted.
        done: Epochs of this arm that are already reported.
        freeze_to: Empty folder for the new checkpoint, as `CheckpointStore.begin` makes it: its
            manifest goes beside it. The driver commits both after the report.
        resume: Where to start, at most at `done`.
        limit_s: Seconds after which the job is killed, None for no limit.
        objective: Which metric counts.
        paid_s: Seconds, from when its time is counted, that its budget pays for; None for no end.
            Then it is killed even without a poll: a driver may be stopped, too.
        worker: Which slot it is meant for; another one is taken if that is not free, or if its
            trainer lives elsewhere.
    """

    attempt: int
    arm: int
    config: Mapping[str, object]
    epochs: int
    done: int
    freeze_to: Path
    resume: Resume = field(default_factory=Resume)
    limit_s: float | None = None
    objective: Objective = field(default_factory=Objective)
    paid_s: float | None = None
    worker: int | None = None

    def __post_init__(self) -> None:
        """Refuse values that contradict each other or cannot be sent."""
        if self.epochs < 1 or self.done < 0:
            raise Misuse(f"attempt {self.attempt}: a job needs epochs >= 1 and done >= 0")
        ahead = self.resume.epochs > self.done
        if ahead or (self.resume.live and self.resume.epochs != self.done):
            raise Misuse(
                f"attempt {self.attempt}: an arm at epoch {self.done} cannot go on from epoch "
                f"{self.resume.epochs} of {self.resume}"
            )
        if self.limit_s is not None and not self.limit_s > 0:
            raise Misuse(f"attempt {self.attempt}: limit_s must be positive, not {self.limit_s}")
        try:
            json.dumps(dict(self.config))
        except (TypeError, ValueError) as error:
            raise Misuse(
                f"the configuration of arm {self.arm} is not plain JSON: {error}"
            ) from None

    @property
    def rerun(self) -> int:
        """Epochs that are trained again before the new ones."""
        return self.done - self.resume.epochs


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a job; the worker sends it, and there is exactly one for each.

    Attributes:
        attempt: The job's attempt.
        arm: The job's arm.
        outcome: Its result, with `Job.epochs` losses, or why there is none.
        alive: Whether the trainer lives on and can go on without being thawed.
    """

    attempt: int
    arm: int
    outcome: UnitOutcome
    alive: bool = False

    @property
    def failure(self) -> Failure | None:
        """Why there is no result, None if there is one."""
        return self.outcome if isinstance(self.outcome, Failure) else None

    @property
    def result(self) -> UnitResult:
        """The result.

        Raises:
            ValueError: The job failed.
        """
        if isinstance(self.outcome, Failure):
            raise ValueError(f"attempt {self.attempt} failed: {self.outcome.message}")
        return self.outcome

    @property
    def usage(self) -> Usage:
        """What the job took, however it ended."""
        return self.outcome.usage


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


@runtime_checkable
class PlacingExecutor(Protocol):
    """An executor that says beforehand which worker will train a unit, so that it can be logged."""

    def worker_for(self, arm: int, resume: Resume) -> int | None:
        """Which slot a job of an arm would be given to now, counted from 0; None if none is free.

        Args:
            arm: Which one.
            resume: Where it would go on from.
        """
        ...


def refuse_job(job: Job, running: Collection[Job], *, free: int, slots: int, closed: bool) -> None:
    """Refuse a job that an executor cannot take now.

    Args:
        job: What is submitted.
        running: Jobs in flight.
        free: Slots that could take it.
        slots: Slots in all.
        closed: Whether the executor is closed.

    Raises:
        Misuse: It is closed, no slot is free, or the attempt or its arm is already running.
    """
    if closed:
        raise Misuse("this executor is closed: make another")
    if not free:
        raise Misuse(f"all {slots} slots are busy: poll for a report before submitting")
    if any(one.arm == job.arm or one.attempt == job.attempt for one in running):
        raise Misuse(f"arm {job.arm} or attempt {job.attempt} is already running")


class Executor(Protocol):
    """The contract; `bhpt.testing.ExecutorContract` tests an implementation."""

    @property
    def slots(self) -> int:
        """How many jobs can run at once."""
        ...

    @property
    def free(self) -> int:
        """How many jobs could be submitted now; changes in `submit`, `poll` and `can_resume` only.

        Less than `slots` although nothing runs means that workers are missing: they may come.
        """
        ...

    def now(self) -> float:
        """The clock of this executor in seconds: monotonic, or virtual."""
        ...

    def can_resume(self, arm: int, epoch: int) -> bool:
        """Whether a live trainer of this arm, at exactly this epoch, could go on now."""
        ...

    @property
    def start_s(self) -> float:
        """Seconds that it took to start, before a job could be submitted: they are charged."""
        ...

    def submit(self, job: Job) -> float:
        """Start a job in a free slot.

        Returns:
            Since when its time is counted: now, or earlier by the time that it took to start the
            worker which it is the first job of.

        Raises:
            Misuse: No slot is free, or the attempt or its arm is already running.
            TrainerGone: The job goes on with a live trainer, and `can_resume` says no by now.
        """
        ...

    def poll(self, timeout: float | None = None) -> list[Report]:
        """Reports that have come, waiting up to `timeout` seconds for the first (None: no limit).

        Limits are enforced here, so a driver must keep polling. Returns an empty list at once
        when nothing runs.
        """
        ...

    def extend(self, attempt: int, paid_s: float) -> None:
        """Change `Job.paid_s` of a running job; nothing happens if it has ended already."""
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
