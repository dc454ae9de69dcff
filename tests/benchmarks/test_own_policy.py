"""The benchmark of the study's own policy in its draws: what is predicted and printed."""

import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import own_policy
from bhpt.bench.catalogue import load
from bhpt.bench.tasks import Task
from bhpt.policies.registry import make_policy
from bhpt.policies.study_predictor import predictor_of
from bhpt.study import Study


def pair(study: str, best: float, own: float, reached: float) -> own_policy.Pair:
    stand_in = own_policy.Said(best - 0.1, best - 0.15, 0.1)
    return own_policy.Pair(study, best, stand_in, own_policy.Said(own, own, 2.0), reached)


def test_lines_say_how_good_both_ways_were() -> None:
    pairs = [pair("a", 1.0, 0.8, 0.8), pair("b", 1.0, 0.6, 0.8), pair("c", 0.5, 0.4, 0.5)]
    stand_in, own, apart = own_policy.lines(pairs)
    assert "3 predictions, 33% of 90% intervals held" in stand_in
    assert "actual gain 0.50, wrong by a factor of 2.0, 0.10 s" in stand_in
    assert "67% of 90% intervals held" not in stand_in
    assert "100% of 90% intervals held" in own
    assert "actual gain 1.50, wrong by a factor of 1.4, 2.00 s" in own
    assert apart.endswith("−0.35")  # two studies: log 1 - log 2 and log 2 - log 2


def small() -> Task:
    return load("vae_mnist", 0).sample(12, 0)


def test_a_study_predicts_its_end_in_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_policy, "_NOW", 3)
    monkeypatch.setattr(own_policy, "_PAST", 2)
    found = own_policy.studied(small(), "default", 12, 0)
    assert 1 <= len(found) <= 3
    for one in found:
        assert one.reached <= one.best
        for said in (one.stand_in, one.own):
            assert said.low <= said.expected <= one.best
    again = own_policy.studied(small(), "default", 12, 0)
    assert [one.own.expected for one in again] == [one.own.expected for one in found]


def test_the_policy_is_played_to_the_end_of_the_budget() -> None:
    task, policy = small(), make_policy("default")
    configs = [dict(config) for config in task.configs]
    study = Study(configs, "8 epochs", max_epochs=task.epochs, untrained=task.untrained)
    for _ in range(4):
        unit = study.ask()
        assert unit is not None
        losses = task.losses[configs.index(unit.config), unit.done : unit.done + unit.epochs]
        study.tell(unit, losses.tolist())
    best = study.state.best
    assert best is not None
    ends = own_policy.own_policy_losses(study.state, policy, predictor_of(policy), 5)
    assert ends is not None
    assert ends.shape == (5,)
    assert (ends <= best.loss).all()
    while (unit := study.ask()) is not None:
        study.tell(unit, [best.loss] * unit.epochs)
    assert own_policy.own_policy_losses(study.state, policy, predictor_of(policy), 5) is None


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(own_policy, "_NOW", 2)
    monkeypatch.setattr(own_policy, "_PAST", 2)
    monkeypatch.setattr(own_policy, "tables_by_kind", lambda *_: {"vae": ("vae_mnist",)})
    monkeypatch.setattr(own_policy, "load", lambda *_: small())
    monkeypatch.setattr(own_policy, "fold_for", lambda *_: tmp_path)
    monkeypatch.setattr(own_policy, "with_fold", lambda *_: "default")
    arguments = ["--data", str(tmp_path), "--networks", "x", "--budgets", "10"]
    monkeypatch.setattr(sys, "argv", ["own_policy", *arguments])
    own_policy.main()
    said = capsys.readouterr().out
    assert "stand-in:" in said
    assert "own policy:" in said
    assert np.isfinite(float(said.rsplit(" ", 1)[1].split("±")[0].replace("−", "-")))
