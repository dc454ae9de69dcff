"""Schedules with memory, several workers and arms that are added: the same decisions always."""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bhpt
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, FloatArray, Memory, View
from bhpt.policies.interface import Policy
from bhpt.policies.registry import make_policy
from bhpt.policies.schedules import halving_rungs, ladder
from tests.policies import sequential_schedules

SCHEDULES = [*sequential_schedules.BY_NAME, "asha-stop"]
RULES = st.sampled_from(SCHEDULES)


@st.composite
def tables(draw: st.DrawFn) -> Task:
    """Small tables with ties, failures and units that do not divide the epochs."""
    arms, epochs = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    values = st.sampled_from([0.1, 0.2, 0.3, 0.4, np.nan, np.inf])
    losses = draw(st.lists(values, min_size=arms * epochs, max_size=arms * epochs))
    table = np.array(losses).reshape(arms, epochs)
    return Task("t", table, 1.0, draw(st.integers(1, 3)), np.zeros((arms, 1)))


@settings(max_examples=150, deadline=None)
@given(
    tables(),
    st.sampled_from(list(sequential_schedules.BY_NAME)),
    st.integers(1, 60),
    st.integers(0, 3),
)
def test_one_worker_does_what_the_plain_schedule_does(
    task: Task, name: str, budget: int, seed: int
) -> None:
    expected = sequential_schedules.run(sequential_schedules.BY_NAME[name], task, budget, seed)
    assert simulate(task, make_policy(name), budget, seed).arms.tolist() == expected


@dataclass
class Shop:
    """Several workers over a table, with arms that are added on the way; nothing is timed."""

    task: Task
    budget: int
    first_arms: int
    arms: int = 0
    curves: Curves = field(init=False)
    flying: list[int] = field(default_factory=list)
    lanes: int = 1

    def __post_init__(self) -> None:
        self.arms = self.first_arms
        self.curves = Curves.empty(self.arms, self.task.epochs)

    def view(self) -> View:
        left = self.budget - len(self.curves.reports) - len(self.flying)
        return View(
            curves=self.curves,
            unit=self.task.unit,
            left=float(left),
            costs=np.ones(self.arms),
            features=np.zeros((self.arms, 1)),
            pending=np.array(self.flying, np.int64),
            first_arms=self.first_arms,
            lanes=self.lanes,
        )

    def report(self, place: int) -> None:
        arm = self.flying.pop(place)
        at = int(self.curves.count_by_arm[arm])
        self.curves = self.curves.extend(arm, self.task.losses[arm, at : at + self.task.unit])

    def grow(self) -> None:
        self.arms = min(self.arms + 1, self.task.arms)
        self.curves = replace(self.curves, arms=self.arms)


