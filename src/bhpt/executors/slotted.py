"""What executors of supervised slots have in common: which slot takes a job, and the polling loop.

A subclass starts the workers, gives jobs to slots, and says how to look after the slots and how to
wait for them.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from bhpt.domain.closing import Closing
from bhpt.domain.resume import Resume
from bhpt.executors.interface import Job, Report, Running, TrainerGone, refuse_job
from bhpt.executors.live_trainers import Alive

TICK_S = 0.1
"""An end that no connection reports is noticed after this many seconds."""


class WorkerSlot(Protocol):
    """A place for one job."""

    @property
    def index(self) -> int:
        """Which slot, counted from 0."""
        ...

    @property
    def is_free(self) -> bool:
        """Whether a job can be given to it."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether its worker has imported the trainer."""
        ...

    @property
    def job(self) -> Job | None:
        """What it runs."""
        ...

    @property
    def alive(self) -> Alive:
        """Trainers that stay alive in its worker."""
        ...

    @property
    def last_used(self) -> float:
        """When it was last given a job, on the monotonic clock."""
        ...

    def extend(self, paid_s: float) -> None:
        """Change `Job.paid_s` of its job."""
        ...

    def stop(self, grace: float) -> None:
        """Ask its job to end."""
        ...

    def running(self) -> Running | None:
        """A look at its job, None if there is none."""
        ...


S = TypeVar("S", bound=WorkerSlot)


class SlottedExecutor(Closing, ABC, Generic[S]):
    """The shared part of an `Executor`; see there for the contract.

    Args:
        slots: One for each worker.
    """

    def __init__(self, slots: Sequence[S]) -> None:
        self._slots = slots
        self._start_s = 0.0
        self._reports: list[Report] = []
        self._closed = False

    @property
    def slots(self) -> int:
        """How many jobs can run at once."""
        return len(self._slots)

    @property
    def free(self) -> int:
        """How many jobs could be submitted now."""
        return 0 if self._closed else sum(slot.is_free for slot in self._slots)

    @property
    def start_s(self) -> float:
        """How long the start took."""
        return self._start_s

    def now(self) -> float:
        """The monotonic clock."""
        return time.monotonic()

    def can_resume(self, arm: int, epoch: int) -> bool:
        """Whether the arm's trainer lives in a free slot, at exactly this epoch."""
        if self._holder(arm, epoch) is None:  # of most arms: no need to look after the workers
            return False
        self._tend()
        return self._holder(arm, epoch) is not None

    def worker_for(self, arm: int, resume: Resume) -> int | None:
        """The slot that has its trainer alive, else the one that has least to lose."""
        slot = self._holder(arm, resume.epochs) if resume.live else self._idlest()
        return None if slot is None else slot.index

    def extend(self, attempt: int, paid_s: float) -> None:
        """Change when the guard ends a job."""
        slot = self._running(attempt)
        if slot is not None:
            slot.extend(paid_s)

    def poll(self, timeout: float | None = None) -> list[Report]:
        """Look after the workers until there is something to report."""
        until = None if timeout is None else self.now() + timeout
        while True:
            self._tend()
            self._settle_slots()
            if self._reports or all(slot.job is None for slot in self._slots):
                reports, self._reports = self._reports, []
                return reports
            left = TICK_S if until is None else until - self.now()
            if left <= 0:
                return []
            self._wait(left)

    def stop(self, attempt: int, grace: float) -> None:
        """Ask a job to end; its worker goes with it."""
        slot = self._running(attempt)
        if slot is not None:
            slot.stop(grace)

    def running(self) -> tuple[Running, ...]:
        """Busy slots, with what they printed last."""
        looks = (slot.running() for slot in self._slots)
        return tuple(look for look in looks if look is not None)

    @abstractmethod
    def close(self, grace: float = 0.0) -> None:
        """End everything; afterwards no process is left."""

    @abstractmethod
    def _tend(self) -> None:
        """Look after every slot, and take in the reports that have come."""

    def _settle_slots(self) -> None:
        """Take or give back workers, where a subclass does so while it is used.

        Only polling and starting call it: a slot that was free when its driver decided on a unit
        is free when the unit is submitted.
        """

    @abstractmethod
    def _wait(self, seconds: float) -> None:
        """Sleep until a worker may have something to say, at most so many seconds."""

    def _take_in(self, report: Report, reporter: S) -> None:
        """Keep a report for `poll`; trainers of its arm in other slots are out of date."""
        self._reports.append(report)
        for slot in self._slots:
            if slot is not reporter:
                slot.alive.forget(report.arm)

    def _slot_for(self, job: Job) -> S:
        """The free slot that a job is given to.

        It is the one that holds the job's live trainer, else the one that the job is meant for,
        else the one that has least to lose.

        Raises:
            Misuse: No slot is free, or the attempt or its arm is already running.
            TrainerGone: The live trainer is dead.
        """
        running = [slot.job for slot in self._slots if slot.job is not None]
        refuse_job(job, running, free=self.free, slots=self.slots, closed=self._closed)
        if job.resume.live:
            found = self._holder(job.arm, job.done)
        else:
            meant = (slot for slot in self._slots if slot.index == job.worker and slot.is_free)
            found = next(meant, None) or self._idlest()
        if found is None:
            raise TrainerGone(f"no trainer of arm {job.arm} is alive at epoch {job.done}")
        return found

    def _running(self, attempt: int) -> S | None:
        """The slot that runs an attempt, None if it has ended."""
        jobs = ((slot, slot.job) for slot in self._slots)
        return next((slot for slot, job in jobs if job and job.attempt == attempt), None)

    def _idlest(self) -> S | None:
        """The free slot that has least to lose, None if all are busy."""
        return min(
            (slot for slot in self._slots if slot.is_free),
            key=lambda slot: (len(slot.alive), not slot.is_ready, slot.last_used),
            default=None,
        )

    def _holder(self, arm: int, epoch: int) -> S | None:
        """The free slot in which the arm's trainer lives at this epoch."""
        holders = (slot for slot in self._slots if slot.is_free and slot.alive.holds(arm, epoch))
        return next(holders, None)
