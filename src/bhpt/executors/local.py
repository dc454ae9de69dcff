"""Jobs in processes of this machine: one supervised worker a slot.

Not a pool: a worker that is killed takes nothing with it but its own job, and the next job in its
slot starts another. Everything happens in `poll`, in the driver's own thread. Nothing is tried
again here; that is the study's business.
"""

import os
import platform
import signal
import time
from multiprocessing.connection import wait
from pathlib import Path

from bhpt.checkpoints.disk import refuse_elsewhere
from bhpt.domain.closing import Closing
from bhpt.domain.errors import Misuse
from bhpt.domain.results import Failure, FailureKind
from bhpt.domain.resume import Resume
from bhpt.executors import guard
from bhpt.executors.devices import find_devices, share_devices
from bhpt.executors.interface import Job, Report, Running, TrainerGone, refuse_job
from bhpt.executors.logs import SlotLog
from bhpt.executors.processes import Guard, new_token, wait_until_dead
from bhpt.executors.slot import Crew, LocalOptions, Slot
from bhpt.trainers.import_names import refuse_during_import
from bhpt.trainers.specs import TrainerSpec

_MANY, _MANY_A_CORE = 256, 32  # workers: more is a slip, and their start alone stops a machine
_TICK_S = 0.1  # an end that no connection tells of is noticed after this long
_LINGER_S = 1.0  # an idle worker may take this long to go
_UNKILLABLE_S = 5.0  # after a kill; then the kernel has to see to it


def runs_here() -> bool:
    """Whether this system has what supervising workers takes: Linux's calls and `/proc`."""
    return platform.system() == "Linux"


