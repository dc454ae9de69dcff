"""The default: explore while there is time, then let the learned policy bring it home."""

from pathlib import Path

import numpy as np
import pytest

from bhpt.beliefs.learned.weights import shipped
from bhpt.bench.peers import registry
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, Misuse, View
from bhpt.policies.bhpt import Bhpt
from bhpt.policies.home_stretch import HomeStretch
from bhpt.policies.interface import Decision, Explanation
from bhpt.policies.learned import Learned
from bhpt.policies.registry import make_policy, our_belief


class Says(Learned, Bhpt):
    """A policy that chooses one arm and nothing else."""

    def __init__(self, arm: int) -> None:
        object.__setattr__(self, "arm", arm)

    def decide(self, view: View) -> Decision | None:
        return Decision(self.arm, Explanation.in_words("", view.arms))  # type: ignore[attr-defined]


def view_with(left: float, unit: int = 1, costs: float = 1.0) -> View:
    return View(
        curves=Curves.empty(4, 20),
        unit=unit,
        left=left,
        costs=np.full(4, costs),
        features=np.zeros((4, 1)),
        untrained=1.0,
    )


@pytest.mark.parametrize(
    ("left", "unit", "costs", "arm"),
    [
        (21.0, 1, 1.0, 1),
        (20.0, 1, 1.0, 2),
        (5.0, 1, 1.0, 2),
        (8.0, 3, 1.0, 1),
        (7.0, 3, 1.0, 2),
        (42.0, 1, 2.0, 1),
        (40.0, 1, 2.0, 2),
    ],
)
def test_the_last_full_training_is_the_last_stretch(
    left: float, unit: int, costs: float, arm: int
) -> None:
    decision = HomeStretch(Says(1), Says(2)).decide(view_with(left, unit, costs))
    assert decision is not None
    assert decision.arm == arm


def test_a_small_budget_is_the_learned_policys_and_a_large_one_begins_with_bhpts() -> None:
    rng = np.random.default_rng(0)
    losses = 1 - np.cumsum(rng.uniform(0, 0.05, size=(12, 10)), axis=1)
    task = Task("t", losses, 1.0, 1, rng.uniform(size=(12, 2)))
    small = simulate(task, make_policy("default"), 10, 0)
    np.testing.assert_array_equal(small.arms, simulate(task, Learned(), 10, 0).arms)
    large = simulate(task, make_policy("default"), 30, 0)
    np.testing.assert_array_equal(
        large.arms[:20], simulate(task, Bhpt(our_belief(None)), 30, 0).arms[:20]
    )


def test_forecasts_use_the_belief_of_the_first_half() -> None:
    early = Bhpt(our_belief(None))
    assert HomeStretch(early, Learned()).belief is early.belief


def test_weights_can_come_from_a_file(tmp_path: Path) -> None:
    shipped_ones = {name: value * 2 for name, value in shipped("policy").items()}
    np.savez(tmp_path / "w.npz", **shipped_ones)
    learned = make_policy(f"learned:{tmp_path / 'w.npz'}")
    assert isinstance(learned, Learned)
    np.testing.assert_allclose(learned.weights["arm"], shipped_ones["arm"])
    assert isinstance(make_policy(f"default:{tmp_path / 'w.npz'}"), HomeStretch)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("default:nowhere.npz", "weights nowhere.npz cannot be read"),
        ("bhpt:nowhere.npz", "unknown policy 'bhpt:nowhere.npz'"),
    ],
)
def test_weights_that_are_not_there_are_refused(name: str, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        make_policy(name)
    with pytest.raises(Misuse, match=words):
        registry.check(name)


def test_a_file_without_a_network_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", other=np.zeros(3))
    with pytest.raises(Misuse, match="no network of ours"):
        make_policy(f"learned:{tmp_path / 'w.npz'}")
