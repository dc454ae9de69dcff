import math
import re
from typing import Any

import numpy as np
import pytest

from bhpt.domain import Misuse, View
from bhpt.domain.budget import Budget
from bhpt.domain.objective import Direction
from bhpt.policies.interface import Decision, Explanation
from bhpt.spaces import Space, encode_tokens, infer_ranges
from bhpt.spaces.tokens import COLUMNS, column
from bhpt.study import AskedUnit, MemoryLog, Study, fold, priced_view
from bhpt.study.deciding import sentence
from bhpt.study.events import Decided, Event, Observed, Rejected, SessionStarted
from tests.study.cases import CONFIGS, Greedy, into, loss_at, losses_of


def _finish(study: Study) -> int:
    units = 0
    while (unit := study.ask()) is not None:
        study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
        units += 1
    return units


def _decisions(events: list[Event]) -> list[tuple[int, int, int]]:
    return [(e.attempt, e.arm, e.epochs) for e in events if isinstance(e, Decided)]


def test_an_epoch_budget_is_spent_exactly() -> None:
    study = Study(CONFIGS, "50 epochs", unit=6, max_epochs=20, policy=Greedy())
    _finish(study)
    assert study.state.ledger.spent == 50
    assert study.state.ledger.left == 0
    assert sum(attempt.cost for attempt in study.state.attempts) == 50


@pytest.mark.parametrize(
    ("space", "budget", "options", "epochs"),
    [
        ({"lr": (1e-4, 1.0, "log")}, "12 epochs", {}, 6),
        ({"lr": (1e-4, 1.0, "log")}, "13 epochs", {"unit": 2}, 8),
        ({"lr": (1e-4, 1.0, "log")}, "1 epochs", {}, 1),
        ({"lr": (1e-4, 1.0, "log")}, "4000 epochs", {}, 256),
        ({"lr": (1e-4, 1.0, "log")}, "60s", {}, 100),
        ({"lr": (1e-4, 1.0, "log")}, "12 epochs", {"fixed": {"lr": 0.1}}, 12),
        ({"lr": [0.1, 0.2, 0.3]}, "12 epochs", {}, 12),
        ({"lr": [0.1, 0.2, 0.3, 0.4]}, "12 epochs", {}, 6),
        (CONFIGS[:3], "12 epochs", {}, 12),
        (CONFIGS[:4], "12 epochs", {}, 6),
        (CONFIGS, "12 epochs", {"max_epochs": 12}, 12),
    ],
)
def test_how_far_an_arm_may_train_if_nobody_says(
    space: object, budget: str, options: dict[str, Any], epochs: int
) -> None:
    assert Study(space, budget, **options).state.plan.training.epochs == epochs


@pytest.mark.parametrize("seed", range(3))
def test_a_small_budget_tries_several_configurations_of_one_name(seed: int) -> None:
    study = Study({"lr": (1e-4, 1.0, "log")}, "12 epochs", seed=seed)
    while (unit := study.ask()) is not None:
        rate = abs(math.log10(unit.config["lr"]) + 1) + 1
        study.tell(unit, [rate / (unit.done + place + 2) for place in range(unit.epochs)])
    assert study.state.curves is not None
    assert len(study.state.curves.visited) >= 3


def test_the_best_is_the_lowest_loss_seen() -> None:
    study = Study(CONFIGS, "40 epochs", policy=Greedy())
    _finish(study)
    assert study.state.curves is not None
    assert study.best_loss == study.state.curves.best
    assert study.best_config in CONFIGS


def test_when_every_arm_is_finished_it_stops_early() -> None:
    study = Study(CONFIGS[:2], "50 epochs", max_epochs=5, policy=Greedy())
    _finish(study)
    assert study.state.ledger.spent == 10


def test_the_last_unit_is_no_fraction_of_a_step() -> None:
    study = Study(CONFIGS, "10 epochs", unit=4, max_epochs=8, policy=Greedy())
    _finish(study)
    assert [attempt.unit.epochs for attempt in study.state.attempts] == [4, 4, 2]


