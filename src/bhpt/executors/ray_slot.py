"""One slot of a Ray executor: an actor at most, a job at most, and how both can end.

empty ──ask──▶ asked (Ray looks for room) ──▶ ready ──give──▶ busy ──reply──▶ ready
   ▲                                                              │
   └────────── the node is lost, or the actor does not answer ◀───┘
"""

import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from bhpt.checkpoints.disk import DiskFull
from bhpt.domain.errors import Misuse
from bhpt.domain.results import Failure, FailureKind, Usage
from bhpt.executors.interface import Job, Report, Running
from bhpt.executors.live_trainers import Alive
from bhpt.executors.local_slot import LocalOptions
from bhpt.executors.messages import Order, decode_reply, encode
from bhpt.executors.ray_node import Home, NodeReady, NodeReply, NodeSlot, NodeUnusable
from bhpt.executors.ray_options import Ray
from bhpt.executors.ray_parcel import pack, unpack
from bhpt.trainers.specs import TrainerSpec

if TYPE_CHECKING:
    from ray import ObjectRef

_SILENT_S = 20.0  # after a job had to be dead: then its actor is given up
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0  # before another actor is asked for
_LONGEST = 200  # characters of a message
_LOOK_S = 1.0  # between two looks at what a job prints
_THREADS = 4  # of an actor: a job, and those who ask about it


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What all slots of an executor share."""

    trainer: TrainerSpec
    options: Ray
    local: LocalOptions


class RaySlot:
    """A place for one job on a cluster.

    Args:
        index: Which slot.
        plan: What all slots share.
    """

    def __init__(self, index: int, plan: NodePlan) -> None:
        self.index = index
        self.last_used = 0.0
        self.alive = Alive()
        self.unusable: Misuse | None = None
        self.trouble = ""  # why the last worker that was asked for did not come
        self._plan = plan
        self._actor: Any = None  # a handle has the methods of `NodeSlot`, which Ray does not type
        self._starting: ObjectRef[NodeReady | NodeUnusable] | None = None
        self._training: ObjectRef[NodeReply] | None = None
        self._looking: ObjectRef[tuple[str, ...]] | None = None
        self._job: Job | None = None
        self._since = self._given_at = 0.0
        self._dead_at: float | None = None  # when the job has to be dead, if the node is silent
        self._stopped = False
        self._unpaid_s = 0.0
        self._ask_at, self._pause_s = 0.0, _FIRST_PAUSE_S
        self._looked_at = 0.0
        self._lines: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing of the cluster."""
        return self._actor is None

    @property
    def is_ready(self) -> bool:
        """Whether its worker is there and has imported the trainer."""
        return self._actor is not None and self._starting is None

    @property
    def is_free(self) -> bool:
        """Whether a job can be given to it."""
        return self.is_ready and self._job is None

    @property
    def job(self) -> Job | None:
        """What it runs."""
        return self._job

    @property
    def awaited(self) -> "list[ObjectRef[Any]]":
        """What to wait for."""
        return [ref for ref in (self._starting, self._training) if ref is not None]

    def ask(self) -> None:
        """Ask the cluster for a worker, unless the last one was lost only just now."""
        import ray

        if time.monotonic() < self._ask_at:
            return
        options = self._plan.options
        actor = ray.remote(NodeSlot).options(
            num_cpus=options.num_cpus,
            num_gpus=options.num_gpus,
            resources=dict(options.resources),
            max_concurrency=_THREADS,
            max_restarts=0,
        )
        home = Home.here() if options.runtime_env is None else None
        plan = self._plan
        self._actor = actor.remote(plan.trainer, plan.local, options.shared_files, home)
        self._starting = self._actor.start.remote()

    def give(self, job: Job) -> float:
        """Run a job.

        Returns:
            Since when its time is counted: the first job of a worker pays for its start.

        Raises:
            ValueError: The checkpoint to go on from is damaged.
            OSError: It cannot be read.
        """
        sent = None
        if job.resume.place is not None and not self._plan.options.shared_files:
            sent = pack(job.resume.place.parent)
        now = time.monotonic()
        self._since, self._given_at = now - self._unpaid_s, now
        self._unpaid_s = 0.0
        self._job, self._stopped = job, False
        self._dead_at = None if job.paid_s is None else self._since + job.paid_s + _SILENT_S
        self.last_used = now
        self.alive.forget(job.arm)
        self._training = self._actor.train.remote(encode(Order(job, self._since)), sent)
        return self._since

    def extend(self, paid_s: float) -> None:
        """Change when the job is ended on its node."""
        if self._job is not None:
            self._dead_at = self._since + paid_s + _SILENT_S
            self._actor.extend.remote(self._job.attempt, paid_s)

    def stop(self, grace: float) -> None:
        """Ask the job to end."""
        if self._job is not None:
            self._stopped = True
            self._dead_at = time.monotonic() + grace + _SILENT_S
            self._actor.stop.remote(self._job.attempt, grace)

    def running(self) -> Running | None:
        """A look at its job."""
        if self._job is None:
            return None
        job = self._job
        return Running(job.attempt, job.arm, self.index, None, self._given_at, self._lines)

    def tend(self, done: "set[ObjectRef[Any]]") -> Report | None:
        """Take what has come; the report of the job if it ended.

        Args:
            done: Which of `awaited` are there.
        """
        if self._starting is not None and self._starting in done:
            self._started()
        report = None
        if self._training is not None and self._training in done:
            report = self._settle()
        elif self._dead_at is not None and time.monotonic() >= self._dead_at:
            report = self._lose("its node did not answer in time")
        self._look()
        return report

    def release(self) -> None:
        """Give back what it holds of the cluster, at once."""
        import ray

        if self._actor is not None:
            ray.kill(self._actor)
        self._emptied()

    def dismiss(self, grace: float) -> "ObjectRef[None] | None":
        """Ask its worker to end; the caller waits for that and then calls `release`."""
        if self._actor is None or self._starting is not None:
            return None
        closing: ObjectRef[None] = self._actor.close.remote(grace)
        return closing

    def _started(self) -> None:
        from ray.exceptions import RayError

        try:
            came = _get(self._starting)
        except RayError as error:
            self._retreat()
            self.trouble = _one_line(error)
            if _is_setup(error):
                self.unusable = Misuse(f"a node could not be set up: {_one_line(error)}")
            return
        self._starting = None
        if isinstance(came, NodeUnusable):
            self.unusable = Misuse(came.message)
            self.unusable.add_note(came.tail)
            self._retreat()
        elif came.version != (ours := version("bhpt")):
            self.unusable = Misuse(
                f"node {came.host} has bhpt {came.version} and this driver {ours}: "
                "install the same on both"
            )
            self._retreat()
        else:
            self._unpaid_s = came.start_s
            self._pause_s = _FIRST_PAUSE_S

    def _settle(self) -> Report:
        """Take the reply of the job, and bring its checkpoint here."""
        from ray.exceptions import RayActorError, RayError

        job = self._job
        if job is None:
            raise RuntimeError("a reply came although no job runs")
        try:
            came = _get(self._training)
            report = decode_reply(came.report)
            if not isinstance(report, Report):
                raise ValueError(f"a node replied with {type(report).__name__}")
            if came.checkpoint is not None:
                unpack(came.checkpoint, job.freeze_to.parent)
        except RayActorError as error:
            return self._lose(f"its node is lost: {_one_line(error)}")
        except RayError as error:
            return self._lose(f"its node failed: {_one_line(error)}")
        except DiskFull as error:
            self._freed()
            return self._failed(job, Failure(FailureKind.DISK_FULL, str(error)))
        except ValueError as error:
            return self._lose(f"its checkpoint did not arrive whole: {error}")
        self.alive = Alive(came.alive)
        self._freed()
        return report

    def _lose(self, why: str) -> Report:
        """The worker is gone with its job: charge what it took, and ask for another one."""
        job = self._job
        if job is None:
            raise RuntimeError("a job was lost although none runs")
        kind = FailureKind.STOPPED if self._stopped else FailureKind.LOST
        report = self._failed(job, Failure(kind, why))
        self._retreat()
        return report

    def _failed(self, job: Job, failure: Failure) -> Report:
        usage = Usage(max(0.0, time.monotonic() - self._since), rerun=job.rerun)
        return Report(job.attempt, job.arm, replace(failure, usage=usage))

    def _retreat(self) -> None:
        """Let go of an actor, and wait longer each time before the next is asked for."""
        self.release()
        self._ask_at = time.monotonic() + self._pause_s
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)

    def _freed(self) -> None:
        self._job = self._training = self._dead_at = None
        self._lines = ()
        self._looking = None

    def _emptied(self) -> None:
        self._freed()
        self._actor = self._starting = None
        self._unpaid_s = 0.0
        self.alive = Alive()

    def _look(self) -> None:
        """Ask now and then what the job prints, without waiting for the answer."""
        import ray
        from ray.exceptions import RayError

        if self._job is None:
            return
        if self._looking is not None:
            if not ray.wait([self._looking], timeout=0)[0]:
                return
            ref, self._looking = self._looking, None
            try:
                self._lines = ray.get(ref)
            except RayError:
                return  # the job's own reply says what has happened
        if time.monotonic() - self._looked_at >= _LOOK_S:
            self._looked_at = time.monotonic()
            self._looking = self._actor.lines.remote()


def _get(ref: "ObjectRef[Any] | None") -> Any:  # noqa: ANN401  # whatever the actor returned
    import ray

    if ref is None:
        raise RuntimeError("there is nothing to wait for")
    return ray.get(ref)


def _is_setup(error: Exception) -> bool:
    """Whether the environment of a node could not be made, which another try will not change."""
    from ray.exceptions import RayTaskError, RuntimeEnvSetupError

    return isinstance(error, RuntimeEnvSetupError | RayTaskError)


def _one_line(error: Exception) -> str:
    """What happened, without Ray's frames where our own code on a node has raised."""
    from ray.exceptions import RayTaskError

    if isinstance(error, RayTaskError) and isinstance(error.cause, Exception):
        error = error.cause
        return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
    return " ".join(str(error).split())[:_LONGEST]
