"""Small budgets: half for first looks, half for the best of them."""

import numpy as np
import pytest

from bhpt.beliefs.hypers import Structure
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.policies.bhpt import Bhpt
from bhpt.policies.probing import Probing
from tests.beliefs.cases import STRUCTURES, draw


@pytest.mark.parametrize("budget", [2, 6, 11])
def test_half_of_a_small_budget_goes_to_first_looks(budget: int) -> None:
    case = draw(Structure("none"), 3, arms=30, epochs=20)
    task = Task("t", case.values, case.start, 1, case.features)
    run = simulate(task, Probing(case.belief()), budget, 0)
    looks = budget // 2
    assert len(run.arms) == budget
    assert len(set(run.arms[:looks].tolist())) == looks
    assert set(run.arms.tolist()) == set(run.arms[:looks].tolist())


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_budget_of_one_training_or_more_is_bhpts(structure: Structure) -> None:
    case = draw(structure, 3)
    view = case.view(left=7.0)
    one, other = Probing(case.belief()).decide(view), Bhpt(case.belief()).decide(view)
    assert one is not None
    assert other is not None
    assert one.arm == other.arm
    np.testing.assert_array_equal(one.explanation.value, other.explanation.value)


def test_more_looks_than_arms_are_not_asked_for() -> None:
    case = draw(Structure("none"), 3, arms=3, epochs=20)
    task = Task("t", case.values, case.start, 1, case.features)
    run = simulate(task, Probing(case.belief()), 15, 0)
    assert len(run.arms) == 15