@settings(max_examples=200, deadline=None)
@given(tables(), RULES, st.integers(1, 40), st.integers(1, 5), st.data())
def test_any_interleaving_gives_the_same_decisions_with_and_without_memory(
    task: Task, name: str, budget: int, workers: int, data: st.DataObject
) -> None:
    """Reports in any order, arms added at any time; what is remembered is all, nothing, that of
    some earlier moment, or of another study in between; the policy is one object, or a new one."""
    shop = Shop(task, budget, data.draw(st.integers(1, task.arms)))
    policy, kept, stale = make_policy(name), Memory(), Memory()
    waited = False
    while True:
        if shop.flying and (waited or len(shop.flying) >= workers or data.draw(st.booleans())):
            shop.report(data.draw(st.integers(0, len(shop.flying) - 1)))
        if data.draw(st.integers(0, 5)) == 0:
            shop.grow()
        view = shop.view()
        found = [policy.decide(replace(view, memory=memory)) for memory in (kept, Memory())]
        found.append(make_policy(name).decide(replace(view, memory=kept)))
        if data.draw(st.booleans()):
            found.append(policy.decide(replace(view, memory=stale)))
        if data.draw(st.integers(0, 5)) == 0:
            earlier = view.curves.first(len(view.curves.reports) // 2)
            policy.decide(replace(view, curves=earlier, memory=stale))
        arms = {None if one is None else one.arm for one in found}
        assert len(arms) == 1
        waited = (arm := arms.pop()) is None
        if arm is not None:
            assert view.choosable[arm]
            shop.flying.append(arm)
        elif not shop.flying:
            break
    trainable = shop.arms * -(-task.epochs // task.unit)
    assert len(shop.curves.reports) == min(budget, trainable)


def rising(arms: int, epochs: int, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    start = rng.uniform(0.2, 0.8, size=(arms, 1))
    losses: FloatArray = start + (1 - start) / np.arange(2, epochs + 2)
    return losses


def run_in_parallel(shop: Shop, policy: Policy, workers: int, seed: int = 0) -> Counter[int]:
    """Units of each arm when workers take what they are given and end in random order."""
    rng = np.random.default_rng(seed)
    while True:
        while len(shop.flying) < workers and shop.view().left > 0:
            decision = policy.decide(shop.view())
            if decision is None:
                break
            shop.flying.append(decision.arm)
        if not shop.flying:
            return Counter(int(shop.curves.visited[row]) for row, _ in shop.curves.reports)
        shop.report(int(rng.integers(len(shop.flying))))


@pytest.mark.parametrize("workers", [1, 2, 4, 16])
@pytest.mark.parametrize("budget", [60, 100, 200])
def test_successive_halving_reaches_its_last_rung_with_any_number_of_workers(
    workers: int, budget: int
) -> None:
    shop = Shop(Task("t", rising(200, 27), 1.0, 1, np.zeros((200, 1))), budget, 200)
    had = run_in_parallel(shop, make_policy("sh"), workers, seed=workers)
    assert had.total() == budget
    (first, _), *_ = halving_rungs(budget, 200, 27)
    assert len(had) >= first
    assert max(had.values()) == 27
    best_of_tried = min(had, key=lambda arm: shop.task.losses[arm, -1])
    assert had[best_of_tried] == 27


@pytest.mark.parametrize("workers", [1, 4, 16])
@pytest.mark.parametrize("name", ["i-epoch", "2-epoch"])
def test_i_epoch_brings_its_best_arm_to_the_end(name: str, workers: int) -> None:
    shop = Shop(Task("t", rising(200, 20), 1.0, 1, np.zeros((200, 1))), 60, 200)
    had = run_in_parallel(shop, make_policy(name), workers)
    best = min(had, key=lambda arm: shop.task.losses[arm, 0])
    assert had[best] == 20


def test_hyperband_completes_a_bracket_before_it_spends_on_the_next() -> None:
    shop = Shop(Task("t", rising(100, 9), 1.0, 1, np.zeros((100, 1))), 9 + 3 * 2 + 6, 100)
    had = run_in_parallel(shop, make_policy("hyperband"), 8)
    assert sorted(had.values(), reverse=True) == [9, 3, 3, 1, 1, 1, 1, 1, 1]


def test_where_time_is_spent_no_worker_waits() -> None:
    shop = Shop(Task("t", rising(100, 27), 1.0, 1, np.zeros((100, 1))), 100, 100, lanes=4)
    policies = [make_policy(name) for name in SCHEDULES]
    for policy in policies:
        shop.flying = []
        for _ in range(50):
            decision = policy.decide(shop.view())
            assert decision is not None
            shop.flying.append(decision.arm)


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_asha_promotes_the_best_third_of_every_rung(workers: int) -> None:
    shop = Shop(Task("t", rising(300, 27), 1.0, 1, np.zeros((300, 1))), 300, 300)
    had = run_in_parallel(shop, make_policy("asha"), workers)
    reached = [sum(units >= level for units in had.values()) for level in ladder(27)]
    for below, above in pairwise(reached):
        assert below // 3 - workers <= above <= below / 2
    assert reached[-1] >= 1 or workers == 16


@pytest.mark.parametrize("workers", [1, 4])
def test_stopping_asha_goes_on_with_the_best_third_of_a_rung_and_with_nobody_else(
    workers: int,
) -> None:
    shop = Shop(Task("t", rising(300, 27), 1.0, 1, np.zeros((300, 1))), 300, 300)
    had = run_in_parallel(shop, make_policy("asha-stop"), workers)
    units: Counter[int] = Counter()
    rungs: dict[int, list[float]] = {level: [] for level in ladder(27)[:-1]}
    stopped = set()
    for row, _ in shop.curves.reports:
        arm = int(shop.curves.visited[row])
        assert arm not in stopped
        units[arm] += 1
        if units[arm] in rungs:
            loss, held = shop.task.losses[arm, units[arm] - 1], rungs[units[arm]]
            held.append(loss)
            if len(held) >= 3 and sum(other < loss for other in held) >= len(held) // 3:
                stopped.add(arm)
    assert len(stopped) > 50
    assert sum(arm not in stopped and n < 27 for arm, n in had.items()) <= workers
    assert max(had.values()) == 27


@pytest.mark.parametrize("workers", [1, 4])
def test_random_search_gives_each_worker_an_arm_to_its_end(workers: int) -> None:
    shop = Shop(Task("t", rising(50, 10), 1.0, 1, np.zeros((50, 1))), 120, 50)
    had = run_in_parallel(shop, make_policy("random"), workers)
    assert sum(units < 10 for units in had.values()) <= (workers if workers > 1 else 0)
    assert len(had) <= 12 + workers


def loss_at(config: dict[str, float], epoch: int) -> float:
    return float((np.log10(config["lr"]) + 2) ** 2 / 4 + 1 / epoch)


@pytest.mark.parametrize("workers", [1, 4, 16])
@pytest.mark.parametrize("name", SCHEDULES)
def test_an_open_space_that_grows(name: str, workers: int) -> None:
    """Candidates are added near arms that did well; the schedule stays what it was."""
    budget, full = 150, 27
    space = {"lr": (1e-4, 1.0, "log"), "momentum": (0.0, 0.99)}
    study = bhpt.Study(
        space, f"{budget} epochs", max_epochs=full, policy=name, workers=workers, seed=3
    )
    rng = np.random.default_rng(0)
    while True:
        while (unit := study.ask()) is not None:
            pass
        if not study.in_flight:
            break
        unit = study.in_flight[int(rng.integers(len(study.in_flight)))]
        study.tell(unit, loss_at(unit.config, unit.done + 1))
    had = Counter(attempt.unit.arm for attempt in study.state.attempts)
    assert had.total() == budget
    first = study.state.first_arms
    assert first > 400
    assert len(study.state.configs) >= first + (name in ("sh", "hyperband"))
    assert max(had) < first
    if name == "sh":
        assert len(had) == halving_rungs(budget, first, full)[0][0]
    if name == "asha" and workers > 1:  # when a worker is free decides who is promoted last
        assert max(had.values()) > full // 3
    elif name in ("sh", "i-epoch", "2-epoch", "5-epoch", "hyperband") or workers < 16:
        assert max(had.values()) == full
