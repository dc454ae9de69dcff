"""Decisions over trials, without Ray: the budget is exact, whatever is restored."""

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import Misuse, Objective
from bhpt.domain.budget import Budget
from bhpt.policies.interface import Policy
from bhpt.ray.trial_study import TrialPlan, TrialStudy, TrialVerdict
from tests.study.cases import Greedy


@dataclass
class Tuner:
    """Trials as Tune runs them: each has an epoch that it is at, and one that it would restore."""

    plan: TrialPlan
    configs: list[dict[str, float]]
    at: dict[str, int] = field(default_factory=dict)
    saved: dict[str, int] = field(default_factory=dict)
    trained: int = 0
    stopped: set[str] = field(default_factory=set)
    study: TrialStudy = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        self.study = TrialStudy(self.plan, self.configs[0])
        for number, config in enumerate(self.configs):
            self.study.add(f"t{number}", config)
            self.at[f"t{number}"] = self.saved.get(f"t{number}", 0)
        for name in self.stopped:
            self.study.ended(name)

    def step(self, rng: random.Random) -> bool:
        """Train one epoch of some granted trial; says whether there was one."""
        granted = [name for name in self.study.granted() if name not in self.stopped]
        if not granted:
            return False
        name = rng.choice(granted)
        verdict = TrialVerdict.CONTINUE
        while verdict is TrialVerdict.CONTINUE:
            self.at[name] += 1
            self.trained += 1
            verdict = self.study.epoch(name, self.at[name], self.loss(name), 1.0)
            if rng.random() < 0.7:
                self.saved[name] = self.at[name]
        if verdict is TrialVerdict.STOP:
            self.stopped.add(name)
            self.study.ended(name)
        return True

    def loss(self, name: str) -> float:
        return self.configs[int(name[1:])]["x"] + 1.0 / self.at[name]

    def run(self, rng: random.Random) -> None:
        while self.step(rng):
            pass


def plan(budget: str, policy: Policy | None = None, **changes: object) -> TrialPlan:
    made = TrialPlan(Budget.parse(budget), Objective(), 6, policy or Greedy())
    for name, value in changes.items():
        object.__setattr__(made, name, value)
    return made


def configs(count: int) -> list[dict[str, float]]:
    return [{"x": number / 10} for number in range(count)]


def test_the_budget_is_spent_exactly() -> None:
    tuner = Tuner(plan("25 epochs", workers=2), configs(8))
    tuner.run(random.Random(0))
    state = tuner.study.state
    assert (tuner.trained, state.ledger.spent, tuner.study.is_over) == (25, 25, True)
    assert sum(state.count(arm) for arm in range(8)) == 25
    assert max(state.count(arm) for arm in range(8)) <= 6


def test_trials_that_come_later_are_chosen_from() -> None:
    tuner = Tuner(plan("6 epochs"), configs(1)[:1])
    tuner.configs = [{"x": 0.5}, {"x": 0.1}]
    assert tuner.study.add("t1", {"x": 0.1})
    assert not tuner.study.add("t2", {"x": 0.1})
    tuner.at["t1"] = 0
    tuner.run(random.Random(0))
    assert tuner.study.state.count(1) > 0
    assert tuner.trained == 6


def test_a_failed_trial_is_charged_and_never_chosen_again() -> None:
    tuner = Tuner(plan("5 epochs"), configs(3))
    (first,) = tuner.study.granted()
    tuner.study.failed(first, "it died")
    tuner.stopped.add(first)
    tuner.run(random.Random(0))
    assert (tuner.trained, tuner.study.state.ledger.spent) == (4, 5)


def test_a_trial_that_ends_early_costs_only_what_it_trained() -> None:
    tuner = Tuner(plan("5 epochs"), configs(3))
    (first,) = tuner.study.granted()
    tuner.study.ended(first)
    tuner.stopped.add(first)
    tuner.run(random.Random(0))
    assert (tuner.trained, tuner.study.state.ledger.spent) == (5, 5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4))
def test_kills_and_restores_never_exceed_the_budget(
    tmp_path_factory: pytest.TempPathFactory, seed: int, workers: int, kills: int
) -> None:
    rng = random.Random(seed)
    file = tmp_path_factory.mktemp("trials") / "study.db"
    tuner = Tuner(plan("20 epochs", workers=workers, file=file), configs(5))
    for _ in range(kills):
        for _ in range(rng.randrange(4)):
            tuner.step(rng)
        tuner.study.close()  # killed: every result is in the log, trials are where they were saved
        tuner.open()
    tuner.run(rng)
    state = tuner.study.state
    assert tuner.trained == state.ledger.spent <= 20
    assert tuner.study.is_over
    tuner.study.close()


def test_a_trial_that_begins_again_and_again_pays_for_all_of_it() -> None:
    study = TrialStudy(plan("40 epochs"), {"x": 0.1})
    study.add("t0", {"x": 0.1})
    for iteration in (1, 2):
        assert study.granted() == ["t0"]
        study.epoch("t0", iteration, 0.5, 1.0)
    assert study.granted() == ["t0"]
    again = 11  # restored so often: more epochs in one unit than a trial may train
    for _ in range(again):
        study.epoch("t0", 1, 0.5, 1.0)
        study.epoch("t0", 2, 0.5, 1.0)
    assert 2 * again > study.state.plan.training.epochs
    for bad in (None, 10**400):
        with pytest.raises(Misuse, match="is no number"):
            study.epoch("t0", 3, bad, 1.0)
    study.epoch("t0", 3, 0.4, 1.0)
    assert study.epochs_of("t0") == 3
    assert study.state.ledger.spent == 3 + 2 * again
    study.close()


def test_bad_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="a budget of epochs"):
        plan("2h")
    study = TrialStudy(plan("5 epochs", file=tmp_path / "a.db"), {"x": 0.1})
    study.add("t0", {"x": 0.1})
    study.granted()
    with pytest.raises(Misuse, match="report every epoch once"):
        study.epoch("t0", 3, 0.5, 1.0)
    with pytest.raises(Misuse, match="is no number"):
        study.epoch("t0", 1, None, 1.0)
    study.close()
    with pytest.raises(Misuse, match="with a budget of 5 epochs"):
        TrialStudy(plan("6 epochs", file=tmp_path / "a.db"), {"x": 0.1})