def test_a_unit_in_flight_is_pending_and_reserved() -> None:
    study = Study(CONFIGS, "5 epochs", unit=2, workers=3, policy=Greedy())
    units = [study.ask() for _ in range(4)]
    assert [unit is None for unit in units] == [False, False, False, True]
    asked = [unit for unit in units if unit is not None]
    assert len({unit.arm for unit in asked}) == 3
    assert [unit.epochs for unit in asked] == [2, 2, 1]
    assert study.state.ledger.left == 0
    assert priced_view(study.state) is None
    assert study.in_flight == tuple(asked)


def test_an_arm_in_flight_is_not_priced_as_if_it_had_to_be_trained_again() -> None:
    """Its trainer is at work, so nobody can say that it waits; idle arms without one cost more."""
    study = Study(CONFIGS, "40 epochs", max_epochs=20, workers=3, policy=Greedy())
    first, second, _ = (study.ask() for _ in range(3))
    assert first is not None
    assert second is not None
    for unit in (first, second):
        study.tell(unit, losses_of(unit.config, unit.done, unit.epochs), seconds=1.0)
    again = study.ask()
    assert again is not None
    assert again.done == 1
    idle = {first.arm, second.arm} - {again.arm}
    looked = priced_view(study.state, reruns=study.state.count)  # no trainer waits for a unit
    assert looked is not None
    view, _ = looked
    assert again.arm in view.pending
    assert view.costs[again.arm] == 1
    assert view.costs[[*idle]] == 2


def test_a_decision_is_in_the_log_before_it_is_handed_out() -> None:
    log = MemoryLog()
    study = Study(CONFIGS, "5 epochs", policy=Greedy(), keep=into(log))
    unit = study.ask()
    last = log.read()[-1]
    assert isinstance(last, Decided)
    assert unit is not None
    assert (last.arm, last.cost, last.attempt) == (unit.arm, 1.0, unit.attempt)


def test_the_same_report_again_is_ignored_and_a_different_one_rejected() -> None:
    log = MemoryLog()
    study = Study(CONFIGS, "5 epochs", unit=2, policy=Greedy(), keep=into(log))
    unit = study.ask()
    assert unit is not None
    assert study.tell(unit, [math.nan, 0.5]) == "accepted"
    before = len(log.read())
    assert study.tell(unit, [math.nan, 0.5]) == "ignored"
    assert len(log.read()) == before
    assert study.tell(unit, [math.nan, 0.4]) == "rejected"
    assert isinstance(log.read()[-1], Rejected)
    assert study.best_loss == 0.5
    assert study.state.ledger.spent == 2


def test_a_report_after_a_failure_is_rejected() -> None:
    study = Study(CONFIGS, "5 epochs", policy=Greedy())
    unit = study.ask()
    assert unit is not None
    study.fail(unit, "it died")
    assert study.tell(unit, 0.5) == "rejected"
    assert study.state.ledger.spent == 1
    assert study.best_loss == math.inf


def test_losses_that_are_not_numbers_are_kept_and_never_the_best() -> None:
    study = Study(CONFIGS, "3 epochs", policy=Greedy())
    for loss in (math.nan, math.inf, -math.inf):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, loss)
    assert study.best_loss == math.inf
    assert study.best_config is None
    assert study.state.ledger.left == 0


def test_too_few_losses_are_refused_and_the_unit_stays_in_flight() -> None:
    study = Study(CONFIGS, "6 epochs", unit=2, policy=Greedy())
    unit = study.ask()
    assert unit is not None
    with pytest.raises(Misuse, match="one loss an epoch"):
        study.tell(unit, [0.5])
    assert study.state.open == (0,)
    assert study.tell(unit, [0.5, 0.4]) == "accepted"


