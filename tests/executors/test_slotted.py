"""Workers are taken and given back between units, never under one that is being submitted."""

from dataclasses import dataclass, field
from pathlib import Path

from bhpt.domain import Resume
from bhpt.executors import Job, Running
from bhpt.executors.live_trainers import Alive
from bhpt.executors.slotted import SlottedExecutor


@dataclass
class _Slot:
    """A worker that may be given back."""

    index: int
    held: bool = True
    job: Job | None = None
    alive: Alive = field(default_factory=Alive)
    last_used: float = 0.0

    @property
    def is_ready(self) -> bool:
        return self.held

    @property
    def is_free(self) -> bool:
        return self.held and self.job is None

    def extend(self, paid_s: float) -> None:
        pass

    def stop(self, grace: float) -> None:
        pass

    def running(self) -> Running | None:
        return None


class _Sharing(SlottedExecutor[_Slot]):
    """Gives back every idle worker whenever it may."""

    def submit(self, job: Job) -> float:
        self._tend()
        self._slot_for(job).job = job
        return self.now()

    def close(self, grace: float = 0.0) -> None:  # noqa: ARG002  # no worker to wait for
        self._closed = True

    def _tend(self) -> None:
        pass

    def _wait(self, seconds: float) -> None:
        pass

    def _settle_slots(self) -> None:
        for slot in self._slots:
            slot.held = slot.job is not None


def test_a_free_worker_stays_until_the_unit_is_submitted(tmp_path: Path) -> None:
    executor = _Sharing([_Slot(0), _Slot(1)])
    executor._slots[0].alive.remember(4, 2, most=3)
    assert executor.free == 2
    assert executor.can_resume(4, 2)
    executor.submit(Job(0, 4, {}, 1, 2, tmp_path, Resume.alive(2)))
    assert executor.free == 1
    executor.submit(Job(1, 5, {}, 1, 0, tmp_path))
    assert executor.poll(0.0) == []
    assert [slot.held for slot in executor._slots] == [True, True]
    executor._slots[1].job = None
    executor.poll(0.0)
    assert executor.free == 0
