"""The benchmark of expected gains: what it compares and prints."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import gains
from bhpt.bench.catalogue import load
from bhpt.bench.simulate import simulate
from bhpt.domain import Curves, View
from bhpt.policies.interface import PredictingPolicy
from bhpt.policies.registry import make_rule


def default() -> PredictingPolicy:
    policy = make_rule("default")
    assert isinstance(policy, PredictingPolicy)
    return policy


def moment(best: float, lower: float = 0.0) -> gains.GainsOfMoment:
    """Three arms, one of which would gain half of what was gained within the two units left."""
    losses = np.full((3, 6), 0.9) - lower
    losses[0, 1:] = best - lower
    losses[1, 1] = max(best - 0.5 * (1 - best), 0.0) - lower
    losses[2, 4] = 0.0 - lower  # out of reach
    task = replace(load("vae_mnist", 0), losses=losses)
    curves = Curves.of([losses[0, :2].tolist(), [], []], 6)
    view = View(curves, 1, 2.0, np.ones(3), np.eye(3), untrained=1.0 - lower)
    found = gains.gains_of(task, default(), view, 0.5)
    assert found is not None
    return found


def test_the_real_gain_is_that_of_what_is_left() -> None:
    found = moment(0.6)
    assert found.real == pytest.approx(0.5 / 3)
    assert 0 < found.expected < 3
    assert not found.near
    assert moment(0.08).near
    assert not moment(0.08, lower=5.0).near  # losses are negative


def test_nothing_is_compared_before_anything_has_improved() -> None:
    task = load("vae_mnist", 0)
    curves = Curves.of([[1.0], []], 6)
    view = View(curves, 1, 2.0, np.ones(2), np.eye(2), untrained=1.0)
    assert gains.gains_of(task, default(), view, 0.5) is None


def test_moments_of_a_study_are_watched_and_printed() -> None:
    task = load("vae_mnist", 0)
    watched = gains.Watched(default(), task, 40, np.random.default_rng(0))
    simulate(task, watched, 40, 0)
    assert 0 < len(watched.found) < 20
    assert all(0 <= one.gone < 1 for one in watched.found)
    one = gains.GainsOfMoment(0.3, True, 0.2, 0.1)
    other = gains.GainsOfMoment(0.3, False, 0.4, 0.1)
    assert list(gains.lines([one, other])) == [
        "from 0% of the budget: no moments",
        "from 25% of the budget: 2 moments, expected 0.3000, real 0.1000",
        "from 50% of the budget: no moments",
        "from 75% of the budget: no moments",
        "near a loss of zero: 1 moments, expected 0.2000, real 0.1000",
    ]
