"""One slot of a local executor: a worker at most, a job at most, and how both can end.

free ──give──▶ busy ──Report──▶ free, worker kept warm
│  limit, stop: TERM, after the grace KILL ──▶ dead
└─ dead ──▶ what it left running is killed, the job reported, worker gone
"""

import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bhpt.domain.results import Failure, FailureKind, Usage
from bhpt.executors.interface import Job, Report, Running
from bhpt.executors.live_trainers import Alive
from bhpt.executors.logs import SlotLog
from bhpt.executors.messages import Order, Ready, Reply, Unusable
from bhpt.executors.processes import Guard, Surroundings, WorkerProcess, wait_until_dead
from bhpt.trainers.exit_words import how_it_ended
from bhpt.trainers.specs import TrainerSpec

_LINGER_S = 1.0  # what has hung up may take this long to be gone
_UNKILLABLE_S = 5.0  # after a kill; then the slot goes on without waiting for the kernel
_FAILURES_IN_A_ROW = 2  # then a worker is replaced: its device may be in a bad state
_SHOWN_LINES = 5
_STAY = ("generator", "function")  # kinds of which several stay alive in a worker


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """How workers are supervised; the defaults suit nearly everyone.

    Attributes:
        grace_s: Between asking a job past its limit to end and killing it.
        keep_alive: Trainers that cannot be frozen and stay alive in one worker; those unused for
            longest are let go first and would be trained again.
        log_bytes: Size of a slot's log after which its older half is cut off.
        start_limit_s: How long the import of the trainer may take.
        threads: Threads for numerical libraries in a worker; None for its share of the cores.
        gpus: GPUs for a worker: whole ones of its own or a share of one; None if it sees all.
        variables: Further variables for the environment of workers.
    """

    grace_s: float = 5.0
    keep_alive: int = 32
    log_bytes: int = 10 << 20
    start_limit_s: float = 300.0
    threads: int | None = None
    gpus: float | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Crew:
    """What all slots of an executor share."""

    trainer: TrainerSpec
    slots: int
    token: str
    options: LocalOptions
    devices: Sequence[tuple[str, ...]] | None = None

    def around(self, slot: int) -> Surroundings:
        """What the worker of a slot finds around it."""
        return Surroundings(
            slot=slot,
            slots=self.slots,
            threads=self.options.threads,
            devices=None if self.devices is None else self.devices[slot],
            variables=self.options.variables,
        )


