"""The contract of an executor with a table instead of training and a clock that is only a number.

A driver over it is tested in no time, with any failure at any moment, and always alike.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bhpt.domain.arrays import FloatArray
from bhpt.domain.errors import Misuse
from bhpt.domain.reports import read_reports
from bhpt.domain.results import Failure, FailureKind, UnitResult, Usage
from bhpt.domain.resume import Resume
from bhpt.executors.interface import Job, Report, Running, TrainerGone, refuse_job

PerEpoch = Callable[[int, int], float]
ReportTable = Callable[[int, int], object]
LossTable = PerEpoch | FloatArray | Sequence[Sequence[float]] | float
_STATE = "simulated.json"


@dataclass(frozen=True, slots=True)
class SimulatedFault:
    """A failure to inject: how, and how many seconds after the job's start."""

    kind: FailureKind = FailureKind.CRASHED
    after_s: float = 0.0
    message: str = "injected"


@dataclass(frozen=True, slots=True)
class _Flight:
    """A job and what will come of it."""

    job: Job
    slot: int
    started: float
    ends: float
    failure: Failure | None


class SimulatedExecutor:
    """Looks losses and seconds up instead of training; see `Executor` for the contract.

    Args:
        losses: What a trainer would report of (arm, epoch), epochs from 1: a function to a number
            or a mapping of metrics, a table with a row an arm, or one number for all.
        seconds: Seconds that the epoch takes, likewise; infinite for one that hangs.
        slots: How many jobs can run at once.
        faults: Failures by attempt, or a function of the job.
        freezes: Whether jobs write checkpoints, like a class does; otherwise every arm stays
            alive until its job fails, like a generator does.
    """

    def __init__(
        self,
        losses: LossTable | ReportTable,
        seconds: LossTable = 1.0,
        slots: int = 1,
        faults: Mapping[int, SimulatedFault] | Callable[[Job], SimulatedFault | None] | None = None,
        *,
        freezes: bool = True,
    ) -> None:
        if slots < 1:
            raise Misuse(f"there must be at least one slot, not {slots}")
        self._losses: ReportTable = losses if callable(losses) else _per_epoch(losses)
        self._seconds = _per_epoch(seconds)
        self._slots = slots
        self._faults = faults if callable(faults) else _by_attempt(faults or {})
        self._freezes = freezes
        self._alive: dict[int, int] = {}
        self._flights: list[_Flight] = []
        self._clock = 0.0
        self._closed = False

    @property
    def slots(self) -> int:
        """How many jobs can run at once."""
        return self._slots

    @property
    def free(self) -> int:
        """How many jobs could be submitted now."""
        return self._slots - len(self._flights)

    def now(self) -> float:
        """The virtual clock, from 0."""
        return self._clock

    def advance(self, seconds: float) -> None:
        """Let time pass, as a real driver's decisions do; jobs end meanwhile."""
        self._clock += seconds

    def can_resume(self, arm: int, epoch: int) -> bool:
        """Whether the arm's trainer lives, at exactly this epoch."""
        return self._alive.get(arm) == epoch

    @property
    def start_s(self) -> float:
        """It takes no time to start."""
        return 0.0

    def worker_for(self, arm: int, resume: Resume) -> int | None:  # noqa: ARG002  # all are alike
        """The first free slot."""
        return next(iter(self._free_slots()), None)

    def _free_slots(self) -> list[int]:
        used = {flight.slot for flight in self._flights}
        return [slot for slot in range(self._slots) if slot not in used]

    def submit(self, job: Job) -> float:
        """Work out at once what will come of a job and when; its time is counted from now."""
        self._refuse(job)
        self._check_resume(job)
        self._alive.pop(job.arm, None)
        epochs = range(job.resume.epochs + 1, job.done + job.epochs + 1)
        lasts = float(sum(self._seconds(job.arm, epoch) for epoch in epochs))
        lasts, failure = self._fate(job, lasts)
        free = self._free_slots()
        slot = job.worker if job.worker in free else free[0]
        now = self._clock
        self._flights.append(_Flight(job, slot, now, now + lasts, failure))
        return now

    def extend(self, attempt: int, paid_s: float) -> None:
        """A driver over a virtual clock is never stopped, so it keeps this limit itself."""

    def poll(self, timeout: float | None = None) -> list[Report]:
        """Let the clock jump to the next report, or by `timeout` if there is none until then."""
        if not self._flights:
            return []
        first = min(flight.ends for flight in self._flights)
        until = first if timeout is None else min(first, self._clock + timeout)
        if until == float("inf"):
            raise Misuse("the simulated jobs hang, so polling without a timeout never ends")
        self._clock = max(self._clock, until)
        over = [flight for flight in self._flights if flight.ends <= self._clock]
        self._flights = [flight for flight in self._flights if flight.ends > self._clock]
        return [self._land(flight) for flight in sorted(over, key=lambda one: one.ends)]

    def stop(self, attempt: int, grace: float) -> None:  # noqa: ARG002  # it ends when asked
        """End a job now, unless it has already."""
        stopped = Failure(FailureKind.STOPPED, "the driver stopped it")
        self._flights = [
            _Flight(one.job, one.slot, one.started, self._clock, stopped)
            if one.job.attempt == attempt and one.ends > self._clock
            else one
            for one in self._flights
        ]

    def running(self) -> tuple[Running, ...]:
        """What runs now."""
        return tuple(
            Running(one.job.attempt, one.job.arm, one.slot, None, one.started)
            for one in self._flights
        )

    def close(self, grace: float = 0.0) -> None:  # noqa: ARG002  # no process to wait for
        """Forget everything."""
        self._flights = []
        self._alive = {}
        self._closed = True

    def _refuse(self, job: Job) -> None:
        running = [flight.job for flight in self._flights]
        refuse_job(job, running, free=self.free, slots=self.slots, closed=self._closed)

    def _check_resume(self, job: Job) -> None:
        """A driver that thaws the wrong checkpoint is a bug that tables would hide."""
        if job.resume.live and not self.can_resume(job.arm, job.done):
            raise TrainerGone(f"no trainer of arm {job.arm} is alive at epoch {job.done}")
        if job.resume.place is None or not self._freezes:
            return
        state = json.loads((job.resume.place / _STATE).read_text())
        if state != {"arm": job.arm, "epochs": job.resume.epochs}:
            raise Misuse(f"attempt {job.attempt} thaws {state}, not arm {job.arm}'s checkpoint")

    def _fate(self, job: Job, lasts: float) -> tuple[float, Failure | None]:
        """How long a job lasts and how it fails, if it does."""
        failure = None
        fault = self._faults(job)
        if fault is not None and fault.after_s <= lasts:
            lasts, failure = fault.after_s, Failure(fault.kind, fault.message)
        if job.limit_s is not None and lasts > job.limit_s:
            message = f"it ran past its limit of {job.limit_s:g} s"
            lasts, failure = job.limit_s, Failure(FailureKind.TIMED_OUT, message)
        return lasts, failure

    def _land(self, flight: _Flight) -> Report:
        job = flight.job
        usage = Usage(flight.ends - flight.started, rerun=job.rerun)
        if flight.failure is not None:
            return Report(job.attempt, job.arm, replace(flight.failure, usage=usage))
        end = job.done + job.epochs
        reports = [
            report
            for epoch in range(job.done + 1, end + 1)
            for report in read_reports(self._losses(job.arm, epoch), job.objective, "the table")
        ]
        if self._freezes:
            job.freeze_to.mkdir(parents=True, exist_ok=True)
            state = {"arm": job.arm, "epochs": end}
            (job.freeze_to / _STATE).write_text(json.dumps(state))
        else:
            self._alive[job.arm] = end
        result = replace(UnitResult.of(reports, frozen=self._freezes), usage=usage)
        return Report(job.attempt, job.arm, result, alive=not self._freezes)


def _per_epoch(table: LossTable) -> PerEpoch:
    if callable(table):
        return table
    if isinstance(table, int | float):
        constant = float(table)
        return lambda _arm, _epoch: constant
    values = np.asarray(table, float)
    return lambda arm, epoch: float(values[arm, epoch - 1])


def _by_attempt(faults: Mapping[int, SimulatedFault]) -> Callable[[Job], SimulatedFault | None]:
    return lambda job: faults.get(job.attempt)
