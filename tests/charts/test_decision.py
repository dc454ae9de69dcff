from dataclasses import replace

import numpy as np
import pytest

from bhpt.charts.decision import explain, in_context
from bhpt.charts.more_budget import more_budget
from bhpt.charts.plain import plain
from bhpt.domain import Memory, Misuse, View
from bhpt.policies.interface import Decision, Explanation
from bhpt.reports.forecast import Forecast
from bhpt.reports.worlds import Outcome
from bhpt.study import State, Study
from bhpt.study.events import Outlook
from tests.reports.cases import SPACE, loss_at, state_of


def stepped(policy: object = "default", mode: str = "min") -> tuple[list[State], Study]:
    """The states before each decision of a study, and the study after them."""
    sign = -1 if mode == "max" else 1
    study = Study(SPACE, "40 epochs", max_epochs=20, policy=policy, mode=mode)  # type: ignore[arg-type]
    befores = []
    for step in range(12):
        before = study.state
        unit = study.ask()
        assert unit is not None
        befores.append(before)
        if step == 4:
            study.fail(unit, "out of luck", seconds=1.0)
        else:
            study.tell(unit, sign * loss_at(unit.config, unit.done + 1), seconds=1.0)
    return befores, study


@pytest.mark.parametrize("mode", ["min", "max"])
def test_a_past_decision_made_again_is_the_same(mode: str) -> None:
    befores, study = stepped(mode=mode)
    for step in (7, 11):
        found = explain(befores[step], study.state.attempts[step], Memory())
        assert found.is_recomputed
        assert found.recomputed_arm == found.arm
        outlook = study.state.attempts[step].outlook[0]
        place = found.arms.tolist().index(outlook.arm)
        sign = -1 if mode == "max" else 1
        assert found.end[place] == pytest.approx(sign * outlook.end)
        assert len(found.arms) > len(study.state.attempts[step].outlook)
        plain(found)


def test_a_decision_says_what_each_expert_said_and_how_far_it_was_trusted() -> None:
    rates = np.logspace(-5, 0, 30).tolist()
    configs = [
        {"learning_rate": rate, "batch_size": 8 * 2 ** (n % 5)} for n, rate in enumerate(rates)
    ]
    study = Study(configs, "40 epochs", max_epochs=20)
    for _ in range(9):
        before = study.state
        unit = study.ask()
        assert unit is not None
        study.tell(unit, abs(np.log10(float(str(unit.config["learning_rate"]))) + 3), seconds=1.0)
    found = explain(before, study.state.attempts[8], Memory())
    assert [one.name for one in found.experts] == ["reader", "documented", "middle", "curves"]
    reader, *_, curves = found.experts
    assert reader.trust == pytest.approx(0.9)
    assert reader.place is not None
    assert 1 <= reader.place <= reader.of
    assert reader.shown >= 3
    assert reader.agreement is not None
    assert -1 <= reader.agreement <= 1
    assert curves.trust is None
    tried = before.curves
    assert tried is not None
    assert curves.of == len(tried.visited)
    plain(found)


def test_the_chosen_arm_is_compared_with_the_best_others() -> None:
    _, study = stepped(mode="max")
    attempt = study.state.attempts[-1]
    end = {one.arm: one.end for one in attempt.outlook}
    own, others = end.pop(attempt.unit.arm), end
    best = min(others, key=lambda arm: others[arm])
    better = "No arm was predicted to end better" if own <= others[best] else "A"
    said = in_context(study.state, attempt)
    assert said.startswith(better)
    assert f"rm {best} ({-others[best]:.4g})" in said
    worse = replace(attempt, outlook=(*attempt.outlook[1:], Outlook(attempt.unit.arm, 9.0, 1, 1)))
    assert "also counts what it may learn" in in_context(study.state, worse)
    unknown = replace(attempt, outlook=attempt.outlook[1:])
    assert "Nothing was predicted of it" in in_context(study.state, unknown)
    assert in_context(study.state, replace(attempt, outlook=())) == ""


def test_an_arm_that_could_not_be_chosen_is_no_rival() -> None:
    study = Study([{"x": 1}, {"x": 2}], "9 epochs", max_epochs=3, policy="random", workers=2)
    first, second = study.ask(), study.ask()
    assert first is not None
    assert second is not None
    outlook = (Outlook(first.arm, 0.1, 0.1, 0.1), Outlook(second.arm, 0.2, 0.1, 0.1))
    decided = replace(study.state.attempts[-1], outlook=outlook)
    assert in_context(study.state, decided).endswith(", but was in flight already.")
    while study.state.count(first.arm) < 3:
        study.tell(first, 0.3)
        first = study.ask() or first
    said = in_context(study.state, decided)
    assert said == f"Arm {first.arm} (0.1) was predicted to end better, but is at its last epoch."


