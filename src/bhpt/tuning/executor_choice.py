"""Where the units of a session run: `local`, `ray`, a Ray cluster in detail, or an own executor."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

from bhpt.domain import Misuse
from bhpt.executors import Executor, LocalExecutor, LocalOptions
from bhpt.executors.ray_options import Ray
from bhpt.trainers.specs import TrainerSpec
from bhpt.tuning.options import Options
from bhpt.tuning.session_setup import ExecutorFactory

ExecutorChoice = Literal["local", "ray"] | Ray | ExecutorFactory
"""Worker processes of this machine, a Ray cluster, or a function that makes an executor."""


def executor_maker(choice: ExecutorChoice) -> ExecutorFactory:
    """The function that makes the executor of a choice.

    Raises:
        Misuse: There is no executor of that name.
    """
    if isinstance(choice, Ray):
        return _on_ray(choice)
    if callable(choice):
        return choice
    if choice == "local":
        return local_executor
    if choice == "ray":
        return _on_ray(Ray())
    raise Misuse(f"there is no executor {choice!r}: use local or ray, or bhpt.Ray(...)")


def local_executor(trainer: TrainerSpec, workers: int, logs: Path, options: Options) -> Executor:
    """Worker processes on this machine, started, so that the trainer is known to work."""
    executor = LocalExecutor(trainer, workers, logs, _supervised(options))
    executor.start()
    return executor


def _on_ray(cluster: Ray) -> ExecutorFactory:
    """Makes executors on a Ray cluster, started, so that the trainer is known to work there."""

    def make(trainer: TrainerSpec, workers: int, logs: Path, options: Options) -> Executor:  # noqa: ARG001  # logs stay on the nodes
        from bhpt.executors.ray_cluster import RayExecutor  # with Ray, which takes a second

        supervised = replace(_supervised(options), gpus=None)  # Ray gives each worker its own
        needs = cluster.with_gpus(options.gpus_per_worker)
        executor = RayExecutor(trainer, workers, needs, supervised)
        executor.start()
        return executor

    return make


def _supervised(options: Options) -> LocalOptions:
    """How a worker process is supervised, wherever it runs."""
    return LocalOptions(
        grace_s=options.grace_s,
        start_limit_s=options.start_limit_s,
        threads=options.threads_per_worker,
        gpus=options.gpus_per_worker,
        variables=options.variables,
    )
