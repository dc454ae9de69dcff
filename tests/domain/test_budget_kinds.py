"""Each kind's arithmetic and words; every registered kind keeps the same promises."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain.budget import Budget
from bhpt.domain.budget_kinds import (
    STOPPING_S,
    BudgetKind,
    Enough,
    Extend,
    UnitCost,
    UnitUsage,
    register_kind,
)
from bhpt.domain.budget_kinds.dollars import Dollars
from bhpt.domain.budget_kinds.epochs import Epochs
from bhpt.domain.budget_kinds.wall_clock import WallClock
from bhpt.domain.durations import duration
from bhpt.domain.errors import Misuse

KINDS = [Epochs(40), WallClock(40.0), Dollars(40.0, 3600.0)]
DOLLARS = Dollars(100.0, 3600.0)  # a second costs a dollar


def test_durations() -> None:
    assert [duration(s) for s in (0, 59.9, 61, 3723)] == ["0:00", "0:59", "1:01", "1:02:03"]


@pytest.mark.parametrize(
    ("amount", "budget"),
    [
        (90, Budget(10)),
        (5400.0, Budget(10, "seconds")),
        (2.5, Budget(10, "seconds")),
        (86400.0, Budget(10, "seconds")),
        (2.5, Budget(10, "dollars", 1.0)),
    ],
)
def test_amounts_can_be_typed_again(amount: float, budget: Budget) -> None:
    read = Budget.parse(budget.rules.text(amount), budget.price_per_hour)
    assert (read.amount, read.kind) == (amount, budget.kind)


def test_a_budget_is_written_as_it_may_be_typed() -> None:
    assert [str(Budget.parse(text, 2.0)) for text in ("7 epochs", "90m", "$3")] == [
        "7 epochs",
        "1h30m",
        "$3.00",
    ]


def test_used() -> None:
    assert Budget(10).rules.used_text(3) == "3 of 10 epochs"
    assert str(Budget(1)) == "1 epoch"
    assert Budget(120, "seconds").rules.used_text(61) == "1:01 of 2:00"
    assert Budget(2, "dollars", 1.0).rules.used_text(0.5) == "$0.50 of $2.00"


@pytest.mark.parametrize("kind", KINDS)
def test_examples_are_of_their_kind(kind: BudgetKind) -> None:
    assert Budget.parse(kind.example, 1.0).kind == kind.name


def test_what_a_failed_attempt_costs() -> None:
    assert [kind.charge_failed(7.0, 3.0) for kind in KINDS] == [7.0, 3.0, 3.0]


def test_what_must_be_reserved_before_a_unit_starts() -> None:
    assert [kind.required(5) for kind in KINDS] == [5.0, 0.0, 0.0]


def test_only_epochs_survive_their_driver_and_only_time_is_shared() -> None:
    assert [kind.restarts for kind in KINDS] == [True, False, False]
    assert [kind.shared for kind in KINDS] == [False, True, False]


def test_prices_of_units() -> None:
    epochs, seconds = np.array([1, 3]), np.array([2.0, 5.0])
    timed = [kind.unit_costs(epochs, seconds) for kind in KINDS]
    np.testing.assert_allclose(np.array(timed), [[1.0, 3.0], [2.0, 5.0], [2.0, 5.0]])
    guessed = [kind.unit_costs(epochs, None) for kind in KINDS]
    np.testing.assert_allclose(np.array(guessed), [[1.0, 3.0], [0.8, 0.8], [0.8, 0.8]])


def test_reservations() -> None:
    known = UnitCost(typical=2.0, safe=3.0, timed=True, stopping=0.5)
    guess = UnitCost(typical=2.0, safe=2.0, timed=False, stopping=0.5)
    assert [kind.reserve(known, 30.0, 3) for kind in KINDS] == [2.0, 2.0, 3.5]
    assert [kind.reserve(guess, 30.0, 3) for kind in KINDS] == [2.0, 2.0, 10.0]
    assert [kind.reserve(known, 1.0, 3) for kind in KINDS] == [1.0, 1.0, 1.0]


def test_what_is_used_and_held() -> None:
    assert [kind.used(5.0, 9.0) for kind in KINDS] == [5.0, 9.0, 5.0]
    assert [kind.held(4.0) for kind in KINDS] == [4.0, 0.0, 4.0]
    assert [kind.is_exceeded(39.0, 2.0) for kind in KINDS] == [True, False, True]
    assert not any(kind.is_exceeded(39.0, 1.0) for kind in KINDS)


def test_how_long_it_should_still_take() -> None:
    assert [kind.seconds_left(10.0, 20.0) for kind in KINDS] == [60.0, 20.0, 60.0]
    assert [kind.seconds_left(0.0, 0.0) for kind in KINDS] == [None, 40.0, None]


def test_what_amounts_are_worth() -> None:
    assert [kind.epochs_bought for kind in KINDS] == [40, None, None]
    assert [kind.worth_a_session(2) for kind in KINDS] == pytest.approx([2.0, 0.4, 0.4])
    assert [kind.rounded(7.3, 3) for kind in KINDS] == [6.0, 7.3, 7.3]
    assert Epochs(40).rounded(0.2, 3) == 3.0


def test_epochs_never_stop_a_unit() -> None:
    usage = UnitUsage(reserved=1.0, busy_s=1e9, clock=1e9, left=0.0)
    assert Epochs(40).verdict(usage) is None
    assert Epochs(40).next_look(usage) == math.inf
    assert Epochs(40).stopping == WallClock(40).stopping == 0.0


def test_a_deadline_stops_in_good_order_when_it_comes() -> None:
    before, after = (UnitUsage(5.0, 99.0, clock, 0.0) for clock in (39.0, 40.0))
    assert WallClock(40).verdict(before) is None
    assert WallClock(40).next_look(before) == 1.0
    assert WallClock(40).verdict(after) == Enough("the deadline came first")
    assert WallClock(40).too_late(40.0) is None
    assert WallClock(40).too_late(40.01) == "the deadline came first"
    assert Epochs(40).too_late(1e9) is None


def test_the_guard_ends_a_unit_before_what_is_paid_for_is_used_up() -> None:
    usage = UnitUsage(reserved=10.0, busy_s=3.0, clock=30.0, left=50.0)
    assert [kind.paid_s(usage) for kind in KINDS[:2]] == [math.inf, 13.0]  # 10 s to the deadline
    assert 9.0 <= DOLLARS.paid_s(usage) < 10.0
    assert 0.05 <= DOLLARS.paid_s(UnitUsage(0.1, 0.0, 0.0, 0.0)) < 0.1


def test_money_is_raised_while_there_is_some_and_stopped_before_it_is_gone() -> None:
    early = UnitUsage(reserved=10.0, busy_s=8.0, clock=0.0, left=50.0)
    assert DOLLARS.verdict(early) is None
    late = UnitUsage(reserved=10.0, busy_s=9.0, clock=0.0, left=50.0)
    assert DOLLARS.verdict(late) == Extend(15.0)
    assert DOLLARS.verdict(UnitUsage(10.0, 9.0, 0.0, 2.0)) == Extend(12.0)
    poor = UnitUsage(reserved=10.0, busy_s=9.0, clock=0.0, left=0.1)
    assert DOLLARS.verdict(poor) is None
    assert DOLLARS.verdict(UnitUsage(10.0, 9.8, 0.0, 0.1)) == Enough("the money ran out", True)


@settings(deadline=None)
@given(
    reserved=st.floats(0.1, 50),
    left=st.floats(0, 100),
    price=st.floats(1.0, 1e5),
    lag=st.floats(0, 1e-3),
)
def test_whoever_looks_when_told_never_exceeds_a_reservation(
    reserved: float, left: float, price: float, lag: float
) -> None:
    """A unit that never ends by itself is extended or killed while its reservation lasts."""
    rules = Dollars(200.0, price)
    reserved += rules.stopping
    busy = 0.0
    for _ in range(10_000):
        usage = UnitUsage(reserved, busy, 0.0, left)
        said = rules.verdict(usage)
        if isinstance(said, Extend):
            assert reserved < said.cost <= reserved + left * (1 + 1e-9)
            left -= said.cost - reserved
            reserved = said.cost
        elif isinstance(said, Enough):
            break
        else:
            busy += max(rules.next_look(usage), 1e-6) + lag
    assert isinstance(said, Enough)
    assert rules.cost_of(busy + STOPPING_S / 2 - lag) <= reserved * (1 + 1e-6) + 1e-6 * price


def test_a_name_is_one_kind() -> None:
    class Other(Epochs):
        """Counts something else under a name that is taken."""

    with pytest.raises(Misuse, match="another kind of budget called 'epochs'"):
        register_kind(Other)
    assert register_kind(Epochs) is Epochs


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(Misuse, match="unknown kind of budget 'joules'"):
        Budget(3, "joules")
    with pytest.raises(Misuse, match="unknown kind of budget"):
        Budget(3, ["epochs"])  # type: ignore[arg-type]
