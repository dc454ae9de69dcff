"""What is believed of a predicted gain follows from what came of earlier predictions."""

import math
from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.weights import shipped
from bhpt.domain import Curves, Misuse
from bhpt.domain.budget import Budget
from bhpt.reports import hindsight
from bhpt.reports.forecast import forecast
from bhpt.reports.hindsight import as_it_was, trust
from bhpt.reports.prediction import predict_study
from bhpt.reports.worlds import GainTrust, spent_on_epochs
from bhpt.study import MemoryLog, State, Study, fold
from bhpt.study.events import Observed
from tests.reports.cases import SPACE, loss_at, state_of

PREDICTOR = LearnedPredictor(shipped("ends"))


def stuck(epochs: int, mode: str = "min") -> State:
    """A study that improves at first and never again."""
    study = Study(SPACE, f"{2 * epochs} epochs", max_epochs=30, mode=mode)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    for number in range(epochs):
        unit = study.ask()
        assert unit is not None
        loss = 0.5 + 0.4 * math.exp(-number) + 0.01 * float(rng.random())
        study.tell(unit, loss if mode == "min" else 1.4 - loss, seconds=1.0)
    return study.state


def test_a_study_that_never_improved_is_believed_less_than_one_that_did() -> None:
    never, did = trust(stuck(40), PREDICTOR), trust(state_of("60 epochs", units=40), PREDICTOR)
    assert 0 < never < 0.2
    assert never < did <= 1.0


def test_little_is_believed_before_anything_can_be_told() -> None:
    assert trust(state_of("20 epochs", units=2), PREDICTOR) == pytest.approx(0.17)


def test_the_trust_is_what_came_over_what_was_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    state = state_of("40 epochs", units=20)
    assert state.best is not None
    monkeypatch.setattr(hindsight, "_promised", lambda *_: 0.5)
    came = promised = 0.0
    for reports in (7, 10, 13, 16):
        before = as_it_was(state, reports)
        assert before is not None
        assert before.best is not None
        came += before.best.loss - state.best.loss
        promised += 0.5
    usual = 2 * promised  # eight moments, beside these four
    assert trust(state, PREDICTOR) == pytest.approx((came + 0.17 * usual) / (promised + usual))


def test_what_was_predicted_is_the_most_that_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hindsight, "_promised", lambda *_: 1e-6)
    assert trust(state_of("40 epochs", units=20), PREDICTOR) == 1.0


def test_a_study_as_it_was_is_the_fold_of_its_first_reports() -> None:
    log = MemoryLog()
    study = Study(SPACE, "30 epochs", keep=lambda first: _into(log, list(first)))
    for _ in range(20):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0)
    events = log.read()
    for reports in (2, 7, 19):
        told = [at for at, event in enumerate(events) if isinstance(event, Observed)]
        then = fold(events[: told[reports - 1] + 1])
        was = as_it_was(study.state, reports)
        assert was is not None
        assert was.best is not None
        assert then.best is not None
        assert was.best.loss == then.best.loss
        assert was.curves is not None
        assert then.curves is not None
        assert np.array_equal(was.curves.reports, then.curves.reports)
        assert was.ledger.used == pytest.approx(then.ledger.used)
        assert was.ledger.left == pytest.approx(20 - then.ledger.used)
    assert as_it_was(study.state, 1) is None
    assert as_it_was(study.state, 20) is None


def _into(log: MemoryLog, first: list[object]) -> MemoryLog:
    log.append(first, 0)  # type: ignore[arg-type]
    return log


def test_only_what_lies_below_the_best_is_doubted() -> None:
    belief = GainTrust(best=1.0, trust=0.25, floor=0.9)
    found = belief.of(np.array([2.0, 1.0, 0.8, 0.2, np.nan]))
    assert found[:4].tolist() == [2.0, 1.0, 0.95, 0.9]
    assert np.isnan(found[4])
    assert belief.low(0.0) == 0.9
    assert GainTrust(1.0, 0.2).low(0.6) == pytest.approx(0.8)


@pytest.mark.parametrize("workers", [2, 8, 40])
def test_more_workers_never_promise_more_of_the_same_epochs(workers: int) -> None:
    spent = state_of("40 epochs")
    many = replace(spent, session=None, plan=replace(spent.plan, workers=workers))
    for more in ("8 epochs", "24 epochs", "80 epochs"):
        alone, together = forecast(spent, [more]), forecast(many, [more])
        assert together.outcomes[-1].expected >= alone.outcomes[-1].expected - 1e-12


def test_no_accuracy_is_promised_above_one() -> None:
    state = stuck(15, "max")
    found = forecast(state, ["500 epochs"])
    assert all(one.high <= 1.0 and one.expected <= 1.0 for one in found.outcomes)
    predicted = predict_study(state)
    assert predicted is not None
    assert all(end.low >= -1.0 for end in predicted.ends.values())


def test_what_was_seen_tells_how_low_a_loss_can_be() -> None:
    assert Curves.of([[0.5, 0.2], [3.0]], 4).lowest_possible == 0.0
    assert Curves.of([[-0.5, -0.9], [-0.1, math.nan]], 4).lowest_possible == -1.0
    assert Curves.of([[-50.0], [-0.1]], 4).lowest_possible == -100.0
    assert Curves.of([[-5.0], [0.1]], 4).lowest_possible == -math.inf
    assert Curves.of([[-500.0], [-1.0]], 4).lowest_possible == -math.inf
    assert Curves.empty(2, 4).lowest_possible == 0.0


def warmed_up(units: int) -> State:
    """A study that pays a dollar a second, whose first unit takes 20 s and all others one."""
    budget = Budget.parse("$60", price_per_hour=3600)
    study = Study(SPACE, budget, max_epochs=30)
    for number in range(units):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0 if number else 20.0)
    return study.state


def test_what_a_start_took_is_not_counted_as_spent_on_epochs() -> None:
    state = warmed_up(6)
    assert state.ledger.used == pytest.approx(25.0)
    assert spent_on_epochs(state) == pytest.approx(6.0)
    before = as_it_was(state, 3)
    assert before is not None
    assert before.ledger.left == pytest.approx(3.0)  # three more epochs came, at a second each


def test_nothing_is_predicted_of_a_deadline_before_an_epoch_has_a_price() -> None:
    assert predict_study(warmed_up(1), PREDICTOR) is None
    with pytest.raises(Misuse, match="how long an epoch takes is not known yet"):
        forecast(warmed_up(1))
    later = warmed_up(2)
    assert predict_study(later, PREDICTOR) is not None
    assert forecast(later).outcomes
