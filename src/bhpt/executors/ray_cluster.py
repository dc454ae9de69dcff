"""Jobs on a Ray cluster: one actor a slot, each supervising a worker process on its node.

A node that is lost takes its jobs with it: they are reported as lost, with what they took, and the
study decides anew. What the driver writes to its log never depends on a node.
"""

import time
from typing import TYPE_CHECKING

from bhpt.domain.closing import Closing
from bhpt.domain.errors import Misuse
from bhpt.domain.results import Failure, FailureKind
from bhpt.domain.resume import Resume
from bhpt.executors.interface import Job, Report, Running, TrainerGone, refuse_job
from bhpt.executors.ray_options import Ray
from bhpt.executors.ray_shares import Shares
from bhpt.executors.ray_slot import NodePlan, RaySlot
from bhpt.executors.slot import LocalOptions
from bhpt.trainers.import_names import refuse_during_import
from bhpt.trainers.specs import TrainerSpec

if TYPE_CHECKING:
    from ray import ObjectRef

_TICK_S = 0.1
_LINGER_S = 2.0  # an idle worker may take this long to go


class RayExecutor(Closing):
    """Workers on the nodes of a Ray cluster; see `Executor` for the contract.

    Args:
        trainer: What the workers import; its module must be importable on the nodes.
        slots: How many workers at most; as many are used as the cluster has room for, and as are
            this study's fair share beside other studies.
        options: Which cluster, and what a worker needs.
        local: How each worker is supervised on its node.
    """

    def __init__(
        self,
        trainer: TrainerSpec,
        slots: int,
        options: Ray = Ray(),  # noqa: B008  # frozen
        local: LocalOptions = LocalOptions(),  # noqa: B008  # frozen
    ) -> None:
        refuse_during_import()
        if slots < 1:
            raise Misuse(f"there must be at least one worker, not {slots}")
        self._connected = _connect(options)
        self._options = options
        self._limit_s = local.start_limit_s
        plan = NodePlan(trainer, options, local)
        self._slots = [RaySlot(index, plan) for index in range(slots)]
        self._shares = Shares(slots, options.needs)
        self._start_s = 0.0
        self._reports: list[Report] = []
        self._closed = False

    @property
    def slots(self) -> int:
        """How many jobs can run at once."""
        return len(self._slots)

    @property
    def free(self) -> int:
        """How many jobs could be submitted now: workers that are there and idle."""
        return 0 if self._closed else sum(slot.is_ready for slot in self._slots)

    @property
    def start_s(self) -> float:
        """How long `start` took."""
        return self._start_s

    def now(self) -> float:
        """The monotonic clock of the driver."""
        return time.monotonic()

    def start(self, count: int = 1) -> None:
        """Ask for all workers and wait until so many have imported the trainer.

        Raises:
            Misuse: The trainer cannot be used on a node, or the cluster has no room for a worker.
        """
        began = self.now()
        try:
            while self.free < count:
                self._wait(_TICK_S)
                self._tend()
                self._refuse_unusable()
                if self.now() - began > self._limit_s:
                    raise Misuse(self._no_room())
        except BaseException:
            self.close()
            raise
        self._start_s = self.now() - began

    def can_resume(self, arm: int, epoch: int) -> bool:
        """Whether the arm's trainer lives in an idle worker, at exactly this epoch."""
        self._tend()
        return self._holder(arm, epoch) is not None

    def worker_for(self, arm: int, resume: Resume) -> int | None:
        """The worker that has its trainer alive, else the one with least to lose."""
        slot = self._holder(arm, resume.epochs) if resume.live else self._idlest()
        return None if slot is None else slot.index

    def submit(self, job: Job) -> float:
        """Give a job to the worker that has its trainer alive, else to the one it is meant for.

        One that is meant for none, or for a busy one, goes to the one with least to lose.
        """
        self._tend()
        self._refuse(job)
        slot = self._slot_for(job)
        try:
            return slot.give(job)
        except (ValueError, OSError) as error:
            message = f"the checkpoint to go on from cannot be read: {error}"
            failure = Failure(FailureKind.CRASHED, message)
            self._reports.append(Report(job.attempt, job.arm, failure))
            return self.now()

    def extend(self, attempt: int, paid_s: float) -> None:
        """Change when the guard on the node ends a job."""
        for slot in self._slots:
            if slot.job is not None and slot.job.attempt == attempt:
                slot.extend(paid_s)

    def poll(self, timeout: float | None = None) -> list[Report]:
        """Wait until there is something to report."""
        until = None if timeout is None else self.now() + timeout
        while True:
            self._tend()
            if self._reports or all(slot.job is None for slot in self._slots):
                reports, self._reports = self._reports, []
                return reports
            left = _TICK_S if until is None else until - self.now()
            if left <= 0:
                return []
            self._wait(left)

    def stop(self, attempt: int, grace: float) -> None:
        """Ask a job to end; a node that does not answer is given up."""
        for slot in self._slots:
            if slot.job is not None and slot.job.attempt == attempt:
                slot.stop(grace)

    def running(self) -> tuple[Running, ...]:
        """Busy workers, with what they printed a moment ago."""
        looks = (slot.running() for slot in self._slots)
        return tuple(look for look in looks if look is not None)

    def close(self, grace: float = 0.0) -> None:
        """Ask all workers to end, and give back what is left after the grace."""
        import ray

        if self._closed:
            return
        self._closed = True
        going = [ref for slot in self._slots if (ref := slot.dismiss(grace)) is not None]
        if going:
            ray.wait(going, num_returns=len(going), timeout=grace + _LINGER_S)
        for slot in self._slots:
            slot.release()
        self._shares.leave()
        if self._connected:
            ray.shutdown()

    def _tend(self) -> None:
        """Look after every slot, collect the reports, keep to the fair share."""
        import ray

        if self._closed:
            return
        awaited: list[ObjectRef[object]] = [ref for slot in self._slots for ref in slot.awaited]
        done = set(ray.wait(awaited, num_returns=len(awaited), timeout=0)[0]) if awaited else set()
        for slot in self._slots:
            report = slot.tend(done)
            if report is None:
                continue
            self._reports.append(report)
            for other in self._slots:
                if other is not slot:  # what lives of this arm elsewhere is out of date now
                    other.alive.pop(report.arm, None)
        self._share()

    def _share(self) -> None:
        """Ask for workers up to the share, and give idle ones back above it."""
        held = [slot for slot in self._slots if not slot.is_empty]
        self._shares.tend(len(held))
        surplus = len(held) - self._shares.allowed
        idle = sorted((slot for slot in held if slot.job is None), key=lambda slot: slot.last_used)
        for slot in idle[: max(0, surplus)]:
            slot.release()
        empty = [slot for slot in self._slots if slot.is_empty]
        for slot in empty[: max(0, -surplus)]:
            slot.ask()

    def _wait(self, seconds: float) -> None:
        """Sleep until something comes."""
        import ray

        awaited: list[ObjectRef[object]] = [ref for slot in self._slots for ref in slot.awaited]
        if awaited:
            ray.wait(awaited, num_returns=1, timeout=max(0.0, min(seconds, _TICK_S)))
        else:
            time.sleep(max(0.0, min(seconds, _TICK_S)))

    def _refuse_unusable(self) -> None:
        unusable = next((slot.unusable for slot in self._slots if slot.unusable), None)
        if unusable is not None:
            raise unusable

    def _refuse(self, job: Job) -> None:
        running = [slot.job for slot in self._slots if slot.job is not None]
        refuse_job(job, running, free=self.free, slots=self.slots, closed=self._closed)

    def _slot_for(self, job: Job) -> RaySlot:
        if not job.resume.live:
            meant = None if job.worker is None else self._slots[job.worker]
            found = meant if meant is not None and meant.is_ready else self._idlest()
        else:
            found = self._holder(job.arm, job.done)
        if found is None:
            raise TrainerGone(f"no trainer of arm {job.arm} is alive at epoch {job.done}")
        return found

    def _idlest(self) -> RaySlot | None:
        ready = (slot for slot in self._slots if slot.is_ready)
        return min(ready, key=lambda slot: (len(slot.alive), slot.last_used), default=None)

    def _holder(self, arm: int, epoch: int) -> RaySlot | None:
        holders = (slot for slot in self._slots if slot.is_ready and slot.alive.get(arm) == epoch)
        return next(holders, None)

    def _no_room(self) -> str:
        import ray

        needs = {name: need for name, need in self._options.needs.items() if need}
        has = {
            name: total
            for name, total in ray.cluster_resources().items()
            if ":" not in name and "memory" not in name
        }
        trouble = next((slot.trouble for slot in self._slots if slot.trouble), "")
        return (
            f"no node had room for a worker with {needs} within {self._limit_s:.0f} s; the cluster "
            f"has {has}: ask for less, or wait until others are done"
            f"{f' (the last one: {trouble})' if trouble else ''}"
        )


def _connect(options: Ray) -> bool:
    """Connect to the cluster, unless this process is; says whether it was done here.

    Raises:
        Misuse: Ray is not installed, or there is no cluster at that address.
    """
    try:
        import ray
    except ImportError:
        raise Misuse("running on Ray needs the package: pip install 'bhpt[ray]'") from None
    if ray.is_initialized():
        return False
    environment = None if options.runtime_env is None else dict(options.runtime_env)
    try:
        ray.init(
            options.address,
            runtime_env=environment,
            log_to_driver=False,
            configure_logging=False,
        )
    except (ConnectionError, ValueError) as error:
        line = " ".join(str(error).split())[:200]
        raise Misuse(
            f"there is no Ray cluster at {options.address}: {line}; start one with `ray start`"
        ) from None
    return True
