"""What runs on a node of a Ray cluster: an actor that supervises one worker process.

The actor holds a `LocalExecutor` of one slot. So a unit on a node has what a unit on this machine
has: a process of its own with a guard that ends it when its time is up or the actor is gone, a
log, and trainers that stay alive between units. The actor's methods are called from several
threads; only `train` touches the executor, and does what others ask for between two looks.
"""

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from queue import Empty, SimpleQueue

from bhpt.checkpoints.manifest import FILES
from bhpt.domain.errors import Misuse
from bhpt.domain.results import Failure, FailureKind
from bhpt.domain.resume import Resume
from bhpt.executors.interface import Job, Report, TrainerGone
from bhpt.executors.local import LocalExecutor
from bhpt.executors.local_slot import LocalOptions
from bhpt.executors.messages import decode_order, encode
from bhpt.executors.ray_parcel import Parcel, pack, unpack
from bhpt.trainers.specs import TrainerSpec

_TICK_S = 0.05  # how soon a stop is noticed
_LINES_S = 0.5  # how often what a unit prints is looked at


@dataclass(frozen=True, slots=True)
class Home:
    """The driver's current folder and where it finds modules: a node may have the same ones."""

    folder: str
    path: tuple[str, ...]

    @classmethod
    def here(cls) -> "Home":
        """Of this process."""
        return cls(str(Path.cwd()), tuple(str(entry) for entry in sys.path))

    def settle(self) -> None:
        """Work from there, as far as this node has it."""
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        sys.path += [one for one in self.path if one not in sys.path and Path(one).exists()]


@dataclass(frozen=True, slots=True)
class NodeReady:
    """A worker is there.

    Attributes:
        start_s: How long it took to start and to import the trainer.
        version: Of bhpt on the node.
        pid: The actor's process.
        host: The node's name.
    """

    start_s: float
    version: str
    pid: int
    host: str


@dataclass(frozen=True, slots=True)
class NodeUnusable:
    """The trainer cannot be used on the node: why, and what it printed last."""

    message: str
    tail: str


@dataclass(frozen=True, slots=True)
class NodeReply:
    """What came of a job on a node.

    Attributes:
        report: The encoded `Report`.
        checkpoint: What it froze, unless files are shared.
        alive: Arms whose trainers live there, each with its epoch.
    """

    report: bytes
    checkpoint: Parcel | None
    alive: dict[int, int]


class NodeSlot:
    """The actor.

    Args:
        trainer: What its worker imports.
        options: Of its executor.
        shared: Whether the driver's paths are valid here.
        home: Where to look for modules and commands; None if a `runtime_env` brings them.
    """

    def __init__(
        self, trainer: TrainerSpec, options: LocalOptions, shared: bool, home: "Home | None"
    ) -> None:
        if home is not None:
            home.settle()
        self._shared = shared
        self._folder = _new_folder()
        self._executor = LocalExecutor(trainer, 1, self._folder / "logs", options)
        self._asked: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = threading.Lock()  # held while a job runs
        self._alive: dict[int, int] = {}
        self._lines: tuple[str, ...] = ()
        self._moved_in_s = 0.0

    def start(self) -> NodeReady | NodeUnusable:
        """Start the worker and import the trainer."""
        try:
            self._executor.start()
        except Misuse as error:
            notes = getattr(error, "__notes__", [])
            return NodeUnusable(str(error), "\n".join(notes))
        host = os.uname().nodename
        return NodeReady(self._executor.start_s, version("bhpt"), os.getpid(), host)

    def train(self, order: bytes, checkpoint: Parcel | None) -> NodeReply:
        """Run one job to its end.

        Args:
            order: The encoded `Order`.
            checkpoint: What to resume from, unless files are shared or nothing is loaded.
        """
        with self._idle:
            began = time.monotonic()
            job = decode_order(order.decode("ascii")).job
            folder = self._folder / f"attempt-{job.attempt:06d}"
            try:
                here = self._moved_in(job, folder, checkpoint)
                self._moved_in_s = time.monotonic() - began
                report = self._run(here)
                return self._reply(job, report, folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)

    def stop(self, attempt: int, grace: float) -> None:
        """Ask a job to end."""
        self._asked.put(lambda: self._executor.stop(attempt, grace))

    def extend(self, attempt: int, paid_s: float) -> None:
        """Change `Job.paid_s` of the running job."""
        self._asked.put(lambda: self._executor.extend(attempt, paid_s - self._moved_in_s))

    def lines(self) -> tuple[str, ...]:
        """What the running job printed last."""
        return self._lines

    def close(self, grace: float) -> None:
        """End the worker."""
        self._asked.put(lambda: self._executor.close(grace))
        with self._idle:
            self._executor.close(grace)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _moved_in(self, job: Job, folder: Path, checkpoint: Parcel | None) -> Job:
        """The job with paths of this node, and its checkpoint there."""
        if self._shared:
            return job
        freeze_to = folder / "new" / FILES
        freeze_to.mkdir(parents=True, mode=0o700)
        resume = job.resume
        if checkpoint is not None:
            unpack(checkpoint, folder / "old")
            resume = Resume.checkpoint(resume.epochs, folder / "old" / FILES)
        return replace(job, freeze_to=freeze_to, resume=resume)

    def _run(self, job: Job) -> Report:
        """Submit a job and look after it until it has ended."""
        paid = None if job.paid_s is None else job.paid_s - self._moved_in_s
        try:
            self._executor.submit(replace(job, paid_s=paid, worker=None))
        except TrainerGone as error:
            return Report(job.attempt, job.arm, Failure(FailureKind.CRASHED, str(error)))
        looked = float("-inf")
        while True:
            self._do_asked()
            for report in self._executor.poll(_TICK_S):
                self._lines = ()
                return report
            running = self._executor.running()
            if not running:  # closed meanwhile
                why = Failure(FailureKind.STOPPED, "the driver let go of its node")
                return Report(job.attempt, job.arm, why)
            if time.monotonic() - looked >= _LINES_S:
                looked = time.monotonic()
                self._lines = running[0].lines

    def _do_asked(self) -> None:
        with suppress(Empty):
            while True:
                self._asked.get_nowait()()

    def _reply(self, job: Job, report: Report, folder: Path) -> NodeReply:
        """The report with the time that the checkpoint travelled, and the checkpoint."""
        moving = time.monotonic()
        parcel = None
        if not self._shared and report.failure is None and report.result.frozen:
            parcel = pack(folder / "new")
        moved = self._moved_in_s + time.monotonic() - moving
        usage = report.usage
        usage = replace(
            usage,
            seconds=usage.seconds + moved,
            checkpoint_s=usage.checkpoint_s + (0.0 if self._shared else moved),
        )
        self._alive.pop(job.arm, None)
        if report.alive:
            self._alive[job.arm] = job.done + job.epochs
        self._alive = {
            arm: epoch
            for arm, epoch in self._alive.items()
            if self._executor.can_resume(arm, epoch)
        }
        done = replace(report, outcome=replace(report.outcome, usage=usage))
        return NodeReply(encode(done), parcel, dict(self._alive))


def _new_folder() -> Path:
    """A private folder of this process, and none of those that dead ones left."""
    root = Path(tempfile.gettempdir()) / f"bhpt-ray-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    if root.is_symlink() or root.stat().st_uid != os.getuid():
        raise Misuse(f"{root} is not a folder of this user: remove it")
    for left in root.iterdir():
        pid = left.name.partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=root))
