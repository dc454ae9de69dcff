"""A driver over a table and a virtual clock, and logs that die or lock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bhpt.checkpoints import CheckpointPlace, LocalFolder
from bhpt.domain import Objective
from bhpt.domain.budget import Budget
from bhpt.executors import SimulatedExecutor
from bhpt.policies.interface import Policy
from bhpt.study import Busy, EventLog, Journal, MemoryLog, State, Training
from bhpt.study.creation import first_events
from bhpt.study.events import Decided, Event, Observed, SessionStarted
from bhpt.tuning.checkpoint_session import CheckpointSession
from bhpt.tuning.driver import Driver, drive
from bhpt.tuning.driver_parts import DriverParts
from bhpt.tuning.folder import StudyFolder
from bhpt.tuning.interrupts import Interrupts
from bhpt.tuning.options import Options
from tests.study.cases import CONFIGS, Greedy, loss_at


class Killed(BaseException):
    """The driver dies here."""


class DyingLog:
    """Dies at chosen appends, before or after they are written; each once."""

    def __init__(self, log: EventLog, deaths: dict[int, str]) -> None:
        self._log = log
        self._deaths = deaths
        self._appends = 0

    def append(self, events: Sequence[Event], expected: int) -> None:
        self._appends += 1
        death = self._deaths.get(self._appends)
        if death == "before":
            raise Killed
        self._log.append(events, expected)
        if death == "after":
            raise Killed

    def read(self, after: int = 0) -> list[Event]:
        return self._log.read(after)

    def close(self) -> None:
        self._log.close()


@dataclass
class LockedLog:
    """Is locked whenever `locked` says so."""

    log: EventLog
    locked: Callable[[], bool]
    refused: list[int] = field(default_factory=list)

    def append(self, events: Sequence[Event], expected: int) -> None:
        if self.locked():
            self.refused.append(len(events))
            raise Busy("locked")
        self.log.append(events, expected)

    def read(self, after: int = 0) -> list[Event]:
        return self.log.read(after)

    def close(self) -> None:
        self.log.close()


def executor(
    slots: int = 1, seconds: object = 1.0, faults: object = None, *, freezes: bool = True
) -> SimulatedExecutor:
    def losses(arm: int, epoch: int) -> float:
        return loss_at(CONFIGS[arm], epoch)

    return SimulatedExecutor(losses, seconds, slots, faults, freezes=freezes)  # type: ignore[arg-type]


def new_log(
    budget: str | Budget = "20 epochs",
    training: Training | None = None,
    workers: int = 1,
    objective: Objective | None = None,
) -> MemoryLog:
    log = MemoryLog()
    events = first_events(
        CONFIGS,
        Budget.parse(budget),
        training=training or Training(2, 12),
        seed=4,
        workers=workers,
        trainer={"name": "none:None"},
        objective=objective,
    )
    log.append(events, 0)
    return log


def session(
    log: EventLog,
    folder: Path,
    run: SimulatedExecutor,
    *,
    options: Options | None = None,
    interrupts: Interrupts | None = None,
    policy: Policy | None = None,
    unseen_s: float = 0.0,
    place: CheckpointPlace | None = None,
) -> State:
    """One session, to its end."""
    journal = Journal(log)
    chosen = options or Options()
    files = StudyFolder(folder)
    place = place or LocalFolder(files.checkpoints)
    checkpoints = CheckpointSession(files, place, journal.state, chosen.checkpoint_cap)
    parts = DriverParts(journal, policy or Greedy(), run, checkpoints)
    clock = journal.state.clock
    driver = Driver(parts, chosen, clock)
    driver.begin(SessionStarted("here", 1, run.slots, clock), unseen_s)
    status = drive(driver, interrupts or Interrupts(), sleep=lambda _: None)
    driver.end(status, lambda _: None)
    return driver.state


def essence(events: list[Event]) -> list[tuple[object, ...]]:
    """Decisions and reports, without clocks."""
    return [
        ("decided", e.attempt, e.arm, e.epochs, e.done, e.cost)
        if isinstance(e, Decided)
        else ("observed", e.attempt, e.losses, e.cost)
        for e in events
        if isinstance(e, Decided | Observed)
    ]


def check_invariants(state: State) -> None:
    """(a) and (b) of the reliability page."""
    ledger = state.ledger
    assert ledger.spent == pytest.approx(sum(one.cost for one in state.attempts))
    assert ledger.used + ledger.held <= ledger.budget.amount * (1 + 1e-9)
    units = [(a.unit.arm, a.unit.index) for a in state.attempts if a.status == "observed"]
    assert len(set(units)) == len(units) == state.reports
