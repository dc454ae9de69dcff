"""What a unit costs, who is blamed for one that fails, and what a dead driver leaves behind."""

import pytest

from bhpt.domain import Failure, FailureKind, Resume, UnitResult, Usage
from bhpt.domain.budget import Budget
from bhpt.study import State, Training, fold
from bhpt.study.creation import first_events
from bhpt.study.events import Decided, Extended, Failed, Restarted
from bhpt.study.folding import apply
from bhpt.study.settling import dearer, failure, hopeless, reconcile, report

_MONEY = Budget(10.0, "dollars", price_per_hour=3600.0)  # a dollar a second
_CRASH = Failure(FailureKind.CRASHED, "boom", usage=Usage(2.0))


def _state(budget: Budget, arms: int = 3, retries: int = 2) -> State:
    training = Training(2, 20, retries=retries)
    return fold(first_events([{"x": i} for i in range(arms)], budget, training=training, workers=2))


def _started(state: State, arm: int, cost: float) -> State:
    """The state with a unit of an arm in flight."""
    done, number = state.count(arm), len(state.attempts)
    unit = Decided(number, arm, state.arm(arm).units, 2, done, cost, None, "", (), state.clock)
    return apply(state, unit)


def _failed(state: State, arm: int, kind: FailureKind = FailureKind.CRASHED) -> State:
    """The state after a unit of an arm was started and failed."""
    flying = _started(state, arm, 2.0)
    return apply(flying, failure(flying, flying.open[-1], Failure(kind, "boom"), flying.clock))


def _observed(state: State, number: int, usage: Usage = Usage()) -> State:  # noqa: B008  # frozen
    """The state after the report of a unit in flight."""
    _, event = report(state, number, UnitResult((0.5, 0.4), usage=usage), state.clock)
    assert event is not None
    return apply(state, event)


def test_epochs_that_are_trained_again_are_paid_for() -> None:
    after = _observed(_started(_state(Budget(20)), 0, 5.0), 0, Usage(1.0, rerun=3))
    assert (after.ledger.spent, after.ledger.left) == (5.0, 15.0)


@pytest.mark.parametrize(("budget", "cost"), [(Budget(20), 4.0), (_MONEY, 2.0)])
def test_a_failed_unit_costs_its_reservation_or_its_time(budget: Budget, cost: float) -> None:
    state = _started(_state(budget), 0, 4.0)
    assert failure(state, 0, _CRASH, 2.0).cost == pytest.approx(cost)


@pytest.mark.parametrize("kind", [FailureKind.STOPPED, FailureKind.LOST])
def test_an_arm_is_not_given_up_for_what_is_not_its_fault(kind: FailureKind) -> None:
    state = _failed(_failed(_state(Budget(20)), 0), 0)
    blameless = _failed(state, 0, kind)
    assert blameless.arm(0).closed is None
    assert _failed(blameless, 0).arm(0).closed == "boom"


def test_a_reservation_is_raised_as_far_as_something_is_left() -> None:
    state = _started(_started(_state(Budget(12)), 0, 6.0), 1, 2.0)  # 4 are left
    flying = _started(_observed(state, 1), 1, 2.0)  # 2 are left
    attempt = flying.attempts[2]
    assert dearer(flying, attempt, Resume.alive(2), 1.0) is None
    raised = dearer(flying, attempt, Resume(), 1.0)  # its first two epochs are lost
    assert isinstance(raised, Extended)
    assert raised.cost == 4.0
    assert apply(flying, raised).ledger.left == 0.0
    full = _started(flying, 2, 1.0)
    gone = dearer(full, full.attempts[2], Resume(), 1.0)
    assert isinstance(gone, Failed)
    assert (gone.cost, gone.kind) == (0.0, "lost")


def test_time_that_a_dead_driver_was_not_seen_is_charged_up_to_the_reservation() -> None:
    state = _started(_state(_MONEY), 0, 4.0)
    nothing = {0: Resume()}
    (lost,) = reconcile(state, nothing, 1.5, unseen_s=1.0)
    assert isinstance(lost, Failed)
    assert lost.cost == pytest.approx(2.5)
    (longer,) = reconcile(state, nothing, 1.5, unseen_s=60.0)
    assert isinstance(longer, Failed)
    assert longer.cost == pytest.approx(4.0)


def test_epochs_of_a_dead_driver_run_again_under_their_reservation() -> None:
    state = _started(_state(Budget(20)), 0, 2.0)
    assert reconcile(state, {0: Resume()}, 1.0, unseen_s=5.0) == (Restarted(0, 1.0),)


def test_a_trainer_that_fails_two_arms_is_hopeless_and_one_that_worked_is_not() -> None:
    state = _state(Budget(20), retries=0)
    assert hopeless(state) is None
    once = _failed(state, 0)
    assert hopeless(once) is None
    assert hopeless(_failed(once, 1)) == "boom"
    assert hopeless(_failed(_state(Budget(20), arms=1, retries=0), 0)) == "boom"
    assert hopeless(_failed(_observed(_started(once, 2, 2.0), 1), 1)) is None
