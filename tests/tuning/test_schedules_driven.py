"""Schedules on an open space, through the driver, with workers that end in any order."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bhpt.domain.budget import Budget
from bhpt.executors import SimulatedExecutor, SimulatedFault
from bhpt.policies.registry import make_policy
from bhpt.policies.schedules import halving_rungs
from bhpt.study import MemoryLog, State, Training
from bhpt.study.creation import first_events
from tests.tuning.cases import check_invariants, session

SPACE = {"lr": (1e-4, 1.0, "log"), "momentum": (0.0, 0.99)}
SCHEDULES = ["random", "hyperband", "sh", "asha", "asha-stop", "i-epoch", "5-epoch"]
COMMITTING = ["hyperband", "sh", "i-epoch", "5-epoch"]
FULL = 27


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def quality(arm: int) -> float:
    return float(np.random.default_rng(arm).uniform(0.2, 0.8))


def driven(
    folder: Path,
    name: str,
    budget: str,
    workers: int,
    faults: dict[int, SimulatedFault] | None = None,
    candidates: int | None = None,
) -> State:
    log = MemoryLog()
    training = Training(1, FULL)
    parsed = Budget.parse(budget)
    trainer: dict[str, object] = {"name": "none:None"}
    log.append(
        first_events(
            SPACE,
            parsed,
            training=training,
            workers=workers,
            trainer=trainer,
            candidates=candidates,
        ),
        0,
    )
    run = SimulatedExecutor(
        lambda arm, epoch: quality(arm) + 1 / epoch,
        lambda arm, _: 0.5 + quality(arm + 10_000),
        workers,
        faults,
    )
    state = session(log, folder / "files", run, policy=make_policy(name))
    check_invariants(state)
    assert not state.open
    return state


def units_of(state: State) -> Counter[int]:
    return Counter(one.unit.arm for one in state.attempts if one.status == "observed")


@pytest.mark.parametrize("workers", [1, 4, 16])
@pytest.mark.parametrize("name", SCHEDULES)
def test_an_epoch_budget_is_spent_exactly_on_the_arms_of_the_start(
    tmp_path: Path, name: str, workers: int
) -> None:
    state = driven(tmp_path, name, "150 epochs", workers)
    had = units_of(state)
    assert state.ledger.spent == had.total() == 150
    arms = state.first_arms
    assert 400 < arms <= 512
    assert max(had) < arms
    if name == "sh":
        assert len(had) == halving_rungs(150, arms, FULL)[0][0]
    if name in {"sh", "hyperband"}:
        assert len(state.configs) > arms  # children of arms that were trained far enough
    if name in COMMITTING:
        assert max(had.values()) == FULL
    if name == "asha":
        assert sum(units >= 3 for units in had.values()) >= 10
        assert max(had.values()) >= 9


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("name", ["sh", "asha", "hyperband"])
def test_failing_units_cost_what_they_cost_and_nothing_hangs(
    tmp_path: Path, name: str, workers: int
) -> None:
    faults = {attempt: SimulatedFault(after_s=0.2) for attempt in range(5, 100, 7)}
    state = driven(tmp_path, name, "120 epochs", workers, faults)
    assert state.ledger.spent == pytest.approx(120)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_deadline_keeps_every_worker_busy(tmp_path: Path, name: str) -> None:
    state = driven(tmp_path, name, "40s", 4)
    assert sum(one.seconds for one in state.attempts) > 0.9 * 40 * 4


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_budget_beyond_all_candidates_goes_on_with_those_added_later(
    tmp_path: Path, name: str
) -> None:
    """Three arms at the start; candidates that were drawn near them come after them."""
    state = driven(tmp_path, name, "150 epochs", 2, candidates=3)
    had = units_of(state)
    assert had.total() == 150
    assert max(had) >= 3
    if name not in ("asha", "asha-stop"):
        assert [had[arm] for arm in range(3)] == [FULL] * 3
