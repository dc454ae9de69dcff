import math
from dataclasses import replace

import numpy as np
import pytest

from bhpt.domain import Misuse, Objective
from bhpt.domain.budget import Budget
from bhpt.reports.forecast import forecast
from bhpt.reports.progress import progress_of
from bhpt.study import State, Study
from tests.reports.cases import SPACE, loss_at, state_of, told


@pytest.fixture(scope="module")
def spent() -> State:
    return state_of("20 epochs")


def test_the_expected_loss_never_rises_with_the_budget(spent: State) -> None:
    found = forecast(spent, [f"{more} epochs" for more in range(1, 60, 3)])
    expected = [outcome.expected for outcome in found.outcomes]
    assert expected == sorted(expected, reverse=True)
    assert expected[-1] < expected[0] == pytest.approx(found.best, rel=1e-12)
    for outcome in found.outcomes:
        assert outcome.low <= outcome.expected <= outcome.high <= found.best


def test_one_amount_in_place_of_a_list_is_named(spent: State) -> None:
    with pytest.raises(Misuse, match=r"more is a list, such as \['50 epochs'\], not '5 epochs'"):
        forecast(spent, "5 epochs")


def test_a_maximised_metric_is_forecast_upwards(spent: State) -> None:
    up = replace(spent, plan=replace(spent.plan, objective=Objective("acc", "max")))
    for down, found in zip(forecast(spent).outcomes, forecast(up).outcomes, strict=True):
        assert (found.low, found.expected, found.high) == (-down.high, -down.expected, -down.low)
    assert forecast(up).best == -forecast(spent).best


def test_without_amounts_it_looks_at_parts_of_the_budget(spent: State) -> None:
    found = forecast(spent)
    assert [outcome.more for outcome in found.outcomes] == [0, 2, 5, 10, 20, 40]
    assert found.left == 0
    assert found.own_predictor


def test_the_same_study_gets_the_same_forecast(spent: State) -> None:
    assert forecast(spent) == forecast(spent)


def test_amounts_are_given_once_each_in_order(spent: State) -> None:
    found = forecast(spent, ["10 epochs", Budget(3), "10 epochs"])
    assert [outcome.more for outcome in found.outcomes] == [0, 3, 10]


def test_what_is_left_counts() -> None:
    state = state_of("20 epochs", units=12)
    now, more = forecast(state, ["5 epochs"]).outcomes
    assert state.ledger.left == 8
    assert now.arms >= 1
    assert more.expected <= now.expected < state.best.loss  # type: ignore[union-attr]


def test_units_in_flight_are_expected() -> None:
    study = told("20 epochs", units=10, workers=2)
    assert study.ask() is not None
    assert study.ask() is not None
    found = forecast(study.state, ["5 epochs", "20 epochs"])
    expected = [outcome.expected for outcome in found.outcomes]
    assert expected == sorted(expected, reverse=True)


def test_smooth_curves_are_forecast_closely() -> None:
    state = state_of("30 epochs")
    assert state.best is not None
    best = state.best.arm
    last = min(state.count(best) + 10, state.plan.training.epochs)
    truth = loss_at(state.configs[best], last)
    assert forecast(state, ["10 epochs"]).outcomes[-1].expected == pytest.approx(truth, rel=0.06)


def test_a_deadline_is_shared_by_the_workers() -> None:
    state = state_of("100s", units=15, workers=1)
    alone = forecast(state, ["20s", "60s"])
    expected = [outcome.expected for outcome in alone.outcomes]
    assert expected == sorted(expected, reverse=True)


def test_workers_cannot_share_an_arm() -> None:
    spent = state_of("40 epochs")
    many = replace(spent, session=None, plan=replace(spent.plan, workers=8))
    alone, together = forecast(spent, ["24 epochs"]), forecast(many, ["24 epochs"])
    assert together.outcomes[-1].arms >= 8
    assert together.outcomes[-1].expected > alone.outcomes[-1].expected


def test_money_buys_what_it_buys() -> None:
    study = told(Budget(0.5, "dollars", 60.0), units=8)  # type: ignore[arg-type]
    found = forecast(study.state, ["$0.2", "$1"])
    assert [outcome.more for outcome in found.outcomes] == [0, 0.2, 1.0]
    assert found.outcomes[-1].expected < found.best


def test_arms_that_are_all_finished_buy_nothing() -> None:
    study = Study([{"rate": 0.1, "depth": 1}], "4 epochs", max_epochs=4)
    while (unit := study.ask()) is not None:
        study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0)
    found = forecast(study.state, ["10 epochs"])
    assert [outcome.expected for outcome in found.outcomes] == [found.best] * 2
    assert [outcome.arms for outcome in found.outcomes] == [0, 0]


def test_a_policy_without_predictor_gets_the_learned_one() -> None:
    study = Study(SPACE, "12 epochs", max_epochs=10, policy="random")
    while (unit := study.ask()) is not None:
        study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0)
    assert not forecast(study.state).own_predictor
    unknown = replace(study.state, plan=replace(study.state.plan, policy="Mine"))
    assert not forecast(unknown).own_predictor


def test_nothing_to_forecast_from() -> None:
    study = Study(SPACE, "5 epochs")
    with pytest.raises(Misuse, match="nothing to forecast from"):
        forecast(study.state)
    unit = study.ask()
    assert unit is not None
    study.tell(unit, math.nan, seconds=1.0)
    with pytest.raises(Misuse, match="nothing to forecast from"):
        forecast(study.state)


def test_nan_curves_do_no_harm() -> None:
    study = Study(SPACE, "10 epochs", max_epochs=10)
    for number in range(10):
        unit = study.ask()
        assert unit is not None
        loss = math.nan if number % 3 == 0 else loss_at(unit.config, unit.done + 1)
        study.tell(unit, loss, seconds=1.0)
    found = forecast(study.state, ["5 epochs"])
    assert np.isfinite(found.outcomes[-1].expected)


def test_another_kind_is_refused(spent: State) -> None:
    with pytest.raises(Misuse, match="counts epochs"):
        forecast(spent, ["2h"])


@pytest.mark.parametrize("policy", ["default", "bhpt", "random"])
@pytest.mark.parametrize("workers", [1, 2])
def test_status_and_forecast_say_the_same_of_what_is_left(policy: str, workers: int) -> None:
    """Whatever other amounts are looked at; units in flight included."""
    study = Study(SPACE, "16 epochs", max_epochs=12, policy=policy, workers=workers)
    for _ in range(8):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0)
    assert study.ask() is not None
    final = progress_of(study.state).final
    assert final is not None
    for more in ([], ["3 epochs"], ["30 epochs", "100 epochs"]):
        left = forecast(study.state, more).outcomes[0]
        assert left.more == 0
        assert (left.low, left.expected, left.high) == (final.low, final.middle, final.high)
    assert 0 <= final.low <= final.middle <= final.high <= study.best_loss


def test_when_all_is_promised_units_in_flight_still_count() -> None:
    study = told("9 epochs", units=8)
    assert study.ask() is not None
    assert study.ask() is None
    final = progress_of(study.state).final
    assert final is not None
    assert final.middle <= study.best_loss
