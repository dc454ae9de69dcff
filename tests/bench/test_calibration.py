"""Predicted ends: quantiles of mixtures, coverage by a belief that knows the truth, the command."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

from bhpt.beliefs.freeze_thaw.ends import MixtureEnds, mixture_quantiles
from bhpt.beliefs.shapes.belief import ShapeBelief
from bhpt.bench.calibration import (
    INTERVAL,
    PARTS,
    PREDICTORS,
    lowest_reached,
    partly_trained,
    score,
)
from bhpt.bench.catalogue import load
from bhpt.bench.peers.calibration import read
from bhpt.bench.synthetic import synthetic
from bhpt.bench.tasks import Task
from bhpt.cli.main import app
from bhpt.domain import FloatArray, Misuse, View
from bhpt.policies.registry import our_belief


@dataclass(frozen=True, eq=False)
class Told(MixtureEnds):
    """Ends as they were told, for every arm."""

    told: FloatArray

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        assert tuple(probabilities) == INTERVAL
        return self.told + np.zeros(self.view.arms)


@dataclass(frozen=True, eq=False)
class Tells:
    """Predicts what it was told."""

    told: FloatArray

    def predict(self, view: View) -> Told:
        return Told(view, our_belief().condition(view), view.horizon, self.told)


def small_task() -> Task:
    """Two arms; at most one is trained, and only that one is predicted."""
    losses = np.array([[4.0, 3.0, 2.0, 5.0], [4.0, 3.0, 2.0, 1.0]])
    return Task("small", losses, 5.0, 1, np.zeros((2, 1)))


def test_quantiles_of_a_mixture_equal_those_of_its_draws() -> None:
    rng = np.random.default_rng(0)
    means, deviations = rng.normal(size=(3, 4)), rng.uniform(0.1, 2, size=(3, 4))
    weights = np.array([0.5, 0.3, 0.2])
    asked = np.array([0.05, 0.5, 0.95])
    found = mixture_quantiles(means, deviations, weights, asked)
    which = rng.choice(3, size=400_000, p=weights)
    drawn = means[which] + deviations[which] * rng.standard_normal((400_000, 4))
    np.testing.assert_allclose(found, np.quantile(drawn, asked, axis=0), atol=0.03)


def test_quantiles_of_one_component_of_sure_ones_and_of_none() -> None:
    asked = np.array([0.05, 0.5, 0.95])
    one = mixture_quantiles(np.array([[2.0]]), np.array([[3.0]]), np.ones(1), asked)
    np.testing.assert_allclose(one[:, 0], 2 + 3 * np.array([-1.6448536, 0, 1.6448536]), atol=1e-6)
    means = np.array([[1.0, np.inf], [1.0, np.inf]])
    sure = mixture_quantiles(means, np.zeros((2, 2)), np.full(2, 0.5), asked)
    np.testing.assert_allclose(sure[:, 0], 1.0)
    assert np.all(np.isinf(sure[:, 1]))


@pytest.mark.parametrize("part", PARTS)
def test_who_knows_the_truth_covers_nine_ends_of_ten(part: float) -> None:
    """Arms of one set are correlated; the binomial interval of half of them allows for that."""
    scores = []
    for seed in range(12):
        task = synthetic(seed)
        scores.append(score(task, PREDICTORS["truth"](task.truth), seed, part))
    covered = float(np.mean([s.coverage for s in scores]))
    low, high = binom.interval(0.99, 6 * 42, 0.9)
    assert low / (6 * 42) <= covered <= high / (6 * 42)
    assert np.mean([s.error for s in scores]) < 0.5 * np.mean([s.last_value for s in scores])


def test_scores_of_predictions_that_are_told() -> None:
    task = small_task()
    view = partly_trained(task, 0, 0.5)
    (arm,) = view.curves.visited
    end = task.losses[arm].min()
    assert view.curves.longest == 2
    for quantiles, covered, error in (
        ([0.5, end, 4.5], 1.0, 0.0),
        ([end, end + 1, end + 1], 1.0, 0.25),  # the ends of an interval belong to it
        ([end + 0.1, end + 0.4, end + 1], 0.0, 0.1),
    ):
        found = score(task, Tells(np.array(quantiles)[:, None]), 0, 0.5)
        assert found.coverage == covered
        assert found.error == pytest.approx(error)  # of a gain of 5 - 1
        assert found.last_value == pytest.approx((3 - end) / 4)


def test_half_of_the_arms_are_trained_for_whole_units() -> None:
    task = synthetic(0)
    view = partly_trained(task, 3, 0.1)
    assert len(view.curves.visited) == 42
    assert set(view.curves.counts) == {30}  # of 288 epochs, in units of 6
    assert set(partly_trained(task, 3, 1e-4).curves.counts) == {6}
    assert np.all(view.horizon[view.curves.visited] == 43)


def test_failed_and_useless_curves_end_untrained() -> None:
    losses = np.array([[np.nan, np.inf], [9.0, 8.0], [3.0, np.nan]])
    np.testing.assert_array_equal(lowest_reached(losses, 5.0), [5, 5, 3])
    task = Task("useless", np.full((4, 6), np.nan), 5.0, 1, np.zeros((4, 1)))
    found = score(task, our_belief(), 0, 0.4)
    assert (found.coverage, found.last_value) == (1.0, 0.0)
    assert found.error < 0.05  # in losses, where there is nothing to gain


def test_an_end_is_never_worse_than_what_was_reached() -> None:
    task = synthetic(1)
    view = partly_trained(task, 1, 0.4)
    ends = PREDICTORS["truth"](task.truth).predict(view).quantiles((0.5, 0.999))
    best = view.curves.losses[:, : view.curves.longest].min(axis=1)
    assert np.all(ends[:, view.curves.visited] <= best)


COMMAND = ["bench", "calibration", "--seeds", "1", "--arms", "12", "--jobs", "1"]


def test_the_command_writes_what_the_comparison_reads(tmp_path: Path) -> None:
    out = tmp_path / "new" / "calibration.csv"
    done = CliRunner().invoke(app, [*COMMAND, "--tasks", "synthetic,vae_mnist", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "8 rows" in done.output
    lines = read(out)
    assert [(line.suite, line.seen) for line in lines] == [
        (suite, seen) for suite in ("synthetic", "tables") for seen in (5.0, 10.0, 20.0, 40.0)
    ]
    assert all(0 <= line.coverage <= 1 and line.error >= 0 for line in lines)


def test_bad_input_is_refused_before_anything_runs(tmp_path: Path) -> None:
    out = tmp_path / "calibration.csv"
    for wrong, said in (
        (["--tasks", "synthetic", "--belief", "oracle"], "there are learned"),
        (["--tasks", "vae_mnist", "--belief", "truth"], "only synthetic tasks"),
        (["--tasks", "mnist"], "unknown task 'mnist'"),
        (["--tasks", ","], "--tasks names nothing"),
        (["--tasks", "synthetic", "--seeds", "0"], "at least one is needed"),
        (["--tasks", "synthetic", "--arms", "0"], "at least one arm"),
        (["--tasks", "synthetic", "--jobs", "0"], "--jobs 0"),
        (["--data", str(tmp_path / "absent")], "no such folder"),
        (["--tasks", "synthetic", "--out", str(tmp_path)], "is a folder"),
    ):
        done = CliRunner().invoke(app, [*COMMAND, "--out", str(out), *wrong])
        assert isinstance(done.exception, Misuse), wrong
        assert said in str(done.exception)
        assert not out.exists()


@pytest.mark.parametrize("units", [1, 2, 4])
def test_intervals_of_the_belief_with_shapes_hold_what_they_promise(units: int) -> None:
    """After a few units on the packaged tables, from which its prior was not learned.

    After one unit single runs differ much: which arms were seen first decides.
    """
    found = []
    for name in ("resnet_cifar10", "arch_cifar10", "arch2_cifar10", "vae_mnist", "fcnet_mnist"):
        for seed in range(4):
            task = load(name, seed, None, 50)
            part = units * task.unit / task.epochs
            found.append(score(task, ShapeBelief(), seed, part).coverage)
    assert 0.8 <= np.mean(found) <= 0.97
