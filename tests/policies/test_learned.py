"""The learned policy: what it may choose, that it always chooses alike, and that it is good."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.name_opinions import opinions
from bhpt.beliefs.learned.weights import shipped, shipped_policy, with_names, without_names
from bhpt.bench.baselines.misled import reversed_tokens
from bhpt.bench.metrics import score
from bhpt.bench.simulate import simulate
from bhpt.bench.synthetic import synthetic
from bhpt.bench.tasks import PACKAGED, Task, packaged
from bhpt.domain import Curves, FloatArray, Memory, View
from bhpt.domain.budget import Budget
from bhpt.policies.interface import Decision, Explanation, Policy
from bhpt.policies.learned import Learned, likeliest
from bhpt.policies.registry import make_policy
from bhpt.spaces.ranges import NumberRange
from bhpt.spaces.tokens import COLUMNS, encode_tokens
from bhpt.study import Study
from tests.beliefs.learned.cases import named, some_tokens, study, with_losses

NEVER = -1e9  # what the network says of an arm that cannot run
RNG = np.random.default_rng


def chosen(chances: list[float], untried: list[bool]) -> int:
    with np.errstate(divide="ignore"):
        liked: FloatArray = np.maximum(np.log(np.array(chances)), NEVER)
    return likeliest(liked, np.array(untried), lambda: RNG(0))


def test_untried_arms_count_together() -> None:
    assert chosen([0.3, 0.2, 0.21, 0.2], [False, True, True, True]) == 2
    assert chosen([0.3, 0.2, 0.05, 0.04], [False, True, True, True]) == 0
    assert chosen([0.3, 0.2, 0.2, 0.2], [False, False, False, False]) == 0
    assert chosen([0.1, 0.3, 0.2], [True, True, True]) == 1


def test_arms_that_cannot_run_do_not_count() -> None:
    assert chosen([0.3, 0.2, 0.0, 0.0], [False, True, True, True]) == 0
    assert chosen([0.0, 0.0, 0.1, 0.0], [False, False, True, True]) == 2
    assert chosen([0.0, 0.1, 0.0, 0.0], [False, False, True, True]) == 1


def test_equal_untried_arms_are_taken_by_chance() -> None:
    liked, untried = np.zeros(5), np.ones(5, bool)
    assert {likeliest(liked, untried, partial(RNG, seed)) for seed in range(60)} == set(range(5))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_it_chooses_an_arm_that_can_run_and_always_the_same(data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 10**6))
    arms = data.draw(st.integers(1, 12))
    rng = RNG(seed)
    view = study(
        seed,
        arms=arms,
        epochs=data.draw(st.integers(1, 12)),
        unit=data.draw(st.integers(1, 4)),
        columns=data.draw(st.integers(0, 3)),
        reports=data.draw(st.integers(0, 30)),
        left=data.draw(st.floats(0, 30)),
        costs=rng.uniform(0.2, 5, arms) if data.draw(st.booleans()) else np.ones(arms),
        pending=np.flatnonzero(rng.random(arms) < data.draw(st.sampled_from([0, 0.3, 1]))),
        untrained=data.draw(st.sampled_from([2.0, 0.5, None])),
        tokens=some_tokens(seed, arms) if data.draw(st.booleans()) else None,
        split=data.draw(st.sampled_from([1, 1, 3])),
    )
    if data.draw(st.booleans()):
        losses = view.curves.losses.copy()
        losses[rng.random(losses.shape) < 0.3] = data.draw(st.sampled_from([np.nan, np.inf, 1e30]))
        view = with_losses(view, losses)
    decision = Learned().decide(view)
    if decision is None:
        assert not view.choosable.any()
        return
    assert view.choosable[decision.arm]
    explanation = decision.explanation
    assert explanation.end.shape == explanation.spread.shape == (arms,)
    assert explanation.why in {"go on", "a first look"}
    again = Learned().decide(view)
    assert again is not None
    assert again.arm == decision.arm
    assert again.explanation.why == explanation.why


def test_nothing_is_chosen_where_nothing_can_run() -> None:
    policy, view = Learned(), study(0)
    assert policy.decide(view) is not None
    assert policy.decide(replace(view, left=0.5)) is None
    assert policy.decide(replace(view, pending=np.arange(view.arms))) is None
    assert policy.decide(study(0, arms=2, epochs=1)) is None


def test_the_one_arm_that_can_be_paid_is_chosen() -> None:
    view = study(1)
    for arm in range(view.arms):
        costs = np.where(np.arange(view.arms) == arm, 1.0, 100.0)
        decision = Learned().decide(replace(view, costs=costs))
        remains = view.remaining[arm] > 0
        assert (decision and decision.arm) == (arm if remains else None)


def test_the_last_unit_goes_to_the_best_or_nearly() -> None:
    """With one unit left, an arm that lies far behind one that can go on is of no use."""
    asked = 0
    for seed in range(20):
        view = replace(study(seed, reports=40), left=1.0)
        decision = Learned().decide(view)
        assert decision is not None
        best = np.full(view.arms, 2.0)
        best[view.curves.visited] = view.curves.best_by_row
        if view.choosable[best.argmin()]:
            asked += 1
            assert best[decision.arm] - best.min() < 0.2, seed
    assert asked > 10


def test_the_explanation_tells_what_is_predicted() -> None:
    view = study(3)
    decision = Learned().decide(view)
    assert decision is not None
    explanation = decision.explanation
    assert np.isfinite(explanation.end).all()
    assert np.all(explanation.spread >= 0)
    first = Learned().decide(study(3, reports=0))
    assert first is not None
    assert first.explanation.why.endswith("a first look")
    assert np.isnan(first.explanation.end).all()


def test_why_is_worked_out_once_and_only_when_asked() -> None:
    asked = []

    def explain() -> Explanation:
        asked.append(1)
        return Explanation.in_words("a reason", 3)

    decision = Decision(2, explain)
    assert not asked
    assert decision.arm == 2
    first = decision.explanation
    assert first.why == "a reason"
    assert decision.explanation is first
    assert len(asked) == 1


def test_an_explanation_that_is_there_is_handed_on() -> None:
    ready = Explanation.in_words("ready", 3)
    assert Decision(0, ready).explanation is ready


def test_deciding_predicts_no_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark never asks why, and does not pay for it."""
    asked = []
    read_off = LearnedPredictor.read_off

    def counted(*given: Any) -> Any:
        asked.append(1)
        return read_off(*given)

    monkeypatch.setattr(LearnedPredictor, "read_off", counted)
    decision = Learned().decide(study(3))
    assert decision is not None
    assert decision.explanation.why == "go on"
    assert not asked
    assert len(decision.explanation.end) == len(decision.explanation.spread) == study(3).arms
    assert len(asked) == 1


