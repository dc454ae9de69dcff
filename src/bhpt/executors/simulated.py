"""The contract of an executor with a table instead of training and a clock that is only a number.

A driver over it is tested in no time, with any failure at any moment, and always alike.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bhpt.domain.arrays import FloatArray
from bhpt.domain.errors import Misuse
from bhpt.executors.interface import Failure, FailureKind, Job, Report, Running

PerEpoch = Callable[[int, int], float]
LossTable = PerEpoch | FloatArray | Sequence[Sequence[float]] | float
_STATE = "simulated.json"


@dataclass(frozen=True, slots=True)
class Fault:
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
    rerun: int
    failure: Failure | None


class SimulatedExecutor:
    """Looks losses and seconds up instead of training; see `Executor` for the contract.

    Args:
        losses: Loss of (arm, epoch), epochs from 1: a function, a table with a row an arm, or
            one number for all.
        seconds: Seconds that the epoch takes, likewise; infinite for one that hangs.
        slots: How many jobs can run at once.
        faults: Failures by attempt, or a function of the job.
        freezes: Whether jobs write checkpoints, like a class does; otherwise every arm stays
            alive until its job fails, like a generator does.
    """

    def __init__(
        self,
        losses: LossTable,
        seconds: LossTable = 1.0,
        slots: int = 1,
        faults: Mapping[int, Fault] | Callable[[Job], Fault | None] | None = None,
        *,
        freezes: bool = True,
    ) -> None:
        if slots < 1:
            raise Misuse(f"there must be at least one slot, not {slots}")
        self._losses = _per_epoch(losses)
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
        """Let time pass, as it does when a driver thinks; jobs end meanwhile."""
        self._clock += seconds

    def reruns(self, job: Job) -> int:
        """Epochs that would have to be trained again: none if the arm's trainer lives."""
        return 0 if self._alive.get(job.arm) == job.done else job.done - job.thaw_epochs

    def submit(self, job: Job) -> None:
        """Work out at once what will come of a job and when."""
        self._refuse(job)
        rerun = self.reruns(job)
        self._check_thaw(job)
        self._alive.pop(job.arm, None)
        epochs = range(job.done - rerun + 1, job.done + job.epochs + 1)
        lasts = float(sum(self._seconds(job.arm, epoch) for epoch in epochs))
        lasts, failure = self._fate(job, lasts)
        used = {flight.slot for flight in self._flights}
        slot = next(index for index in range(self._slots) if index not in used)
        now = self._clock
        self._flights.append(_Flight(job, slot, now, now + lasts, rerun, failure))

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
            _Flight(one.job, one.slot, one.started, self._clock, one.rerun, stopped)
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

    def close(self, grace: float = 0.0) -> None:  # noqa: ARG002  # there is nobody to wait for
        """Forget everything."""
        self._flights = []
        self._alive = {}
        self._closed = True

    def _refuse(self, job: Job) -> None:
        if self._closed:
            raise Misuse("this executor is closed: make another")
        if not self.free:
            raise Misuse(f"all {self.slots} slots are busy: poll for a report before submitting")
        running = [flight.job for flight in self._flights]
        if any(one.arm == job.arm or one.attempt == job.attempt for one in running):
            raise Misuse(f"arm {job.arm} or attempt {job.attempt} is already running")

    def _check_thaw(self, job: Job) -> None:
        """A driver that thaws the wrong checkpoint is a bug that tables would hide."""
        if job.thaw_from is None or not self._freezes:
            return
        state = json.loads((job.thaw_from / _STATE).read_text())
        if state != {"arm": job.arm, "epochs": job.thaw_epochs}:
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
        seconds = flight.ends - flight.started
        if flight.failure is not None:
            return Report(job.attempt, job.arm, (), flight.failure, seconds)
        end = job.done + job.epochs
        losses = tuple(self._losses(job.arm, epoch) for epoch in range(job.done + 1, end + 1))
        if self._freezes:
            job.freeze_to.mkdir(parents=True, exist_ok=True)
            state = {"arm": job.arm, "epochs": end}
            (job.freeze_to / _STATE).write_text(json.dumps(state))
        else:
            self._alive[job.arm] = end
        return Report(
            attempt=job.attempt,
            arm=job.arm,
            losses=losses,
            failure=None,
            seconds=seconds,
            rerun=flight.rerun,
            frozen=self._freezes,
        )


def _per_epoch(table: LossTable) -> PerEpoch:
    if callable(table):
        return table
    if isinstance(table, int | float):
        constant = float(table)
        return lambda _arm, _epoch: constant
    values = np.asarray(table, float)
    return lambda arm, epoch: float(values[arm, epoch - 1])


def _by_attempt(faults: Mapping[int, Fault]) -> Callable[[Job], Fault | None]:
    return lambda job: faults.get(job.attempt)