def test_a_unit_of_another_study_is_refused() -> None:
    study = Study(CONFIGS, "6 epochs", policy=Greedy())
    with pytest.raises(Misuse, match="not asked"):
        study.tell(AskedUnit(0, 0, 1, 5, 0, {}, ""), [0.5])


def test_what_ask_did_not_give_cannot_be_told() -> None:
    study = Study(CONFIGS, "4 epochs", policy=Greedy())
    with pytest.raises(Misuse, match=r"report a unit that ask\(\) gave, not 3"):
        study.tell(3, 0.5)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match=r"report a unit that ask\(\) gave, not None"):
        study.fail(None, "out of memory")  # type: ignore[arg-type]


def test_a_study_says_where_it_stands() -> None:
    study = Study(CONFIGS, "4 epochs", policy=Greedy())
    assert repr(study) == "<Study: 0 of 4 epochs used, no loss yet>"
    unit = study.ask()
    assert unit is not None
    study.tell(unit, 0.25)
    assert repr(study) == "<Study: 1 of 4 epochs used, best loss 0.25>"


@pytest.mark.parametrize("policy", [3, Greedy])
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    with pytest.raises(Misuse, match="is no policy: give a name"):
        Study(CONFIGS, "4 epochs", policy=policy)


def test_what_cannot_keep_a_study_or_be_learnt_from_is_refused() -> None:
    keep: Any = "runs/net.db"
    with pytest.raises(Misuse, match=r"keep is a function, such as bhpt\.stored"):
        Study(CONFIGS, "4 epochs", keep=keep)
    files: Any = ["runs/net.db"]
    with pytest.raises(Misuse, match=r"like \[bhpt\.earlier_study\('runs/net\.db'\)\]"):
        Study(CONFIGS, "4 epochs", learn_from=files)


def test_what_is_no_configuration_cannot_be_enqueued() -> None:
    study = Study({"x": (0.0, 1.0)}, "4 epochs", policy=Greedy())
    with pytest.raises(Misuse, match="a configuration is a dictionary"):
        study.enqueue(3)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_stored_plain() -> None:
    given: Any = {"unit": np.int64(2), "max_epochs": np.int64(4), "seed": np.int64(3)}
    plan = Study(CONFIGS, "4 epochs", policy=Greedy(), **given).state.plan
    assert [type(one) for one in (plan.training.unit, plan.training.epochs, plan.seed)] == [int] * 3


def test_a_failed_unit_is_tried_again_and_then_its_arm_is_given_up() -> None:
    study = Study(CONFIGS, "20 epochs", policy=Greedy())
    first = study.ask()
    assert first is not None
    study.fail(first, "boom")
    for _ in range(2):
        again = study.ask()
        assert again is not None
        assert again.arm == first.arm
        assert "try" in again.why
        study.fail(again, "boom")
    assert study.state.arm(first.arm).closed == "boom"
    assert study.state.ledger.spent == 3
    _finish(study)
    later = [attempt.unit.arm for attempt in study.state.attempts[3:]]
    assert first.arm not in later
    assert study.state.ledger.spent == 20


def test_more_budget_goes_on_from_where_it_was() -> None:
    log = MemoryLog()
    study = Study(CONFIGS, "10 epochs", policy=Greedy(), keep=into(log))
    _finish(study)
    study.add_budget("5 epochs")
    assert _finish(study) == 5
    whole = Study(CONFIGS, "15 epochs", policy=Greedy())
    _finish(whole)
    assert study.state.ledger.spent == 15
    with pytest.raises(Misuse):
        study.add_budget("5 s")