def test_arms_in_flight_are_explained_like_others() -> None:
    view = named(3)
    alone = Learned().decide(view)
    beside = Learned().decide(replace(view, pending=view.curves.visited[:2]))
    assert alone is not None
    assert beside is not None
    np.testing.assert_array_equal(beside.explanation.end, alone.explanation.end)
    np.testing.assert_array_equal(beside.explanation.spread, alone.explanation.spread)


def test_three_thousand_arms() -> None:
    view = named(0, arms=3000, reports=60, columns=5)
    decision = Learned().decide(view)
    assert decision is not None
    assert view.choosable[decision.arm]
    assert np.isfinite(decision.explanation.end).sum() == 100 + len(view.curves.visited)


def mean_regret(policy: Policy, budget: int) -> float:
    regrets = []
    for seed in range(10):
        task = synthetic(seed)
        regrets.append(score(task, budget, simulate(task, policy, budget, seed)).regret)
    return float(np.mean(regrets))


@pytest.mark.parametrize(
    ("budget", "rival", "part"),
    [(20, "hyperband", 0.75), (50, "hyperband", 0.5), (50, "i-epoch", 0.6)],
)
def test_it_beats_what_plans_without_looking(budget: int, rival: str, part: float) -> None:
    """Beside i-epoch with 20 units it has no advantage on these sets, so that is not asked."""
    assert mean_regret(Learned(), budget) < part * mean_regret(make_policy(rival), budget)


def first_choices(tokens: FloatArray | None) -> set[int]:
    """Arms that are tried first where nothing but names tells them apart."""
    view = study(0, arms=8, columns=0, reports=0, tokens=tokens)
    decisions = [Learned().decide(replace(view, seed=seed)) for seed in range(40)]
    return {decision.arm for decision in decisions if decision}


def test_what_is_tried_first_follows_the_names() -> None:
    """Without them it is chance; with them always the same, wherever it is if none is as good."""
    assert len(first_choices(None)) > 4
    configs = [{"learning_rate": float(10.0**power), "momentum": 0.9} for power in range(-7, 1)]
    ranges = {"learning_rate": NumberRange(1e-7, 1.0, "log"), "momentum": NumberRange(0.0, 0.99)}
    told = encode_tokens(configs, ranges)
    (first,) = first_choices(told)
    for places in range(1, 8):
        assert first_choices(np.roll(told, places, axis=0)) == {(first + places) % 8}


def lying(task: Task) -> Task:
    """The task with the names of the most promising arm given to the least, and so on."""
    assert task.tokens is not None
    return replace(task, tokens=reversed_tokens(task.tokens, Learned().weights))


def nameless(task: Task) -> Task:
    """The task as if nobody knew its hyper-parameters' names."""
    return replace(task, tokens=np.zeros((task.arms, 1, COLUMNS)))


@pytest.mark.parametrize("name", PACKAGED)
def test_lies_turn_opinions_round(name: str) -> None:
    """So the next test is about lies."""
    task = packaged(name)
    truth, lies = (opinions(np, Learned().weights, t.tokens)[:, 0] for t in (task, lying(task)))
    assert np.corrcoef(truth, lies)[0, 1] < -0.8


