"""The executor contract and its faults on a real Ray."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bhpt.domain import Misuse, Resume
from bhpt.executors import FailureKind
from bhpt.executors.interface import Executor
from bhpt.executors.local_slot import LocalOptions
from bhpt.executors.ray_cluster import RayExecutor
from bhpt.executors.ray_options import Ray
from bhpt.testing import ExecutorContract, ExecutorWorld
from bhpt.testing.executors import MakeExecutor, collect, run
from bhpt.trainers import Imported
from tests.executors.ray_clusters import local_ray

pytest.importorskip("ray", reason="needs ray")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module", autouse=True)
def ray_of_the_module() -> Iterator[None]:
    with local_ray(cpus=3):
        yield


def on_ray(world: ExecutorWorld, slots: int) -> Executor:
    executor = RayExecutor(world.trainer, slots, local=LocalOptions(grace_s=0.2))
    executor.start(slots)
    return executor


def on_shared_files(world: ExecutorWorld, slots: int) -> Executor:
    options = Ray(shared_files=True)
    executor = RayExecutor(world.trainer, slots, options, LocalOptions(grace_s=0.2))
    executor.start(slots)
    return executor


class TestRay(ExecutorContract):
    @pytest.fixture
    def make_executor(self) -> MakeExecutor:
        return on_ray

    def test_an_arm_stays_on_a_warm_actor(self, world: ExecutorWorld) -> None:
        executor = world.executor(slots=2)
        first = run(executor, world.job(1, arm=4, epochs=2))
        assert first.alive
        assert executor.can_resume(4, 2)
        assert not executor.can_resume(4, 1)
        later = replace(world.job(2, arm=4, done=2), resume=Resume.alive(2))
        report = run(executor, later)
        assert (report.result.losses, report.usage.rerun) == ((5 / 3,), 0)

    def test_a_lost_node_is_reported_charged_and_replaced(self, world: ExecutorWorld) -> None:
        world.seconds[0] = 600.0
        executor = world.executor()
        executor.submit(world.job(1))
        assert executor.poll(0.5) == []
        _kill_actors()
        report = collect(executor, 1)[0]
        assert report.failure is not None
        assert report.failure.kind is FailureKind.LOST
        assert 0.4 <= report.usage.seconds < 20
        _until_free(executor)
        assert run(executor, world.job(2, arm=1)).result.losses == (2.0,)

    def test_what_is_paid_for_ends_on_the_node(self, world: ExecutorWorld) -> None:
        world.seconds[0] = 600.0
        executor = world.executor()
        run(executor, world.job(0, arm=1))
        executor.submit(replace(world.job(1), paid_s=0.5))
        executor.extend(1, 1.0)
        report = collect(executor, 1)[0]
        assert report.failure is not None
        assert report.failure.kind is FailureKind.STOPPED
        assert 0.9 <= report.usage.seconds < 10


def _kill_actors() -> None:
    """Kill the processes of the actors, as a node that loses its power does."""
    import psutil

    children = psutil.Process(os.getpid()).children(recursive=True)
    actors = [one for one in children if "ray::NodeSlot" in " ".join(one.cmdline())]
    assert actors
    for one in actors:
        os.kill(one.pid, signal.SIGKILL)


def _until_free(executor: Executor, within: float = 60.0) -> None:
    until = time.monotonic() + within
    while not executor.free:
        assert time.monotonic() < until
        executor.poll(0.1)
        time.sleep(0.1)


def test_checkpoints_on_shared_files_are_not_sent(tmp_path: Path) -> None:
    world = ExecutorWorld(tmp_path, on_shared_files)
    executor = world.executor(slots=2)
    try:
        first = world.job(1, epochs=2)
        run(executor, first)
        assert (first.freeze_to.parent / "manifest.json").is_file()
        run(executor, world.job(2, arm=1))
        run(executor, world.job(3, arm=2))
        later = world.job(4, done=2, thaw=(first.freeze_to, 2))
        executor.submit(later)
        report = collect(executor, 1)[0]
        assert (report.result.losses, report.usage.rerun) == ((1 / 3,), 0)
    finally:
        executor.close()


def test_a_trainer_that_is_not_there_is_refused() -> None:
    executor = RayExecutor(Imported("no_such_module:Net"), 1)
    with pytest.raises(Misuse, match="no_such_module"):
        executor.start()


def test_a_worker_that_no_node_has_room_for_is_refused() -> None:
    options = Ray(resources={"quantum": 1})
    executor = RayExecutor(ExecutorWorld.trainer, 1, options, LocalOptions(start_limit_s=2.0))
    with pytest.raises(Misuse, match="no node had room for a worker"):
        executor.start()
