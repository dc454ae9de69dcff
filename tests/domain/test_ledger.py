import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain.budget import Budget
from bhpt.domain.errors import Misuse
from bhpt.domain.ledger import Ledger

_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "extend", "add"]),
        st.integers(0, 5),
        st.floats(0, 30),
        st.floats(0, 1),
    ),
    max_size=60,
)


@settings(deadline=None)
@given(st.sampled_from([Budget(50), Budget(50, "dollars", 3.0)]), _STEPS)
def test_any_interleaving_sums_up_and_never_overspends(
    budget: Budget, steps: list[tuple[str, int, float, float]]
) -> None:
    ledger = Ledger(budget)
    costs: list[float] = []
    for what, attempt, cost, part in steps:
        try:
            if what == "reserve":
                ledger = ledger.reserve(attempt, cost)
            elif what == "extend":
                ledger = ledger.extend(attempt, cost)
            elif what == "add":
                ledger = ledger.add(Budget(1, budget.kind, budget.price_per_hour))
            else:
                paid = part * ledger.promised.get(attempt, 0.0)
                ledger = ledger.settle(attempt, paid)
                costs.append(paid)
        except Misuse:
            pass
        assert ledger.spent == pytest.approx(sum(costs))
        assert ledger.spent + ledger.reserved <= ledger.budget.amount * (1 + 1e-8)
        assert ledger.left >= 0
        assert ledger.left + ledger.spent + ledger.reserved == pytest.approx(ledger.budget.amount)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(-10, 40)), max_size=30))
def test_a_deadline_is_shared_and_its_clock_never_goes_back(
    steps: list[tuple[bool, float]],
) -> None:
    ledger = Ledger(Budget(100, "seconds"))
    for attempt, (start, move) in enumerate(steps):
        before = ledger.clock
        ledger = ledger.at(ledger.clock + move)
        assert ledger.clock >= before
        if start and ledger.fits(10.0):
            ledger = ledger.reserve(attempt, 10.0)
        assert ledger.left == max(0.0, 100 - ledger.clock)


def test_an_exact_budget_is_spent_exactly() -> None:
    ledger = Ledger(Budget(1, "dollars", 1.0))
    for attempt in range(10):
        ledger = ledger.reserve(attempt, 0.1).settle(attempt, 0.1)
    assert ledger.left == pytest.approx(0, abs=1e-9)
    with pytest.raises(Misuse):
        ledger.reserve(11, 0.01)


def test_a_reservation_is_made_once_and_settled_once() -> None:
    ledger = Ledger(Budget(10)).reserve(1, 4)
    with pytest.raises(Misuse, match="already"):
        ledger.reserve(1, 4)
    settled = ledger.settle(1, 3)
    assert (settled.spent, settled.reserved, settled.left) == (3, 0, 7)
    with pytest.raises(Misuse, match="not in flight"):
        settled.settle(1, 3)
    with pytest.raises(Misuse, match="shrink"):
        ledger.extend(1, 3)


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1.0])
def test_what_is_no_cost_is_refused(cost: float) -> None:
    with pytest.raises(Misuse):
        Ledger(Budget(10)).reserve(1, cost)
    with pytest.raises(Misuse):
        Ledger(Budget(10)).reserve(1, 1).settle(1, cost)


def test_the_truth_is_recorded_even_if_it_is_too_much() -> None:
    ledger = Ledger(Budget(10)).reserve(1, 4).settle(1, 12)
    assert ledger.spent == 12
    assert ledger.left == 0


@pytest.mark.parametrize(("cost", "fits"), [(4, True), (7, True), (7.5, False)])
def test_a_reservation_can_be_raised_by_what_is_left(cost: float, *, fits: bool) -> None:
    ledger = Ledger(Budget(10)).reserve(0, 4).reserve(1, 3)
    assert ledger.can_extend(0, cost) == fits
    if fits:
        assert ledger.extend(0, cost).left == 7 - cost
    else:
        with pytest.raises(Misuse, match=r"only 7 is left"):
            ledger.extend(0, cost)
