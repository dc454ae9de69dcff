"""A kind of budget of the user: one class, registered, and a study runs on it."""

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain.budget import Budget
from bhpt.domain.budget_kinds import Metered, register_kind
from bhpt.domain.errors import Misuse
from bhpt.reports.progress import progress_of
from bhpt.study import MemoryLog, Training, fold, priced_view
from bhpt.study.codec import decode_event, encode_event
from bhpt.study.events import BudgetAdded, Event, Failed, Observed
from bhpt.study.folding import apply
from bhpt.study.state import State
from tests.tuning.cases import DyingLog, Killed, check_invariants, executor, new_log, session

JOULES = 3.6e6  # in a kWh


@register_kind
@dataclass(frozen=True, slots=True)
class Energy(Metered):
    """Kilowatt-hours; the price of an hour is the power of one busy worker, in kilowatts."""

    name: ClassVar[str] = "kWh"
    example: ClassVar[str] = "2 kWh"

    @staticmethod
    def parse(text: str) -> float | None:
        found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*kWh", text)
        return None if found is None else float(found[1])

    def text(self, amount: float) -> str:
        return f"{amount:.4f} kWh"

    def used_text(self, used: float) -> str:
        return f"{used:.4f} of {self.amount:.4f} kWh"

    def problem(self) -> str | None:
        return "a budget of energy needs a power" if self.price_per_hour is None else None

    @property
    def spent_message(self) -> str:
        return "the energy ran out"


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls the plug here: what is killed is only the driver."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def test_it_is_written_and_read_like_the_others() -> None:
    budget = Budget.parse("2 kWh", price_per_hour=0.3)
    assert (budget.amount, budget.kind, str(budget)) == (2.0, "kWh", "2.0000 kWh")
    assert budget.plus(Budget.parse("0.5 kWh", 0.3)).amount == 2.5
    assert budget.rules.charge(7, 3600.0) == pytest.approx(0.3)
    with pytest.raises(Misuse, match="power"):
        Budget.parse("2 kWh")
    with pytest.raises(Misuse, match="this study counts kWh"):
        budget.plus(Budget(3))
    with pytest.raises(Misuse, match='"2 kWh"'):
        Budget.parse("2 parsecs")


def _check_ledger(events: list[Event]) -> State:
    """At no moment is more used and promised than there is, and the sums are right."""
    state = fold(events[:2])
    for event in events[2:]:
        state = apply(state, event)
        check_invariants(state)
        ledger = state.ledger
        assert not ledger.budget.rules.is_exceeded(ledger.spent, ledger.reserved)
        assert ledger.left + ledger.spent + ledger.reserved == pytest.approx(ledger.budget.amount)
    for event in events:
        if isinstance(event, Observed | Failed):
            assert event.cost <= event.seconds * 300 / JOULES * (1 + 1e-9)
    return state


@settings(deadline=None, max_examples=15)
@given(
    seed=st.integers(0, 1000),
    slots=st.integers(1, 3),
    deaths=st.lists(
        st.tuples(st.integers(1, 30), st.sampled_from(["before", "after"])), max_size=3
    ),
)
def test_a_study_runs_on_it_to_its_end_whatever_kills_the_driver(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    slots: int,
    deaths: list[tuple[int, str]],
) -> None:
    """A worker of 300 W has 60 busy seconds, with paces that spread over a factor of ten."""
    rng = np.random.default_rng(seed)
    pace = np.exp(rng.normal(0.0, 0.5, size=(11, 1))) * np.exp(rng.normal(0, 0.4, size=(11, 200)))
    folder = tmp_path_factory.mktemp("runs")
    log = new_log(Budget(60 * 300 / JOULES, "kWh", 0.3), Training(1, 150), workers=slots)
    for death in deaths:
        with contextlib.suppress(Killed):
            session(DyingLog(log, dict([death])), folder, executor(slots, pace), unseen_s=0.5)
    state = session(log, folder, executor(slots, pace), unseen_s=0.5)
    assert priced_view(state) is None, "it ends when nothing that is left pays for anything"
    assert not state.open
    assert _check_ledger(log.read()).ledger == state.ledger
    assert state.ledger.spent == pytest.approx(
        sum(attempt.cost for attempt in state.attempts), rel=1e-12
    )


def test_its_study_is_stored_read_extended_and_reported(tmp_path: Path) -> None:
    log = new_log(Budget(40 * 300 / JOULES, "kWh", 0.3), Training(1, 150))
    first = session(log, tmp_path / "files", executor())
    assert first.ledger.spent * JOULES / 300 == pytest.approx(39, abs=0.6)  # the rest would stop it
    again = MemoryLog()
    again.append([decode_event(encode_event(event)) for event in log.read()], 0)
    assert fold(again.read()).ledger == first.ledger
    more = Budget(20 * 300 / JOULES, "kWh", 0.3)
    again.append([BudgetAdded(more, first.clock)], first.events)
    state = session(again, tmp_path / "files", executor())
    assert state.ledger.spent * JOULES / 300 == pytest.approx(59, abs=0.6)
    progress = progress_of(state)
    assert progress.budget.rules.used_text(progress.used) == "0.0049 of 0.0050 kWh"
