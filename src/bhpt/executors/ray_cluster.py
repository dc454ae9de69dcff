"""Jobs on a Ray cluster: one actor a slot, each supervising a worker process on its node.

A node that is lost takes its jobs with it: they are reported as lost, with what they took, and the
study decides anew. What the driver writes to its log never depends on a node.
"""

import shlex
import time
from typing import TYPE_CHECKING

from bhpt.domain.errors import Misuse
from bhpt.domain.results import Failure, FailureKind
from bhpt.executors.driver_watch import DriverWatch
from bhpt.executors.interface import Job, Report
from bhpt.executors.local_slot import LocalOptions
from bhpt.executors.ray_options import Ray
from bhpt.executors.ray_shares import Shares
from bhpt.executors.ray_slot import NodePlan, RaySlot
from bhpt.executors.slotted import TICK_S, SlottedExecutor
from bhpt.trainers.import_names import refuse_during_import
from bhpt.trainers.specs import TrainerSpec

if TYPE_CHECKING:
    from ray import ObjectRef

_LINGER_S = 2.0  # an idle worker may take this long to go


class RayExecutor(SlottedExecutor[RaySlot]):
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
        super().__init__([RaySlot(index, plan) for index in range(slots)])
        self._shares = Shares(slots, options.needs)
        self._watch = DriverWatch(_last_words(options, local))

    def start(self, count: int = 1) -> None:
        """Ask for all workers and wait until so many have imported the trainer.

        Raises:
            Misuse: The trainer cannot be used on a node, or the cluster has no room for a worker.
        """
        began = self.now()
        try:
            while self.free < count:
                self._wait(TICK_S)
                self._tend()
                self._settle_slots()
                self._refuse_unusable()
                if self.now() - began > self._limit_s:
                    raise Misuse(self._no_room())
        except BaseException:
            self.close()
            raise
        self._start_s = self.now() - began

    def submit(self, job: Job) -> float:
        """Send a job to a free worker, with the checkpoint that it goes on from."""
        self._tend()
        slot = self._slot_for(job)
        try:
            return slot.give(job)
        except (ValueError, OSError) as error:
            message = f"the checkpoint to go on from cannot be read: {error}"
            failure = Failure(FailureKind.CRASHED, message)
            self._reports.append(Report(job.attempt, job.arm, failure))
            return self.now()

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
        self._watch.call_off()

    def _tend(self) -> None:
        """Look after every slot and collect the reports."""
        import ray

        if self._closed:
            return
        awaited: list[ObjectRef[object]] = [ref for slot in self._slots for ref in slot.awaited]
        done = set(ray.wait(awaited, num_returns=len(awaited), timeout=0)[0]) if awaited else set()
        for slot in self._slots:
            report = slot.tend(done)
            if report is not None:
                self._take_in(report, slot)

    def _settle_slots(self) -> None:
        """Ask for workers up to the fair share, and give idle ones back above it."""
        if self._closed:
            return
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
            ray.wait(awaited, num_returns=1, timeout=max(0.0, min(seconds, TICK_S)))
        else:
            time.sleep(max(0.0, min(seconds, TICK_S)))

    def _refuse_unusable(self) -> None:
        unusable = next((slot.unusable for slot in self._slots if slot.unusable), None)
        if unusable is not None:
            raise unusable

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


def _last_words(options: Ray, local: LocalOptions) -> str:
    """What to do if Ray ends this process, which it does when the head of the cluster is lost."""
    study = shlex.quote(local.variables.get("BHPT_STUDY", "STUDY"))
    where = "" if options.address is None else f" --address {options.address}"
    return (
        "bhpt: this driver was ended from outside: by Ray, whose head or node is lost, or by a "
        "signal. What was acknowledged is safe; when the cluster is back, go on with: "
        f"bhpt resume {study} --executor ray{where}"
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