def test_a_resumed_study_decides_alike() -> None:
    whole, broken = MemoryLog(), MemoryLog()
    _finish(Study(CONFIGS, "30 epochs", unit=2, seed=3, policy=Greedy(), keep=into(whole)))
    study = Study(CONFIGS, "30 epochs", unit=2, seed=3, policy=Greedy(), keep=into(broken))
    for _ in range(40):
        unit = next(iter(study.in_flight), None) or study.ask()
        if unit is None:
            break
        study = Study.resume(broken, Greedy())
        study.tell(unit, losses_of(unit.config, unit.done, unit.epochs))
        study = Study.resume(broken, Greedy())
    assert _decisions(broken.read()) == _decisions(whole.read())
    assert fold(broken.read()).best == fold(whole.read()).best


def test_downtime_does_not_count_and_the_clock_never_goes_back() -> None:
    log = MemoryLog()
    now = [1000.0]
    Study(CONFIGS, "100s", policy=Greedy(), keep=into(log))
    study = Study.resume(log, Greedy(), clock=lambda: now[0])
    now[0] += 30
    unit = study.ask()
    assert unit is not None
    now[0] += 10
    study.tell(unit, 0.5)
    assert study.state.ledger.left == pytest.approx(60, abs=1)
    now[0] = 5.0  # another boot, another zero
    study = Study.resume(log, Greedy(), clock=lambda: now[0])
    assert study.ask() is not None
    assert study.state.ledger.left == pytest.approx(60, abs=1)


def test_a_deadline_is_shared_by_the_workers_and_ends() -> None:
    log = MemoryLog()
    now = [0.0]
    Study(CONFIGS, "10s", workers=2, policy=Greedy(), keep=into(log))
    study = Study.resume(log, Greedy(), clock=lambda: now[0])
    units = 0
    while pair := [unit for unit in (study.ask(), study.ask()) if unit is not None]:
        units += len(pair)
        now[0] += 0.9
        for unit in pair:
            study.tell(unit, 0.5)
    assert 20 <= units <= 22
    assert study.state.clock <= 10


class _Spy(Greedy):
    views: list[View]

    def decide(self, view: View) -> Decision | None:
        self.views.append(view)
        return super().decide(view)


def _spy() -> _Spy:
    spy = _Spy()
    object.__setattr__(spy, "views", [])
    return spy


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("asked", [5, 60])
@pytest.mark.parametrize(
    "space",
    [
        [{"lr": 10.0**-k, "x": k / 9} for k in range(1, 9)],
        {"lr": {"min": 1e-5, "max": 1e-1, "log": True}, "x": (0.0, 1.0)},
    ],
    ids=["list", "space"],
)
def test_policies_are_told_what_names_mean(space: Any, asked: int, workers: int) -> None:
    """Of every arm, also of those that were added on the way."""
    spy = _spy()
    study = Study(space, f"{asked} epochs", max_epochs=20, policy=spy, workers=workers)
    _finish(study)
    assert spy.views
    configs = study.state.configs
    for view in spy.views:
        assert view.tokens is not None
        assert view.tokens.shape == (view.arms, 2, COLUMNS)
        there = configs[: view.arms]
        ranges = Space.of(space).ranges if isinstance(space, dict) else infer_ranges(there)
        np.testing.assert_array_equal(view.tokens, encode_tokens(there, ranges))
        assert (view.tokens[:, :, column("present")] == 1).all()
    added = spy.views[-1].arms > spy.views[0].arms
    assert added == (isinstance(space, dict) and asked > 5)


def test_a_study_that_is_resumed_tells_the_same() -> None:
    log, spies = MemoryLog(), (_spy(), _spy())
    space = {"lr": (1e-4, 1e-1), "x": (0.0, 1.0)}
    first = Study(space, "40 epochs", policy=spies[0], keep=into(log))
    assert first.ask() is not None
    again = Study.resume(log, spies[1])
    np.testing.assert_array_equal(again.state.tokens, first.state.tokens)
    assert first.state.tokens is not None


