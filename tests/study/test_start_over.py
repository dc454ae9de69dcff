"""Ask and tell where what an arm has learned is lost: its unit starts over, and pays for that."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import Misuse
from bhpt.domain.budget import Budget
from bhpt.study import AskedUnit, MemoryLog, Study, fold
from bhpt.study.events import Extended
from tests.study.cases import CONFIGS, into, losses_of

_MONEY = Budget(12.0, "dollars", price_per_hour=3600.0)  # a dollar a second


def _asked(study: Study, after: int = 0) -> AskedUnit:
    """The unit that is asked for after so many were told, each of a second."""
    for _ in range(after):
        _told(study, _asked(study))
    unit = study.ask()
    assert unit is not None
    return unit


def _told(study: Study, unit: AskedUnit) -> None:
    losses = losses_of(unit.config, unit.done, unit.epochs)
    study.tell(unit, losses, seconds=(unit.rerun + unit.epochs) / unit.epochs)


def _again(study: Study, unit: AskedUnit) -> AskedUnit:
    again = study.start_over(unit)
    assert again is not None
    return again


def _study(budget: str | Budget, log: MemoryLog | None = None, workers: int = 1) -> Study:
    """A study that trains its first arm to the end before it looks at another."""
    keep = into(MemoryLog() if log is None else log)
    return Study(
        CONFIGS, budget, unit=2, max_epochs=20, policy="random", workers=workers, keep=keep
    )


@pytest.mark.parametrize("budget", ["12 epochs", _MONEY])
def test_a_unit_that_starts_over_is_charged_for_all_it_trains(budget: str | Budget) -> None:
    price = 2 if isinstance(budget, str) else 1  # of a unit
    study = _study(budget)
    unit = _asked(study, after=2)
    again = _again(study, unit)
    assert (again.attempt, again.done, again.epochs, again.rerun) == (2, 4, 2, 4)
    assert study.state.ledger.reserved >= 3 * price
    _told(study, again)
    assert study.state.ledger.spent == 5 * price
    assert study.state.count(unit.arm) == 6
    with pytest.raises(Misuse, match="attempt 2 has ended: it cannot start over"):
        study.start_over(again)


@pytest.mark.parametrize(
    "budget", ["8 epochs", Budget(4.5, "dollars", price_per_hour=3600.0), "4.5s"]
)
def test_a_unit_that_cannot_start_over_ends_its_arm(budget: str | Budget) -> None:
    log = MemoryLog()
    study = _study(budget, log)
    lost = _asked(study, after=2)
    spent = study.state.ledger.spent
    if budget == "4.5s":
        study = Study.resume(log, clock=iter([0.0, *[2.0] * 9]).__next__)
    assert study.start_over(lost) is None
    assert study.state.ledger.spent == spent
    assert _asked(study).arm != lost.arm


def test_a_unit_that_starts_over_and_fails_is_charged_for_all_it_trained() -> None:
    study = _study("12 epochs")
    unit = _asked(study)
    assert _again(study, unit) == unit  # nothing is lost before the first
    _told(study, unit)
    study.fail(_again(study, _asked(study)), "out of memory")
    assert study.state.ledger.spent == 2 + 4


def test_nothing_is_lost_before_the_first_unit_however_little_is_left() -> None:
    study = _study(_MONEY, workers=3)
    _told(study, _asked(study))
    units = [_asked(study) for _ in range(3)]
    for unit in units:
        if unit.done == 0:
            assert study.start_over(unit) == unit


def test_after_a_restart_a_unit_starts_over_under_the_same_reservation() -> None:
    log = MemoryLog()
    first = _study("12 epochs", log)
    _again(first, _asked(first, after=2))
    second = Study.resume(log, restart=True)  # the first was killed
    unit = _asked(second)
    assert (unit.attempt, unit.rerun) == (2, 0)
    _told(second, _again(second, unit))
    assert second.state.ledger.spent == 10
    assert len([event for event in log.read() if isinstance(event, Extended)]) == 1


@dataclass
class _Trainer:
    """Trains what a study asks for, forgets at times, and counts what it has really trained."""

    log: MemoryLog
    study: Study
    trained: int = 0

    def act(self, what: str, which: int) -> None:
        """One step: ask, tell, fail, forget what an arm has learned, or be killed."""
        flying = self.study.in_flight
        if what == "ask":
            self.study.ask()
        elif what == "die":
            self.study = Study.resume(self.log, restart=bool(which % 2))
        elif flying:
            self._end(what, flying[which % len(flying)], forgotten=which % 3 == 0)

    def _end(self, what: str, unit: AskedUnit, *, forgotten: bool) -> None:
        ready = self.study.start_over(unit) if forgotten else unit
        if ready is None or what == "forget":
            return
        if what == "tell":
            _told(self.study, ready)
            self.trained += ready.rerun + ready.epochs
        else:
            self.study.fail(ready, "it crashed", seconds=1.0)
            self.trained += round(self.study.state.attempts[unit.attempt].reserved)


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "ask", "tell", "tell", "forget", "fail", "die"]),
        st.integers(0, 11),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 3), _STEPS)
def test_any_interleaving_sums_up_and_never_overspends(
    workers: int, steps: list[tuple[str, int]]
) -> None:
    log = MemoryLog()
    trainer = _Trainer(log, _study("31 epochs", log, workers=workers))
    for what, which in steps:
        trainer.act(what, which)
        ledger, attempts = trainer.study.state.ledger, trainer.study.state.attempts
        assert ledger.spent == trainer.trained == sum(one.cost for one in attempts)
        assert ledger.spent + ledger.reserved <= 31
    state = trainer.study.state
    assert fold(log.read()).ledger == state.ledger
    seen = [(one.unit.arm, one.done) for one in state.attempts if one.status == "observed"]
    assert len(seen) == len(set(seen)) == state.reports