@pytest.mark.parametrize(
    ("policy", "change", "budget"),
    [("learned", nameless, 50), ("default", nameless, 50), ("default", lying, 100)],
)
def test_names_that_lie_or_say_nothing_do_no_great_harm(
    policy: str, change: Any, budget: int
) -> None:
    """In time curves are believed, not names: on tables it still beats random search."""

    def mean_over_tables(policy: Policy, change: Any) -> float:
        tasks = [change(packaged(name)) for name in PACKAGED]
        runs = [(task, seed) for task in tasks for seed in range(4)]
        scores = [score(t, budget, simulate(t, policy, budget, s)) for t, s in runs]
        return float(np.mean([s.regret for s in scores]))

    expected = mean_over_tables(make_policy("random"), lambda task: task)
    assert mean_over_tables(make_policy(policy), change) < 0.8 * expected


def test_unknown_names_are_as_none_and_a_seed_decides() -> None:
    task = packaged("vae_mnist")
    unknown = simulate(nameless(task), Learned(), 30, 3).arms
    assert len(unknown) == 30
    np.testing.assert_array_equal(simulate(nameless(task), Learned(), 30, 3).arms, unknown)
    without = simulate(replace(task, tokens=None), Learned(), 30, 3).arms
    np.testing.assert_array_equal(without, unknown)
    assert not np.array_equal(simulate(task, Learned(), 30, 3).arms, unknown)  # names are heard


NAMED = {
    "lr": (1e-4, 3.0, "log"),
    "momentum": (0.0, 0.99),
    "width": (4, 64, "log"),
    "weight_decay": (1e-6, 1e-1, "log"),
}


def arms_asked_for(dollars: int, seed: int, more_s: Sequence[float], units: int) -> list[int]:
    """The first arms of a study at a dollar a second, whose first units take some seconds more."""
    budget = Budget.parse(f"${dollars}", price_per_hour=3600)
    asked, arms = Study(NAMED, budget, max_epochs=40, seed=seed), []
    for number in range(units):
        unit = asked.ask()
        assert unit is not None
        arms.append(unit.arm)
        losses = [0.6 + 1.4 * 0.3 ** (unit.done + epoch + 1) for epoch in range(unit.epochs)]
        more = more_s[number] if number < len(more_s) else 0.0
        asked.tell(unit, losses, seconds=unit.epochs + more)
    return arms


@pytest.mark.parametrize("seed", range(3))
def test_slow_first_units_do_not_leave_an_arm_alone(seed: int) -> None:
    slow = arms_asked_for(60, seed, [25.0, 9.0, 5.0], 5)
    assert len(set(slow[:4])) == 1  # few units seem to be left, and at last seventeen
    assert slow[4] == arms_asked_for(60, seed, [], 2)[1] != slow[0]


def test_a_budget_of_a_few_units_is_spent_on_one_arm() -> None:
    assert len(set(arms_asked_for(4, 1, [], 4))) == 1


def test_what_was_preferred_after_the_first_unit_is_worked_out_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One arm alone has been trained: as long as the total stays, so does the answer."""
    view, memory, looked = named(3), Memory(), []
    curves = Curves.empty(view.arms, view.curves.epochs)
    for unit in range(4):
        curves = curves.extend(0, np.array([1.5 - 0.1 * unit]))
    preferred = Learned._preferred

    def counted(policy: Learned, seen: View) -> int:
        looked.append(len(seen.curves.reports))
        return preferred(policy, seen)

    monkeypatch.setattr(Learned, "_preferred", counted)
    for unit in range(4, 8):
        now = replace(view, curves=curves, left=10.0 - unit, memory=memory)
        decision, alone = Learned().decide(now), Learned().decide(replace(now, memory=Memory()))
        assert decision is not None
        assert alone is not None
        assert decision.arm == alone.arm
        curves = curves.extend(0, np.array([1.5 - 0.1 * unit]))
    assert looked.count(1) == 1 + 4  # once with what is remembered, and without it each time
    richer = replace(view, curves=curves, left=30.0, memory=memory)
    Learned().decide(richer)
    assert looked.count(1) == 6


def test_the_finisher_decides_which_tried_arm_goes_on() -> None:
    """Where the network would go on, scores may move it to another tried arm, never to a look."""
    with_it = Learned()
    alone = Learned(with_names(shipped("policy"), shipped("names")))
    looks, moved = 0, 0
    for seed in range(30):
        reports = 4 if seed % 3 else 24
        view = study(
            seed, arms=9, epochs=12, reports=reports, left=9.0, tokens=some_tokens(seed, 9)
        )
        one, two = with_it.decide(view), alone.decide(view)
        assert one is not None
        assert two is not None
        tried = view.curves.count_by_arm > 0
        assert tried[one.arm] == tried[two.arm]
        assert tried[one.arm] or one.arm == two.arm
        looks += not tried[one.arm]
        moved += one.arm != two.arm
    assert looks > 0
    assert moved > 0


def test_without_names_the_finisher_is_not_asked() -> None:
    view = study(4, arms=9, epochs=12, reports=24, left=9.0, tokens=some_tokens(4, 9))
    blind = Learned(without_names(shipped_policy()))
    nothing = Learned().decide(replace(view, tokens=None))
    assert nothing is not None
    decision = blind.decide(view)
    assert decision is not None
    assert decision.arm == nothing.arm
