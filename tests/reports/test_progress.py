import math

import pytest

from bhpt.reports.prediction import Interval, StudyPrediction
from bhpt.reports.progress import progress_of
from bhpt.study import Study
from tests.reports.cases import SPACE, state_of, told


def test_before_anything() -> None:
    progress = progress_of(Study(SPACE, "5 epochs").state)
    assert progress.best is None
    assert progress.final is None
    assert progress.left_s is None
    assert not progress.flights
    assert not progress.standings


def test_in_the_middle() -> None:
    study = told("20 epochs", units=10, workers=2)
    unit = study.ask()
    assert unit is not None
    state = study.state
    progress = progress_of(state, state.clock + 3.0)
    assert (progress.used, progress.promised, progress.reports) == (10, 1, 10)
    assert progress.flights[0].arm == unit.arm
    assert progress.flights[0].first == progress.flights[0].last == unit.done + 1
    assert progress.flights[0].busy_s == pytest.approx(3.0, abs=0.1)
    assert progress.flights[0].why
    assert progress.best is not None
    assert progress.final is not None
    assert progress.final.low <= progress.final.middle <= progress.final.high
    assert progress.final.high <= progress.best.loss
    bests = [standing.best for standing in progress.standings]
    assert bests == sorted(bests)
    ends = [(one.end, one.best) for one in progress.standings if one.end is not None]
    assert ends
    assert all(end.high <= best for end, best in ends)
    assert bests[0] == progress.best.loss
    assert len(progress.standings[0].curve) == progress.standings[0].epochs


def test_an_arm_that_has_come_further_since_it_was_predicted() -> None:
    state = state_of(units=12)
    first, second = (one.arm for one in progress_of(state).standings[:2])
    reached = {one.arm: one.best for one in progress_of(state).standings}
    later, overtaken = reached[first], reached[second]
    old = StudyPrediction(
        Interval(0.0, later / 2, later),
        {first: Interval(0.0, later / 2, 3 * later), second: Interval(0.0, 2 * overtaken, 9.0)},
    )
    shown = {one.arm: one.end for one in progress_of(state, predict=lambda _: old).standings}
    assert shown[first] == Interval(0.0, later / 2, later)
    assert shown[second] is None


def test_a_maximised_metric_is_shown_in_its_own_direction() -> None:
    """The same study with its metric negated: the same decisions, every shown value negated."""
    low, high = told("20 epochs", units=10), told("20 epochs", units=10, metric="acc", mode="max")
    arms = [[one.unit.arm for one in study.state.attempts] for study in (low, high)]
    assert arms[0] == arms[1]
    assert high.best_loss == -low.best_loss
    down, up = progress_of(low.state), progress_of(high.state)
    assert down.best is not None
    assert up.best is not None
    assert up.best.loss == -down.best.loss
    assert down.final is not None
    assert up.final is not None
    assert up.final == Interval(-down.final.high, -down.final.middle, -down.final.low)
    assert up.final.low <= up.final.middle <= up.final.high
    for one, other in zip(down.standings, up.standings, strict=True):
        assert (other.arm, other.best) == (one.arm, -one.best)
        assert other.curve.tolist() == (-one.curve).tolist()


def test_at_the_end_nothing_is_predicted() -> None:
    progress = progress_of(state_of("6 epochs"))
    assert progress.final is None
    assert progress.left_s is None
    assert progress.used == 6


def test_a_deadline_says_what_is_left() -> None:
    progress = progress_of(state_of("100s", units=3), clock=40.0)
    assert progress.left_s == pytest.approx(60.0)
    assert progress.used == pytest.approx(40.0)
    assert progress.promised == 0


def test_past_a_deadline_no_more_than_all_is_used() -> None:
    assert progress_of(state_of("100s", units=3), clock=140.0).used == 100


def test_a_policy_that_predicts_nothing_is_shown_what_the_learned_predictor_says() -> None:
    study = Study(SPACE, "8 epochs", policy="random", untrained=2.0)
    unit = study.ask()
    assert unit is not None
    study.tell(unit, 1.0, seconds=1.0)
    final = progress_of(study.state).final
    assert final is not None
    assert 0 <= final.low <= final.middle <= final.high <= 1.0


def test_before_a_finite_loss_nothing_is_said() -> None:
    study = Study(SPACE, "8 epochs")
    unit = study.ask()
    assert unit is not None
    study.tell(unit, math.nan, seconds=1.0)
    assert progress_of(study.state).final is None
