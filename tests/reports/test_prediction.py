"""Predictions for a view that is drawn again and again: only news, and only a part of the time."""

import math
from dataclasses import replace

import pytest

from bhpt.domain import Memory
from bhpt.reports import prediction
from bhpt.reports.forecast import forecast
from bhpt.reports.prediction import Interval, LivePrediction, StudyPrediction, predict_study
from bhpt.reports.progress import progress_of
from bhpt.reports.worlds import is_spent
from bhpt.study import State, Study
from tests.reports.cases import SPACE, loss_at, state_of, told

SOME = StudyPrediction(Interval(0.1, 0.2, 0.3))


class Clock:
    """A clock that is set by hand; predicting takes a second of it."""

    def __init__(self) -> None:
        self.time = 0.0
        self.asked = 0

    def now(self) -> float:
        return self.time

    def predict(self, *_: object) -> StudyPrediction:
        self.time += 1.0
        self.asked += 1
        return SOME


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock whose predictions take a second each."""
    made = Clock()
    monkeypatch.setattr(prediction, "predict_study", made.predict)
    return made


def test_it_predicts_news_and_takes_a_small_part_of_the_time(
    clock: Clock,
) -> None:
    study = told("20 epochs", units=4)
    live = LivePrediction(None, Memory(), clock.now)
    assert live(study.state) is SOME
    clock.time += 100
    live(study.state)
    assert clock.asked == 1  # nothing is new
    unit = study.ask()
    assert unit is not None
    live(study.state)
    assert clock.asked == 2
    study.tell(unit, 0.5, seconds=1.0)
    clock.time += 19
    live(study.state)
    assert clock.asked == 2  # it took a second: twenty seconds must pass
    clock.time += 2
    live(study.state)
    assert clock.asked == 3


def test_it_keeps_up_with_a_budget_that_is_spent_quickly(clock: Clock) -> None:
    study = told("20 epochs", units=4)
    live = LivePrediction(None, Memory(), clock.now)
    live(study.state)
    for asked, seconds in ((1, 8.0), (2, 0.0), (2, 6.0), (2, 0.5), (3, 0.5)):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, 0.5, seconds=1.0)
        clock.time += seconds
        live(study.state)
        # a tenth of the budget, two units, and 1 / 0.15 seconds for each that predicting took
        assert clock.asked == asked


def test_it_predicts_again_once_the_study_is_better_than_predicted(clock: Clock) -> None:
    study = told("200 epochs", units=4)
    live = LivePrediction(None, Memory(), clock.now)
    live(study.state)
    for loss, asked in ((0.25, 1), (0.15, 2)):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, loss, seconds=1.0)
        clock.time += 7.0
        live(study.state)
        assert clock.asked == asked


def test_an_older_prediction_is_never_worse_than_the_best_so_far(
    clock: Clock,
) -> None:
    study = told("20 epochs", units=4)
    live = LivePrediction(None, Memory(), clock.now)
    live(study.state)
    unit = study.ask()
    assert unit is not None
    study.tell(unit, 0.25, seconds=1.0)
    found = live(study.state)
    assert clock.asked == 1
    assert found is not None
    assert found.final == Interval(0.1, 0.2, 0.25)


def test_a_prediction_that_the_study_has_overtaken_is_not_shown(clock: Clock) -> None:
    """Cut at the best it would say that nothing better is to come."""
    study = told("20 epochs", units=4)
    live = LivePrediction(None, Memory(), clock.now)
    live(study.state)
    unit = study.ask()
    assert unit is not None
    study.tell(unit, 0.15, seconds=1.0)
    assert live(study.state) is None
    assert clock.asked == 1


@pytest.mark.parametrize("policy", [None, "bhpt"])
def test_it_says_what_the_study_s_predictor_says(policy: str | None) -> None:
    state = state_of("20 epochs", units=6)
    found = LivePrediction(policy, Memory())(state)
    assert found is not None
    own = predict_study(state)
    assert own is not None
    assert (found.final == own.final) == (policy is None)


def test_nothing_is_said_of_a_study_that_is_over() -> None:
    state: State = state_of("6 epochs")
    assert predict_study(state) is None


@pytest.mark.parametrize(("clock", "over"), [(98.0, False), (99.5, True)])
def test_a_rest_that_is_not_worth_a_session_is_no_end_to_predict(clock: float, over: bool) -> None:
    state = state_of("100s", units=8)
    late = replace(state, ledger=state.ledger.at(clock))
    assert late.ledger.left == pytest.approx(100 - clock)
    assert is_spent(late) == over
    assert (predict_study(late) is None) == over
    assert (progress_of(late).final is None) == over
    assert (forecast(late).left == 0) == over
    assert ("left</th>" in forecast(late)._repr_html_()) != over


@pytest.mark.parametrize("policy", ["default", "bhpt"])
@pytest.mark.parametrize("units", [5, 11])
def test_arms_end_where_the_stored_reasons_say(policy: str, units: int) -> None:
    study = Study(SPACE, "30 epochs", max_epochs=12, policy=policy)
    for _ in range(units):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0)
    predicted = predict_study(study.state)
    assert predicted is not None
    assert study.ask() is not None
    outlook = study.state.attempts[-1].outlook
    assert len(outlook) > 1
    for one in outlook:
        said = predicted.ends[one.arm]
        assert said.low <= said.middle <= said.high
        assert said.middle == pytest.approx(one.end, rel=0.02)


_NASTY = {
    "through zero": [3.0, 1.0, 0.3, 0.01, -0.4, -0.5, -0.55, -0.6],
    "to zero": [3.0, 1.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0],
    "constant": [0.5] * 8,
    "rising": [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8],
    "tiny": [1e-300, 5e-301, 1e-301, 9e-302, 8e-302, 7e-302, 6e-302, 5e-302],
    "huge": [1e300, 1e200, 1e100, 1e50, 1e20, 1e10, 1e5, 1.0],
    "far below zero": [-270.0, -274.0, -271.0, -273.0, -274.5, -272.0, -274.0, -270.0],
    "accuracy": [-0.1, -0.6, -0.9, -0.99, -0.999, -1.0, -1.0, -1.0],
    "percent": [-10.0, -60.0, -90.0, -99.0, -99.9, -100.0, -100.0, -100.0],
    "failures": [math.nan, 1.0, math.inf, 0.5, math.nan, -math.inf, 0.4, math.nan],
}


@pytest.mark.parametrize(
    ("policy", "kind"),
    [*(("default", kind) for kind in _NASTY), ("bhpt", "through zero"), ("bhpt", "failures")],
)
def test_no_end_is_predicted_that_cannot_be(policy: str, kind: str) -> None:
    losses = _NASTY[kind]
    study = Study(SPACE, "32 epochs", max_epochs=6, policy=policy)
    for number in range(20):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, losses[number * 5 % 8] if unit.done else losses[number % 8])
    state = study.state
    assert state.curves is not None
    found = predict_study(state)
    ends = [(one.low, one.expected, one.high) for one in forecast(state, ["64 epochs"]).outcomes]
    if found is None:  # nothing is known of any arm
        assert ends == [(state.curves.best,) * 3] * 2
    else:
        assert ends[0] == (found.final.low, found.final.middle, found.final.high)
        ends += [(one.low, one.middle, one.high) for one in found.ends.values()]
    for low, middle, high in ends:
        assert state.curves.lowest_possible <= low <= middle <= high < math.inf
