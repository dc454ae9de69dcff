"""Which units may be started: those that are surely paid for, and none twice."""

import pytest

from bhpt.domain import BoolArray
from bhpt.domain.budget import Budget
from bhpt.study import State, Training, apply, fold, priced_view
from bhpt.study.creation import first_events
from bhpt.study.deciding import next_unit
from bhpt.study.events import Decided, Event, Observed, SessionStarted
from bhpt.study.pricing import Prospects
from tests.study.cases import Greedy

_SECONDS = {0: (1.0, 1.2, 0.9, 1.1), 1: (3.0, 5.0, 2.0, 4.0)}  # of the units of two arms


def _log(budget: Budget, untried: int = 0) -> list[Event]:
    """Two arms with four units each: the second is slow, and its times differ more."""
    configs = [{"x": float(x)} for x in range(2 + untried)]
    log: list[Event] = [*first_events(configs, budget, training=Training(1, 20), workers=2)]
    for arm, times in _SECONDS.items():
        for index, seconds in enumerate(times):
            attempt = 4 * arm + index
            log.append(Decided(attempt, arm, index, 1, index, 0.0, None, "", (), 0.0))
            log.append(Observed(attempt, (1.0,), seconds, 0.0, 0, 0.0, None, 0.0))
    return log


def _priced(left: float) -> tuple[BoolArray, Prospects] | None:
    """What may be started with so many dollars left, at a dollar a second."""
    looked = priced_view(fold(_log(Budget(left, "dollars", price_per_hour=3600.0))))
    return None if looked is None else (looked[0].choosable, looked[1])


def test_a_unit_that_may_be_too_long_is_not_started_while_another_is_sure_to_fit() -> None:
    plenty = _priced(1000.0)
    assert plenty is not None
    typical, safe = plenty[1].typical, plenty[1].safe
    assert (safe > 1.05 * typical).all()  # times differ, and that is counted
    assert typical[1] > safe[0]
    between = _priced((typical[1] + safe[1]) / 2)
    assert between is not None
    assert between[0].tolist() == [True, False]
    enough = _priced(1.01 * safe[1])
    assert enough is not None
    assert enough[0].all()


def test_what_is_left_is_not_wasted_where_no_unit_is_sure_to_fit() -> None:
    plenty = _priced(1000.0)
    assert plenty is not None
    typical, safe = plenty[1].typical, plenty[1].safe
    last = _priced((typical[0] + safe[0]) / 2)
    assert last is not None
    assert last[0].tolist() == [True, False]
    assert _priced(0.5 * typical[0]) is None


def _two_workers() -> State:
    started = SessionStarted("host", 1, 2, 0.0)
    return fold([*_log(Budget(100.0, "dollars", price_per_hour=3600.0), untried=1), started])


def test_an_arm_in_flight_is_not_started_again() -> None:
    state = apply(_two_workers(), Decided(8, 0, 4, 1, 4, 1.0, None, "", (), 0.0))
    looked = priced_view(state)
    assert looked is not None
    assert looked[1].possible.tolist() == [False, True, True]
    assert looked[0].choosable.tolist() == [False, True, True]


def test_no_more_units_are_started_than_there_are_workers() -> None:
    state = _two_workers()
    for number in (8, 9):
        planned = next_unit(state, Greedy(), 0.0)
        assert planned is not None
        assert planned.decided.attempt == number
        state = apply(state, planned.decided)
    assert next_unit(state, Greedy(), 0.0) is None


@pytest.mark.parametrize("reruns", [0, 3])
def test_epochs_that_must_be_trained_again_are_priced(reruns: int) -> None:
    state = fold(_log(Budget(1000.0, "dollars", price_per_hour=3600.0)))
    looked = priced_view(state, reruns=lambda _: reruns)
    assert looked is not None
    assert looked[1].epochs.tolist() == [1 + reruns, 1 + reruns]
