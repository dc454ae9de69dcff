"""The benchmark of arms that are too late: what it counts and prints."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import late, left_out_tables
from bhpt.bench.catalogue import load
from bhpt.bench.simulate import simulate
from bhpt.domain import Curves, Misuse, View
from bhpt.policies.interface import PredictingPolicy
from bhpt.policies.registry import make_rule

HELD_OUT = Path(__file__).parents[2] / "benchmarks/policy/held_out"


def default() -> PredictingPolicy:
    policy = make_rule("default")
    assert isinstance(policy, PredictingPolicy)
    return policy


def test_late_arms_that_would_get_below_the_best_are_counted() -> None:
    """The best loss took eight epochs; of three late arms one leaps below it, two do not."""
    curve = np.linspace(0.9, 0.2, 8)
    losses = np.full((5, 10), 0.5)
    losses[0, :8], losses[1, 0] = curve, 0.1
    losses[2, 5] = 0.1  # too late to be seen
    task = replace(load("vae_mnist", 0), losses=losses)
    curves = Curves.of([curve.tolist(), [], [], [0.5], [0.5] * 5], 10)
    view = View(curves, 1, 2.0, np.ones(5), np.eye(5), untrained=1.0)
    untried, tried = late.late_arms(task, default(), view)
    assert (untried.arms, tried.arms) == (2, 1)
    assert untried.below == min(untried.hopeful, 1)
    assert tried.below == 0
    assert late._ends_below(task, view).tolist() == [False, True, False, False, False]


def test_moments_of_a_study_are_watched() -> None:
    task = load("vae_mnist", 0)
    watched = late.Watched(default(), task, np.random.default_rng(0))
    simulate(task, watched, 40, 0)
    assert watched.untried.arms > 0
    assert watched.untried.arms >= watched.untried.hopeful >= watched.untried.below


def test_counts_are_added_and_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    both = late.LateArms(300, 200, 1) + late.LateArms(5, 0, 0)
    assert both.text == (
        "305 arms, 200 with a chance by the predictor, 1 of these end below the best, 0.50%"
    )
    assert late.LateArms(3, 0, 0).text.endswith("0 of these end below the best")
    found = [late.LateArms(2, 1, 0), late.LateArms(1, 1, 1)]
    monkeypatch.setattr(late, "count", lambda *_: found)
    monkeypatch.setattr(left_out_tables, "tables_by_kind", lambda *_, **__: {"cnn": ("one", "two")})
    monkeypatch.setattr(sys, "argv", ["late", "--data", str(tmp_path), "--networks", "nowhere"])
    late.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == ["untried: 4 arms", "tried: 2 arms"]


def test_the_networks_are_those_that_have_not_seen_the_table(tmp_path: Path) -> None:
    untried, _ = late.count("vae_mnist", tmp_path, [HELD_OUT], [30, 40])
    alone, _ = late.count("vae_mnist", tmp_path, [HELD_OUT], [40])
    assert untried.arms > alone.arms > 0
    with pytest.raises(Misuse, match="no networks were trained without it"):
        late.count("resnet_cifar10", tmp_path, [HELD_OUT], [5])
