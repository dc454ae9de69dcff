"""The contract of executors over every engine, and what jobs and executors refuse."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bhpt.domain import Misuse, Resume
from bhpt.executors import (
    Executor,
    Job,
    LocalExecutor,
    LocalOptions,
    SimulatedExecutor,
    SimulatedFault,
)
from bhpt.testing import ExecutorContract
from bhpt.testing.executors import ExecutorWorld, MakeExecutor
from tests.executors.helpers import NET


def local(world: ExecutorWorld, slots: int) -> Executor:
    options = LocalOptions(grace_s=0.2)
    return LocalExecutor(world.trainer, slots, world.folder / "logs", options)


def simulated(world: ExecutorWorld, slots: int) -> Executor:
    crashes = {attempt: SimulatedFault(after_s=0.01) for attempt in world.crashing}
    return SimulatedExecutor(world.loss, world.seconds_of, slots, crashes)


class TestEngines(ExecutorContract):
    @pytest.fixture(params=[local, simulated])
    def make_executor(self, request: pytest.FixtureRequest) -> MakeExecutor:
        made: MakeExecutor = request.param
        return made


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: Job(1, 0, {}, 0, 0, folder),
        lambda folder: Job(1, 0, {}, 1, -1, folder),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume(place=folder)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume(1)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume(-1)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume(2, live=True, place=folder)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume.alive(1)),
        lambda folder: Job(1, 0, {}, 1, 2, folder, Resume.checkpoint(3, folder)),
        lambda folder: Job(1, 0, {}, 1, 0, folder, limit_s=0.0),
        lambda folder: Job(1, 0, {"x": object()}, 1, 0, folder),
    ],
)
def test_a_job_that_makes_no_sense_is_refused(make: Callable[[Path], Job], tmp_path: Path) -> None:
    with pytest.raises(Misuse):
        make(tmp_path)


def test_an_executor_needs_a_slot(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="at least one"):
        SimulatedExecutor(0.0, slots=0)
    with pytest.raises(Misuse, match="at least one"):
        LocalExecutor(NET, 0, tmp_path)