class LocalSlot:
    """A supervised place for one job.

    Args:
        index: Which slot.
        crew: What all slots share.
        log: Where its workers print.
    """

    def __init__(self, index: int, crew: Crew, log: SlotLog) -> None:
        self.index = index
        self.log = log
        self.alive = Alive()
        self.last_used = 0.0
        self.is_ready = False
        self.unusable: Failure | None = None
        self._crew = crew
        self._spawned = 0
        self._worker: WorkerProcess | None = None
        self._dying: list[WorkerProcess] = []
        self._order: Order | None = None
        self._limit_at: float | None = None
        self._kill_at: float | None = None
        self._ending: Failure | None = None
        self._failed_in_a_row = 0
        self._keeps = 1
        self._guard: Guard | None = None
        self._spawned_at = 0.0
        self._unpaid_s = 0.0  # how long the worker took to start, if no job has paid for it
        self._ended_at: float | None = None  # by the guard
        self._training_pid: int | None = None

    @property
    def is_free(self) -> bool:
        """Whether a job can be given to it."""
        return self._order is None

    @property
    def job(self) -> Job | None:
        """What it runs."""
        return None if self._order is None else self._order.job

    @property
    def connection(self) -> int | None:
        """Descriptor to wait for: readable when the worker sends something or ends."""
        worker = self._worker
        return None if worker is None or worker.hung_up else worker.fileno()

    @property
    def wakes_at(self) -> float:
        """When `tend` must be called even if the worker sends nothing."""
        times = [at for at in (self._limit_at, self._kill_at) if at is not None]
        return min(times, default=float("inf"))

    def running(self) -> Running | None:
        """A look at its job."""
        if self._order is None:
            return None
        return Running(
            attempt=self._order.job.attempt,
            arm=self._order.job.arm,
            slot=self.index,
            pid=None if self._worker is None else self._training_pid or self._worker.pid,
            started=self._order.submitted,
            lines=self.log.tail(_SHOWN_LINES),
        )

    def spawn(self) -> WorkerProcess:
        """Start a worker; it begins with importing the trainer."""
        self._spawned += 1
        self.log.mark("a worker starts")
        token = f"{self._crew.token}.{self.index}.{self._spawned}."
        around = self._crew.around(self.index)
        self._worker = WorkerProcess.start(self._crew.trainer, self.log, token, around)
        self._spawned_at = time.monotonic()
        self._unpaid_s = 0.0
        self._limit_at = self._spawned_at + self._crew.options.start_limit_s
        return self._worker

    def give(self, job: Job, guard: Guard) -> float:
        """Run a job; one that goes on with a live trainer is given to the slot that holds it.

        Returns:
            Since when its time is counted: the first job of a worker pays for its start.
        """
        now = time.monotonic()
        worker = self._worker or self.spawn()
        since = now - self._unpaid_s if self.is_ready else min(now, self._spawned_at)
        self._unpaid_s = 0.0
        order = Order(job, since, drop=self.alive.give_up(job.arm))
        self._guard = guard
        if job.paid_s is not None:
            guard.limit(worker, since + job.paid_s)
        self.log.mark(f"attempt {job.attempt}: arm {job.arm} from epoch {job.done + 1}")
        self._order = order
        self.last_used = now
        if self.is_ready:
            self._limit_at = _after(now, job.limit_s)
        worker.send(order)
        return since

    def extend(self, paid_s: float) -> None:
        """Change when the guard ends the job."""
        if self._order is not None and self._worker is not None and self._guard is not None:
            self._guard.limit(self._worker, self._order.submitted + paid_s)

    def tend(self) -> Report | None:
        """Read from the worker, notice its death, enforce limits; the report of an ended job."""
        self._dying = wait_until_dead(self._dying, 0.0)
        worker = self._worker
        if worker is None:
            return None
        dead = worker.is_dead()  # first: what it sent before it died still counts
        report = self._listen(worker)
        if self._worker is None:  # it was replaced because of what it sent
            return report
        if dead:
            return report or self._bury(worker)
        return report or self._enforce(worker)

    def stop(self, grace: float) -> None:
        """Ask the job to end on the driver's behalf."""
        self.ask_to_end(Failure(FailureKind.STOPPED, "the driver stopped it"), grace)

    def ask_to_end(self, failure: Failure, grace: float) -> None:
        """TERM now, KILL after the grace, for the reason given."""
        if self._worker is None:
            return
        is_first = self._ending is None
        self._ending = self._ending or failure
        self._kill_at = _earlier(self._kill_at, time.monotonic() + grace)
        if grace <= 0:
            self._worker.signal(signal.SIGKILL)
        elif is_first:
            self._worker.signal(signal.SIGTERM)

    def release(self, grace: float) -> list[WorkerProcess]:
        """Ask an idle worker to go and a busy one to end; the caller waits for them."""
        workers, worker = self._dying, self._worker
        if worker is not None:
            workers = [*workers, worker]
            if self.is_free:
                worker.hang_up()
            else:
                worker.signal(signal.SIGTERM if grace > 0 else signal.SIGKILL)
        self._dying = []
        self._order = None
        self._emptied()
        return workers

    def _listen(self, worker: WorkerProcess) -> Report | None:
        report = None
        try:
            for reply in worker.receive():
                report = self._hear(reply) or report
        except ValueError as error:
            failure = Failure(FailureKind.CRASHED, f"the worker's connection is broken: {error}")
            self.ask_to_end(failure, 0.0)
        if worker.hung_up and self._kill_at is None:
            self._kill_at = time.monotonic() + _LINGER_S
        return report

    def _hear(self, reply: Reply) -> Report | None:
        match reply:
            case Ready():
                self.is_ready = True
                self._training_pid = reply.pid
                if self._order is None:
                    self._unpaid_s = max(0.0, reply.at - self._spawned_at)
                self._keeps = self._crew.options.keep_alive if reply.kind in _STAY else 1
                limit = None if self._order is None else self._order.job.limit_s
                self._limit_at = _after(time.monotonic(), limit)
            case Unusable():
                self._ending = self._ending or Failure(FailureKind.IMPORT_FAILED, reply.message)
            case Report():
                return self._settle(reply)
        return None

    def _settle(self, came: Report) -> Report:
        """Take the report of the job; a failure gets the last lines of the log."""
        job = self.job
        if job is None or (job.attempt, job.arm) != (came.attempt, came.arm):
            raise ValueError(f"attempt {came.attempt} of arm {came.arm} is not running there")
        if came.failure is None:
            if came.alive:
                keeps = 1 if came.result.frozen else self._keeps
                self.alive.remember(job.arm, job.done + job.epochs, keeps)
            self._failed_in_a_row = 0
        else:
            failure = replace(self._ending or came.failure, usage=came.usage)
            came = replace(came, outcome=self._with_log(failure))
            self._failed_in_a_row += 1
        self._order = None
        self._limit_at = None
        self._lift()
        if self._ending is not None or self._failed_in_a_row >= _FAILURES_IN_A_ROW:
            self._retire()
        return came

    def _enforce(self, worker: WorkerProcess) -> Report | None:
        self.log.trim()
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            worker.signal(signal.SIGKILL)
            if now >= self._kill_at + _UNKILLABLE_S:
                report = self._lose(Failure(FailureKind.CRASHED, "it cannot even be killed"))
                self._retire()
                return report
        elif self._limit_at is not None and now >= self._limit_at and self._ending is None:
            self.ask_to_end(self._past_limit(), self._crew.options.grace_s)
        return None

    def _past_limit(self) -> Failure:
        if not self.is_ready or self._order is None:
            what = f"importing {self._crew.trainer} took more than"
            limit = self._crew.options.start_limit_s
            advice = "make it faster, or give more budget"
            return Failure(
                FailureKind.IMPORT_FAILED,
                f"{what} {limit:.3g} s, all that there was for it: {advice}",
            )
        limit = self._order.job.limit_s or 0.0
        return Failure(FailureKind.TIMED_OUT, f"it ran past its limit of {limit:g} s")

    def _bury(self, worker: WorkerProcess) -> Report | None:
        """A worker has died: end what it left running, and report its job."""
        status = worker.bury()
        self._ended_at = None if self._guard is None else self._guard.ended_at(worker)
        if self._ended_at is not None:
            report = self._lose(Failure(FailureKind.STOPPED, "its paid time was over"))
        elif self.is_ready:
            report = self._lose(Failure(FailureKind.CRASHED, f"the worker {how_it_ended(status)}"))
        else:
            report = self._lose(self._dead_at_import(status))
        self._emptied()
        return report

    def _dead_at_import(self, status: int) -> Failure:
        said = self.log.tail(1)
        last = f"; the last it said: {said[0]}" if said else ""
        return Failure(
            FailureKind.IMPORT_FAILED,
            f"the worker {how_it_ended(status)} while it imported {self._crew.trainer}{last}",
        )

    def _lose(self, failure: Failure) -> Report | None:
        """Fail the job, for the reason for which it was ended if it was."""
        why = self._with_log(self._ending or failure)
        order, self._order = self._order, None
        if order is not None:
            until = time.monotonic() if self._ended_at is None else self._ended_at
            usage = Usage(max(0.0, until - order.submitted))
            return Report(order.job.attempt, order.job.arm, replace(why, usage=usage))
        if why.kind is FailureKind.IMPORT_FAILED:
            self.unusable = why
        return None

    def _retire(self) -> None:
        """Replace a worker: kill it now, bury it when it is dead."""
        if self._worker is not None:
            self._worker.signal(signal.SIGKILL)
            self._dying.append(self._worker)
        self._emptied()

    def _lift(self) -> None:
        """Lift the guard's limit: the worker runs no job."""
        if self._guard is not None and self._worker is not None:
            self._guard.lift(self._worker)

    def _emptied(self) -> None:
        """The process is gone, and all that lived in it."""
        self._lift()
        self._worker = None
        self._ended_at = None
        self._unpaid_s = 0.0
        self.is_ready = False
        self._training_pid = None
        self._limit_at = self._kill_at = None
        self._ending = None
        self._failed_in_a_row = 0
        self.alive = Alive()

    def _with_log(self, failure: Failure) -> Failure:
        """A failure with the last lines of the log."""
        return replace(failure, tail="\n".join(self.log.tail()))


def _after(now: float, seconds: float | None) -> float | None:
    return None if seconds is None else now + seconds


def _earlier(at: float | None, other: float) -> float:
    return other if at is None else min(at, other)