class LocalExecutor(Closing):
    """Supervised worker processes; see `Executor` for the contract.

    Args:
        trainer: What the workers import.
        slots: How many workers.
        logs: Folder for what they print, one file a slot.
        options: See there.
    """

    def __init__(
        self,
        trainer: TrainerSpec,
        slots: int,
        logs: Path,
        options: LocalOptions = LocalOptions(),  # noqa: B008  # frozen
    ) -> None:
        refuse_during_import()
        if not runs_here():
            raise Misuse(
                f"local workers need Linux, not {platform.system()}: run bhpt there or in a "
                "container; bhpt.Study (ask and tell) and bhpt.sklearn work here"
            )
        if slots < 1:
            raise Misuse(f"there must be at least one worker, not {slots}")
        most = max(_MANY, _MANY_A_CORE * (os.cpu_count() or 1))
        if slots > most:
            raise Misuse(f"{slots} workers would bring this machine down: at most {most}")
        self._logs = logs
        self._token = new_token()
        shares = (
            None if options.gpus is None else share_devices(find_devices(), slots, options.gpus)
        )
        crew = Crew(trainer, slots, self._token, options, shares)
        self._slots = [
            Slot(i, crew, SlotLog(logs / f"slot-{i:02d}.log", options.log_bytes))
            for i in range(slots)
        ]
        self._guard: Guard | None = None
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
        return sum(slot.is_free for slot in self._slots)

    @property
    def start_s(self) -> float:
        """How long `start` took."""
        return self._start_s

    def now(self) -> float:
        """The monotonic clock."""
        return time.monotonic()

    def start(self) -> None:
        """Start all workers and wait until the first has imported the trainer.

        Call it before anything is created: it proves that the trainer can be used. Without it
        workers start with their first job.

        Raises:
            Misuse: The trainer is not there, dies at import or lacks a method. The last lines
                that it printed are a note of the error. Nothing is left behind.
        """
        made = [path for path in (self._logs, *self._logs.parents) if not path.exists()]
        began = self.now()
        try:
            self._prepare()
            for slot in self._slots:
                slot.spawn()
            while not any(slot.is_ready for slot in self._slots):
                self._refuse_unusable()
                self._wait(_TICK_S)
                self._tend()
        except BaseException:
            self.close()
            self._unmake(made)
            raise
        self._start_s = self.now() - began

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

    def submit(self, job: Job) -> float:
        """Give a job to the slot that has its trainer alive, else to the one it is meant for.

        One that is meant for no slot, or for one that is busy, goes to the one with least to lose.
        """
        self._tend()
        self._refuse(job)
        return self._slot_for(job).give(job, self._prepare())

    def extend(self, attempt: int, paid_s: float) -> None:
        """Change when the guard ends a job."""
        for slot in self._slots:
            if slot.job is not None and slot.job.attempt == attempt:
                slot.extend(paid_s)

    def poll(self, timeout: float | None = None) -> list[Report]:
        """Look after the workers until there is something to report."""
        until = None if timeout is None else self.now() + timeout
        while True:
            self._tend()
            if self._reports or self.free == self.slots:
                reports, self._reports = self._reports, []
                return reports
            left = _TICK_S if until is None else until - self.now()
            if left <= 0:
                return []
            self._wait(left)

    def stop(self, attempt: int, grace: float) -> None:
        """Ask a job to end; its worker goes with it."""
        for slot in self._slots:
            if slot.job is not None and slot.job.attempt == attempt:
                failure = Failure(FailureKind.STOPPED, "the driver stopped it")
                slot.ask_to_end(failure, grace)

    def running(self) -> tuple[Running, ...]:
        """Busy slots, with what they printed last."""
        looks = (slot.running() for slot in self._slots)
        return tuple(look for look in looks if look is not None)

    def close(self, grace: float = 0.0) -> None:
        """Let idle workers go, ask busy ones to end, kill what is left after the grace."""
        if self._closed:
            return
        self._closed = True
        workers = [worker for slot in self._slots for worker in slot.release(grace)]
        workers = wait_until_dead(workers, max(grace, _LINGER_S))
        for worker in workers:
            worker.signal(signal.SIGKILL)
        wait_until_dead(workers, _UNKILLABLE_S)
        if self._guard is not None:
            guard.end(self._token)
            self._guard.dismiss()

    def _prepare(self) -> Guard:
        """What has to be there before a worker is: a folder for its log, and the guard."""
        refuse_elsewhere(self._logs)
        self._logs.mkdir(parents=True, mode=0o700, exist_ok=True)
        if self._guard is None:
            self._guard = Guard(self._token)
        return self._guard

    def _refuse_unusable(self) -> None:
        """Once one worker could not import the trainer, none can."""
        unusable = next((slot.unusable for slot in self._slots if slot.unusable), None)
        if unusable is not None:
            error = Misuse(unusable.message)
            error.add_note(unusable.tail)
            raise error

    def _refuse(self, job: Job) -> None:
        running = [slot.job for slot in self._slots if slot.job is not None]
        refuse_job(job, running, free=self.free, slots=self.slots, closed=self._closed)

    def _slot_for(self, job: Job) -> Slot:
        """The free slot that a job is given to."""
        if not job.resume.live:
            meant = None if job.worker is None else self._slots[job.worker]
            found = meant if meant is not None and meant.is_free else self._idlest()
        else:
            found = self._holder(job.arm, job.done)
        if found is None:
            raise TrainerGone(f"no trainer of arm {job.arm} is alive at epoch {job.done}")
        return found

    def _idlest(self) -> Slot | None:
        """The free slot that has least to lose, None if all are busy."""
        return min(
            (slot for slot in self._slots if slot.is_free),
            key=lambda slot: (len(slot.alive), not slot.is_ready, slot.last_used),
            default=None,
        )

    def _holder(self, arm: int, epoch: int) -> Slot | None:
        """The free slot in which the arm's trainer lives at this epoch."""
        holders = (slot for slot in self._slots if slot.is_free and slot.alive.holds(arm, epoch))
        return next(holders, None)

    def _tend(self) -> None:
        """Look after every slot and collect the reports."""
        if self._closed:
            return
        if self._guard is not None:
            self._guard.check()
        for slot in self._slots:
            report = slot.tend()
            if report is None:
                continue
            self._reports.append(report)
            for other in self._slots:
                if other is not slot:  # what lives of this arm elsewhere is out of date now
                    other.alive.forget(report.arm)

    def _wait(self, seconds: float) -> None:
        """Sleep until a worker speaks or ends, but not past a limit."""
        wake = min(slot.wakes_at for slot in self._slots) - self.now()
        connections = [slot.connection for slot in self._slots if slot.connection is not None]
        wait(connections, max(0.0, min(seconds, wake, _TICK_S)))

    def _unmake(self, made: list[Path]) -> None:
        """Remove the logs of a start that failed, and the folders that it made for them."""
        if made:
            for slot in self._slots:
                slot.log.path.unlink(missing_ok=True)
        for folder in made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