def test_costs_are_learned_and_money_is_never_exceeded() -> None:
    log = MemoryLog()
    now = [0.0]
    Study(CONFIGS, Budget(5, "dollars", 3600.0), policy=Greedy(), keep=into(log))
    spy = _spy()
    study = Study.resume(log, spy, clock=lambda: now[0])
    while (unit := study.ask()) is not None:
        took = 0.01 * (1 + 9 * unit.config["x"])
        now[0] += took
        study.tell(unit, losses_of(unit.config, unit.done, 1))
    ledger = study.state.ledger
    assert ledger.spent == pytest.approx(sum(a.seconds for a in study.state.attempts))
    assert 4.9 < ledger.spent <= 5.0
    costs = spy.views[len(spy.views) // 2].costs
    cheap, dear = costs[0], costs[10]
    assert np.isfinite(costs).all()
    assert dear > 3 * cheap


def test_a_space_is_searched_and_refined() -> None:
    log = MemoryLog()
    space = dict.fromkeys("xyz", (0.0, 1.0))
    study = Study(space, "60 epochs", policy=Greedy(), max_epochs=12, keep=into(log))
    _finish(study)
    origins = [e.origin for e in log.read() if hasattr(e, "origin")]
    assert origins[0] == "drawn"
    assert origins.count("near") >= 1
    assert len(study.state.configs) > 512
    assert study.state.features is not None
    assert len(study.state.features) == len(study.state.configs)


def test_the_default_policy_runs_on_a_space() -> None:
    study = Study({"x": (0.0, 1.0)}, "6 epochs", max_epochs=10)
    assert _finish(study) == 6
    assert study.state.attempts[-1].why
    assert study.state.attempts[-1].outlook


@pytest.mark.parametrize(
    "change",
    [
        {"budget": "0"},
        {"unit": 0},
        {"max_epochs": 0},
        {"workers": 0},
        {"seed": -1},
        {"space": []},
        {"policy": "no such policy"},
    ],
)
def test_bad_input_is_one_clear_line(change: dict[str, object]) -> None:
    arguments: dict[str, object] = {"space": CONFIGS, "budget": "5 epochs", "policy": Greedy()}
    with pytest.raises(Misuse) as caught:
        Study(**{**arguments, **change})  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_observed_twice_in_a_log_does_not_fold() -> None:
    log = MemoryLog()
    study = Study(CONFIGS, "5 epochs", policy=Greedy(), keep=into(log))
    unit = study.ask()
    assert unit is not None
    study.tell(unit, 0.5)
    events = log.read()
    assert isinstance(events[-1], Observed)
    with pytest.raises(Misuse):
        fold([*events, events[-1]])
    with pytest.raises(Misuse):
        fold(events[1:])
    with pytest.raises(Misuse):
        fold([])
    assert any(isinstance(event, SessionStarted) for event in events)


@pytest.mark.parametrize("mode", ["min", "max"])
def test_the_reason_gives_predictions_as_the_metric_reads_them(mode: Direction) -> None:
    sign = 1 if mode == "min" else -1
    study = Study(CONFIGS, "30 epochs", metric="score", mode=mode, seed=1)
    seen = []
    while (unit := study.ask()) is not None:
        found = re.match(r"arm (\d+) at epoch (\d+): predicted to end at (\S+) ±", unit.why)
        if found is not None:
            assert (int(found[1]), int(found[2])) == (unit.arm, unit.done)
            seen.append(float(found[3]))
        else:
            assert unit.why.startswith(f"arm {unit.arm}: ")
        study.tell(unit, [sign * (5 + loss_at(unit.config, unit.done + 1))])
    assert seen
    assert all(sign * value > 0 for value in seen)


def test_what_is_not_predicted_is_not_said() -> None:
    state = Study(CONFIGS, "5 epochs").state
    unknown, end = np.full(len(CONFIGS), np.nan), np.full(len(CONFIGS), 0.25)
    assert sentence(state, 1, Explanation("go on", unknown, unknown, unknown)) == "arm 1: go on"
    words = "arm 1 at epoch 0: predicted to end at 0.25; go on"
    assert sentence(state, 1, Explanation("go on", end, unknown, unknown)) == words
