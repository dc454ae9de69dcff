import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain.budget import Budget
from bhpt.domain.budget_kinds.dollars import Dollars
from bhpt.domain.errors import Misuse


@pytest.mark.parametrize(
    ("text", "amount", "kind"),
    [
        ("200 epochs", 200, "epochs"),
        ("1 epoch", 1, "epochs"),
        ("1e3 epochs", 1000, "epochs"),
        ("200epochs", 200, "epochs"),
        ("2h", 7200, "seconds"),
        ("90s", 90, "seconds"),
        ("1h30m", 5400, "seconds"),
        ("1 h 30 min", 5400, "seconds"),
        ("1.5 hours", 5400, "seconds"),
        ("2 days", 172800, "seconds"),
        ("$25", 25, "dollars"),
        ("$ 0.5", 0.5, "dollars"),
        ("$1E2", 100, "dollars"),
    ],
)
def test_what_people_write(text: str, amount: float, kind: str) -> None:
    budget = Budget.parse(text, price_per_hour=2.0)
    assert (budget.amount, budget.kind) == (amount, kind)


@pytest.mark.parametrize(
    "text",
    [
        *("0", "-3", "five", "10 parsecs", "200", "", "0 epochs", "-3 epochs", "1.5 epochs", "0s"),
        *("-2h", "$0", "$-3", "$", "h", "2h2h", "30m1h", "2h five", "nan epochs", "inf s", "1e3s"),
    ],
)
def test_bad_budgets_are_one_clear_line(text: str) -> None:
    with pytest.raises(Misuse) as caught:
        Budget.parse(text, price_per_hour=1.0)
    assert "\n" not in str(caught.value)


def test_more_epochs_than_can_be_counted_are_refused() -> None:
    with pytest.raises(Misuse, match="cannot be counted"):
        Budget.parse("99999999999999999999 epochs")


def test_numbers_of_numpy_are_amounts() -> None:
    budget = Budget(np.int64(20), "dollars", np.float32(0.5))  # type: ignore[arg-type]
    assert budget == Budget(20, "dollars", 0.5)
    assert (type(budget.amount), type(budget.price_per_hour)) == (float, float)


def test_numbers_do_not_say_of_what() -> None:
    with pytest.raises(Misuse):
        Budget.parse(200)  # type: ignore[arg-type]


def test_dollars_need_a_price() -> None:
    with pytest.raises(Misuse, match="price"):
        Budget.parse("$25")


@pytest.mark.parametrize("price", [0.0, -1.0, math.nan, math.inf])
def test_bad_prices(price: float) -> None:
    with pytest.raises(Misuse):
        Budget.parse("$25", price_per_hour=price)


def test_a_budget_is_parsed_as_itself() -> None:
    budget = Budget(3, "seconds")
    assert Budget.parse(budget) is budget


def test_only_the_same_kind_can_be_added() -> None:
    assert Budget(3).plus(Budget(4)).amount == 7
    with pytest.raises(Misuse, match="epochs"):
        Budget(3).plus(Budget(4, "seconds"))
    with pytest.raises(Misuse, match="price"):
        Budget(3, "dollars", 1.0).plus(Budget(4, "dollars", 2.0))


def test_charges() -> None:
    assert Budget(3).rules.charge(5, 7.0) == 5
    assert Budget(3, "seconds").rules.charge(5, 7.0) == 7
    assert Budget(3, "dollars", 2.0).rules.charge(5, 1800.0) == pytest.approx(1.0)


@settings(deadline=None)
@given(st.floats(0.001, 1e6), st.floats(0.001, 1e4))
def test_money_buys_the_time_that_it_costs(seconds: float, price: float) -> None:
    rules = Dollars(1, price)
    assert rules.seconds_for(rules.cost_of(seconds)) == pytest.approx(seconds)


@settings(deadline=None)
@given(st.floats(0.01, 1e9), st.sampled_from(["seconds", "dollars"]), st.floats(0.1, 2.0))
def test_an_amount_and_parts_of_it_can_be_typed_again(
    amount: float, kind: str, part: float
) -> None:
    budget = Budget(amount, kind, 2.0)
    again = Budget.parse(str(budget), 2.0)
    assert again.amount == pytest.approx(amount, rel=0.01)
    more = Budget.parse(budget.rules.text(part * amount), 2.0)
    assert more.amount == pytest.approx(part * amount, rel=0.06)


@pytest.mark.parametrize(
    ("amount", "used", "text"),
    [
        (25.0, 1.2, "$1.20 of $25.00"),
        (1.0, 0.004, "$0.00 of $1.00"),
        (0.01, 0.0098, "$0.0098 of $0.01"),
        (0.5, 0.125, "$0.125 of $0.50"),
    ],
)
def test_money_is_written_in_cents_and_less_than_a_dollar_in_finer_parts(
    amount: float, used: float, text: str
) -> None:
    assert Dollars(amount, 1.0).used_text(used) == text
