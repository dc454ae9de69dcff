"""Jobs in processes of this machine: one supervised worker a slot.

Not a pool: a worker that is killed takes nothing with it but its own job, and the next job in its
slot starts another. Everything happens in `poll`, in the driver's own thread. Nothing is tried
again here: `study.settling` decides that.
"""

import os
import platform
import signal
from multiprocessing.connection import wait
from pathlib import Path

from bhpt.checkpoints.disk import refuse_elsewhere
from bhpt.domain.errors import Misuse
from bhpt.executors import guard
from bhpt.executors.devices import find_devices, share_devices
from bhpt.executors.interface import Job
from bhpt.executors.local_slot import Crew, LocalOptions, LocalSlot
from bhpt.executors.logs import SlotLog
from bhpt.executors.processes import Guard, new_token, wait_until_dead
from bhpt.executors.slotted import TICK_S, SlottedExecutor
from bhpt.trainers.import_names import refuse_during_import
from bhpt.trainers.specs import TrainerSpec

_MANY, _MANY_A_CORE = 256, 32  # workers: more is a slip, and their start alone stops a machine
_LINGER_S = 1.0  # an idle worker may take this long to go
_UNKILLABLE_S = 5.0  # after a kill; then the kernel has to see to it


def runs_here() -> bool:
    """Whether this system has what supervising workers takes: Linux's calls and `/proc`."""
    return platform.system() == "Linux"


class LocalExecutor(SlottedExecutor[LocalSlot]):
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
        super().__init__(
            [
                LocalSlot(i, crew, SlotLog(logs / f"slot-{i:02d}.log", options.log_bytes))
                for i in range(slots)
            ]
        )
        self._guard: Guard | None = None

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
                self._wait(TICK_S)
                self._tend()
        except BaseException:
            self.close()
            self._unmake(made)
            raise
        self._start_s = self.now() - began

    def submit(self, job: Job) -> float:
        """Give a job to a free slot; its worker is started if there is none."""
        self._tend()
        return self._slot_for(job).give(job, self._prepare())

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

    def _tend(self) -> None:
        """Look after every slot and collect the reports."""
        if self._closed:
            return
        if self._guard is not None:
            self._guard.check()
        for slot in self._slots:
            report = slot.tend()
            if report is not None:
                self._take_in(report, slot)

    def _wait(self, seconds: float) -> None:
        """Sleep until a worker sends something or ends, but not past a limit."""
        wake = min(slot.wakes_at for slot in self._slots) - self.now()
        connections = [slot.connection for slot in self._slots if slot.connection is not None]
        wait(connections, max(0.0, min(seconds, wake, TICK_S)))

    def _unmake(self, made: list[Path]) -> None:
        """Remove the logs of a start that failed, and the folders that it made for them."""
        if made:
            for slot in self._slots:
                slot.log.path.unlink(missing_ok=True)
        for folder in made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
