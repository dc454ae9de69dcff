"""Without names: explore while there is time, then let the learned policy bring it home."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.weights import shipped, write_weights
from bhpt.beliefs.predictor import Predictor
from bhpt.bench.peers import registry
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, Misuse, View
from bhpt.policies.bhpt import Bhpt
from bhpt.policies.default import DefaultPolicy
from bhpt.policies.interface import Decision, Explanation, PredictingPolicy
from bhpt.policies.learned import Learned
from bhpt.policies.narrowed import NarrowedPolicy
from bhpt.policies.registry import make_policy, make_rule, our_belief
from bhpt.policies.rungs import Rung, RungCourse
from bhpt.policies.scheduled import Course, Schedule, Scheduled, Setup
from bhpt.policies.sensible import SensiblePolicy
from bhpt.policies.staged import StagedPolicy
from bhpt.policies.whole_trainings import WholeTrainings

PREDICTOR = LearnedPredictor(shipped("ends"))


@dataclass(frozen=True)
class Says(PredictingPolicy):
    """A policy that chooses one arm, or none, and nothing else."""

    arm: int | None

    @property
    def predictor(self) -> Predictor:
        return PREDICTOR

    def decide(self, view: View) -> Decision | None:
        if self.arm is None:
            return None
        return Decision(self.arm, Explanation.in_words("", view.arms))


def view_with(left: float, unit: int = 1, costs: float = 1.0, arms: int = 15) -> View:
    return View(
        curves=Curves.empty(arms, 20),
        unit=unit,
        left=left,
        costs=np.full(arms, costs),
        features=np.zeros((arms, 1)),
        untrained=1.0,
    )


def wants(*arms: int) -> Scheduled:
    """A schedule that wants some arms for ever."""

    def start(setup: Setup) -> Course:
        rung = Rung(np.array(arms, int), setup.units, "", lambda _: None, lambda _: None)
        return RungCourse(setup, rung)

    return Scheduled(Schedule("wanted", start))


PARTS = StagedPolicy(Says(1), Says(2), wants(3))


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
    decision = PARTS.decide(view_with(left, unit, costs))
    assert decision is not None
    assert decision.arm == arm


@pytest.mark.parametrize(
    ("change", "arm"),
    [
        ({}, 3),
        ({"left": 44.0}, 1),  # less than three units for each of the 15 arms
        ({"left": 20.0}, 2),
        ({"lanes": 2}, 1),
        ({"split": 2}, 1),
        ({"pending": np.array([4])}, 1),
    ],
)
def test_successive_halving_begins_where_all_arms_can_be_looked_at(
    change: dict[str, Any], arm: int
) -> None:
    decision = PARTS.decide(replace(view_with(45.0), **change))
    assert decision is not None
    assert decision.arm == arm


def test_bhpts_rule_goes_on_where_the_schedule_ends() -> None:
    parts = StagedPolicy(Says(1), Says(2), wants())
    decision = parts.decide(view_with(45.0))
    assert decision is not None
    assert decision.arm == 1


def test_a_small_budget_is_the_learned_policys_and_a_large_one_begins_with_bhpts() -> None:
    rng = np.random.default_rng(0)
    losses = 1 - np.cumsum(rng.uniform(0, 0.05, size=(12, 10)), axis=1)
    task = Task("t", losses, 1.0, 1, rng.uniform(size=(12, 2)))
    small = simulate(task, make_rule("nameless"), 10, 0)
    learned = Learned(shipped("policy"))
    np.testing.assert_array_equal(small.arms, simulate(task, learned, 10, 0).arms)
    large = simulate(task, make_rule("nameless"), 30, 0)
    np.testing.assert_array_equal(
        large.arms[:20], simulate(task, Bhpt(our_belief()), 30, 0).arms[:20]
    )


def test_the_study_has_one_predictor_whoever_decides() -> None:
    nameless = make_rule("nameless")
    assert isinstance(nameless, StagedPolicy)
    assert isinstance(nameless.early, NarrowedPolicy)
    early = nameless.early.chooser
    assert isinstance(early, Bhpt)
    assert nameless.predictor is early.predictor is nameless.late.predictor
    assert isinstance(nameless.predictor, LearnedPredictor)


def test_weights_of_both_networks_can_come_from_a_folder(tmp_path: Path) -> None:
    policy = {key: 2 * value for key, value in shipped("policy").items()}
    write_weights(tmp_path / "policy.npz", policy, shipped("policy").passport)
    with pytest.raises(Misuse, match=r"ends\.npz cannot be read"):
        make_policy(f"default:{tmp_path}")
    ends_of = {key: 3 * value for key, value in shipped("ends").items()}
    write_weights(tmp_path / "ends.npz", ends_of, shipped("ends").passport)
    with pytest.raises(Misuse, match=r"names\.npz cannot be read"):
        make_policy(f"default:{tmp_path}")
    write_weights(tmp_path / "names.npz", shipped("names"), shipped("names").passport)
    learned, nameless, outer = (
        make_rule(f"{name}:{tmp_path}") for name in ("learned", "nameless", "default")
    )
    assert isinstance(outer, WholeTrainings)
    assert isinstance(outer.usual, SensiblePolicy)
    default = outer.usual.chooser
    assert isinstance(learned, Learned)
    assert isinstance(nameless, StagedPolicy)
    assert isinstance(default, DefaultPolicy)
    assert isinstance(default.nameless, StagedPolicy)
    for one in (learned, nameless.late, default.named, default.nameless.late):
        assert isinstance(one, Learned)
        np.testing.assert_array_equal(one.weights["arm_input"], policy["arm_input"])
    for ends in (learned.predictor, default.predictor, nameless.predictor):
        assert isinstance(ends, LearnedPredictor)
        np.testing.assert_array_equal(ends.weights["output"], ends_of["output"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("default:nowhere", "policy.npz cannot be read"),
        ("bhpt:nowhere", "unknown policy 'bhpt:nowhere'"),
    ],
)
def test_weights_that_are_not_there_are_refused(name: str, words: str) -> None:
    with pytest.raises(Misuse, match=words):
        make_policy(name)
    with pytest.raises(Misuse, match=words):
        registry.check(name)


def test_a_file_without_a_network_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "policy.npz", told=np.zeros(3))
    with pytest.raises(Misuse, match="have no passport"):
        make_policy(f"learned:{tmp_path}")
