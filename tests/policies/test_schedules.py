"""Scheduled rules: published tables, exact accounting, replay."""

from collections import Counter

import numpy as np
import pytest

from bhpt.bench.baselines.registry import make_rule
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, Misuse, View
from bhpt.policies.interface import refuse_side_by_side
from bhpt.policies.schedules import brackets, halving_rungs, ladder

SCHEDULES = ["random", "hyperband", "sh", "asha", "asha-stop", "i-epoch", "2-epoch", "5-epoch"]


def table(arms: int, epochs: int, unit: int = 1, seed: int = 0) -> Task:
    rng = np.random.default_rng(seed)
    start = rng.uniform(0.2, 0.8, size=(arms, 1))
    losses = start + (1 - start) / np.arange(2, epochs + 2)
    return Task("t", losses, 1.0, unit, np.zeros((arms, 1)))


def test_hyperbands_published_brackets() -> None:
    """Li et al., 2018, R = 81, η = 3."""
    assert brackets(81) == [
        [(81, 1), (27, 3), (9, 9), (3, 27), (1, 81)],
        [(34, 3), (11, 9), (3, 27), (1, 81)],
        [(15, 9), (5, 27), (1, 81)],
        [(8, 27), (2, 81)],
        [(5, 81)],
    ]


def test_hyperband_follows_its_first_bracket() -> None:
    task = table(100, 9)
    first = brackets(9)[0]
    assert first == [(9, 1), (3, 3), (1, 9)]
    run = simulate(task, make_rule("hyperband"), 9 + 3 * 2 + 6, 0)
    had = sorted(Counter(run.arms.tolist()).values(), reverse=True)
    assert had == [9, 3, 3, 1, 1, 1, 1, 1, 1]
    best_three = sorted(set(run.arms[:9].tolist()), key=lambda a: task.losses[a, 0])[:3]
    assert set(run.arms[9:15].tolist()) == set(best_three)


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize(("arms", "epochs", "unit"), [(1, 1, 1), (3, 4, 1), (20, 10, 3), (7, 1, 1)])
@pytest.mark.parametrize("budget", [1, 2, 7, 23, 500])
def test_exactly_the_budget_is_spent_and_no_unit_twice(
    name: str, arms: int, epochs: int, unit: int, budget: int
) -> None:
    task = table(arms, epochs, unit)
    run = simulate(task, make_rule(name), budget, 3)
    most = -(-epochs // unit)
    assert len(run.arms) == min(budget, arms * most)
    assert max(Counter(run.arms.tolist()).values()) <= most


@pytest.mark.parametrize("name", SCHEDULES)
def test_another_seed_tries_other_arms(name: str) -> None:
    task = table(50, 10)
    one, other = (simulate(task, make_rule(name), 5, seed).arms.tolist() for seed in (0, 1))
    assert one != other
    assert one == simulate(task, make_rule(name), 5, 0).arms.tolist()


def test_successive_halving_is_the_widest_that_fits() -> None:
    assert ladder(27) == [1, 3, 9, 27]
    assert ladder(10) == [1, 3, 9, 10]
    assert ladder(1) == [1]
    for budget in (10, 50, 100, 400):
        rungs = halving_rungs(budget, 100, 27)
        steps = np.diff([0, *(units for _, units in rungs)])
        assert np.dot([n for n, _ in rungs], steps) <= budget
        wider = [max(1, (rungs[0][0] + 1) // 3**i) for i in range(len(rungs))]
        assert np.dot(wider, steps) > budget or rungs[0][0] == 100


def test_a_schedule_keeps_its_budget_when_the_first_arm_is_barred() -> None:
    """A study bars an arm (finished, failed) by its price; the plan for the budget stays."""
    task = table(30, 10)
    curves = Curves.empty(30, 10)
    arms = []
    for left in range(12, 0, -1):
        costs = np.ones(30)
        costs[0] = 1.0 if left > 9 else 1000.0
        seen = View(curves, 1, float(left), costs, task.features, 1.0)
        decision = make_rule("i-epoch").decide(seen)
        assert decision is not None
        arms.append(decision.arm)
        at = len(curves.of_arm(decision.arm))
        curves = curves.extend(decision.arm, task.losses[decision.arm, at : at + 1])
    assert arms == simulate(task, make_rule("i-epoch"), 12, 0).arms.tolist()


def test_one_epoch_tries_half_and_finishes_the_best() -> None:
    task = table(30, 10)
    run = simulate(task, make_rule("i-epoch"), 12, 0)
    tried = run.arms[:6].tolist()
    assert len(set(tried)) == 6
    assert set(run.arms[6:].tolist()) == {min(tried, key=lambda a: task.losses[a, 0])}


def test_asha_promotes_the_best_of_three() -> None:
    task = table(30, 9)
    run = simulate(task, make_rule("asha"), 5, 0)
    first = run.arms[:3].tolist()
    assert len(set(first)) == 3
    best = min(first, key=lambda a: task.losses[a, 0])
    assert run.arms[3:5].tolist() == [best, best]


@pytest.mark.parametrize("name", ["gp-ei", "fabolas", "rollout"])
def test_sequential_policies_refuse_several_workers_before_anything_is_made(name: str) -> None:
    with pytest.raises(Misuse, match="one worker"):
        refuse_side_by_side(make_rule(name), 2)
    refuse_side_by_side(make_rule(name), 1)


@pytest.mark.parametrize("name", [*SCHEDULES, "default"])
def test_schedules_and_the_default_take_several_workers(name: str) -> None:
    refuse_side_by_side(make_rule(name), 8)