def test_a_policy_without_experts_shows_none() -> None:
    befores, study = stepped("sh")
    assert explain(befores[7], study.state.attempts[7], Memory()).experts == ()


def test_a_retry_and_a_strange_policy_show_what_the_log_keeps() -> None:
    befores, study = stepped()
    again = explain(befores[5], study.state.attempts[5], Memory())
    assert not again.is_recomputed
    assert "try 2" in again.why
    failed = explain(befores[4], study.state.attempts[4], Memory())
    assert (failed.status, failed.message) == ("failed", "out of luck")


class First:
    def decide(self, view: View) -> Decision | None:
        arm = int(np.flatnonzero(view.choosable)[0])
        return Decision(arm, Explanation.in_words("the first", view.arms))


def test_what_was_asked_for_is_no_decision_of_the_policy() -> None:
    study = Study(SPACE, "20 epochs", initial=[{"rate": 0.9, "depth": 4}])
    before = study.state
    unit = study.ask()
    assert unit is not None
    assert unit.config["rate"] == 0.9
    found = explain(before, study.state.attempts[0], Memory())
    assert found.why.endswith("it was asked for")
    assert (found.is_recomputed, found.recomputed_arm) == (False, None)


def test_a_policy_without_a_name_is_not_asked_again() -> None:
    befores, study = stepped(First())
    found = explain(befores[3], study.state.attempts[3], Memory())
    assert not found.is_recomputed
    assert found.why.endswith("the first")


@pytest.mark.parametrize("mode", ["min", "max"])
def test_more_budget_is_said_in_words(mode: str) -> None:
    found = more_budget(state_of("20 epochs", units=14, mode=mode))
    assert found.purchases[0].more == 0
    assert [one.text for one in found.purchases[1:]][:2] == ["2 epochs", "5 epochs"]
    gains = [one.gain for one in found.purchases]
    assert gains == sorted(gains)
    assert "10 epochs" in found.advice
    assert found.is_worth_it == ("better" in found.advice)


@pytest.mark.parametrize(("with_more", "is_worth_it"), [(0.498, False), (0.4, True)])
def test_what_is_left_is_no_reason_to_buy_more(
    monkeypatch: pytest.MonkeyPatch, with_more: float, is_worth_it: bool
) -> None:
    state = state_of("20 epochs", units=14)
    outcomes = (Outcome(0.0, 0.5, 0.3, 1.0, 1), Outcome(10.0, with_more, 0.3, 1.0, 1))
    said = Forecast(state.ledger.budget, 6.0, 1.0, outcomes, own_predictor=True)
    monkeypatch.setattr("bhpt.charts.more_budget.forecast", lambda _: said)
    found = more_budget(state)
    assert found.is_worth_it is is_worth_it
    assert found.advice.startswith("what is left is expected to bring the best loss to 0.5; ")
    assert ("10.0% better" if is_worth_it else "10 epochs more would hardly") in found.advice


@pytest.mark.parametrize(
    ("best", "ends", "texts"),
    [
        (1.0, (0.5, 0.4), ("50.0%", "60.0%")),
        (-0.01, (-1.3, -1.4), ("1.29", "1.39")),  # losses that fall through zero
        (0.5, (0.4, -1.0), ("0.1", "1.5")),
        (0.0, (0.0, -1.0), ("0", "1")),
        (-0.5, (-0.6, -0.7), ("20.0%", "40.0%")),
    ],
)
def test_a_gain_is_a_part_of_the_best_where_that_says_something(
    monkeypatch: pytest.MonkeyPatch,
    best: float,
    ends: tuple[float, float],
    texts: tuple[str, str],
) -> None:
    state = state_of("20 epochs", units=14)
    outcomes = tuple(Outcome(10.0 * n, end, -8.0, best, 1) for n, end in enumerate(ends))
    said = Forecast(state.ledger.budget, 6.0, best, outcomes, own_predictor=True)
    monkeypatch.setattr("bhpt.charts.more_budget.forecast", lambda _: said)
    found = more_budget(state)
    assert tuple(one.gain_text for one in found.purchases) == texts
    assert said.in_parts == all("%" in text for text in texts)


def test_nothing_is_forecast_from_nothing() -> None:
    with pytest.raises(Misuse):
        more_budget(state_of(units=0))
