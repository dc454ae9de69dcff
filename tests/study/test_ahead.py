"""The next unit is decided while one is in flight, as if that came out as predicted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.weights import shipped
from bhpt.domain import Misuse
from bhpt.study import MemoryLog, State, Study
from bhpt.study.ahead import expected_state
from bhpt.study.deciding import Following, next_unit
from bhpt.study.events import Decided, Observed
from bhpt.study.state import apply
from tests.study.cases import CONFIGS, Greedy, losses_of

PREDICTOR = LearnedPredictor(shipped("ends"))


def study_with_one_in_flight(told: int, seed: int) -> State:
    """A study under a deadline: some units were told, the last one asked for was not."""
    study = Study(
        CONFIGS, "100s", unit=2, max_epochs=20, seed=seed, policy=Greedy(), keep=MemoryLog
    )
    for _ in range(told):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
    assert study.ask() is not None
    return study.state


def ahead(state: State) -> Decided:
    flying = state.open[0]
    found = next_unit(
        state,
        Greedy(),
        state.clock,
        following=Following(flying, state.clock + 1.0, PREDICTOR),
    )
    assert found is not None
    return found.decided


def report(decided: Decided, state: State) -> Observed:
    attempt = state.attempts[decided.attempt]
    losses = losses_of(state.configs[decided.arm], attempt.done, attempt.unit.epochs)
    return Observed(decided.attempt, tuple(losses), 1.0, 0.0, 0, 1.0, None, state.clock + 1)


@settings(deadline=None, max_examples=25)
@given(st.integers(2, 12), st.integers(0, 50))
def test_what_is_decided_ahead_follows_in_the_log_and_folds(told: int, seed: int) -> None:
    state = study_with_one_in_flight(told, seed)
    first = state.flying[0]
    decided = ahead(state)
    later = apply(state, decided)
    assert decided.clock == state.clock
    assert decided.done == state.count(decided.arm) + state.flying_epochs(decided.arm)
    assert len(later.open) == 2
    shown = Decided(first.number, first.unit.arm, 0, 2, first.done, 0.0, None, "", (), 0.0)
    for one in (shown, decided):
        later = apply(later, report(one, later))
    assert not later.open
    assert later.reports == state.reports + 2
    assert later.ledger.reserved == 0.0


def test_it_is_the_decision_that_the_expected_report_would_lead_to() -> None:
    for seed in range(8):
        state = study_with_one_in_flight(5, seed)
        clock = state.clock + 1.0
        expected = expected_state(state, state.open[0], clock, PREDICTOR)
        assert expected is not None
        found = next_unit(expected, Greedy(), clock)
        assert found is not None
        assert found.decided.arm == ahead(state).arm


def test_expected_losses_go_from_where_an_arm_is_to_where_it_is_predicted() -> None:
    state = study_with_one_in_flight(6, 1)
    flying = state.flying[0]
    expected = expected_state(state, flying.number, state.clock + 3.0, PREDICTOR)
    assert expected is not None
    assert expected.curves is not None
    assert expected.clock == state.clock + 3.0
    assert expected.unit == state.unit
    added = expected.curves.of_arm(flying.unit.arm)[flying.done :]
    assert len(added) == flying.unit.epochs
    assert np.all(np.isfinite(added))
    assert np.all(np.diff(added) <= 0)
    assert state.count(flying.unit.arm) == flying.done  # the study itself is as it was


def test_the_same_arm_can_follow_itself_but_not_report_first() -> None:
    state = next(
        state
        for state in (study_with_one_in_flight(8, seed) for seed in range(100))
        if ahead(state).arm == state.flying[0].unit.arm
    )
    decided = ahead(state)
    later = apply(state, decided)
    assert decided.done == state.flying[0].done + 2
    assert later.untried == state.untried
    with pytest.raises(Misuse, match="came before its turn"):
        apply(later, report(decided, later))


def test_nothing_is_decided_ahead_twice() -> None:
    state = study_with_one_in_flight(5, 0)
    flying = state.open[0]
    later = apply(state, ahead(state))
    following = Following(flying, state.clock + 1.0, PREDICTOR)
    assert next_unit(later, Greedy(), state.clock, following=following) is None
