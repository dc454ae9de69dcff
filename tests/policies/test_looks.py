"""Looks: their price against closed forms and numerical integration, and what they may cost."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from bhpt.beliefs.expected_min import expected_min
from bhpt.domain import Curves, FloatArray, View
from bhpt.policies.looks import draws_of, expected_given, price_looks

EPOCHS, SIZE = 8, 20_000


def _view(arms: int, left: float, unit: int = 2) -> View:
    return View(
        curves=Curves.of([[] for _ in range(arms)], epochs=EPOCHS),
        unit=unit,
        left=left,
        costs=np.ones(arms),
        features=np.zeros((arms, 1)),
        untrained=50.0,
    )


def _worlds(arms: int, slope: float = 0.2) -> FloatArray:
    """A leader that falls by `slope` an epoch to 10 - 8 · slope, others that begin by chance.

    An other arm is at 30 + X after its first unit and ends at 10 + X + ε: seeing X, its end is
    expected at 10 + X.
    """
    rng = np.random.default_rng(3)
    paths = np.full((SIZE, arms, EPOCHS + 1), 50.0)
    paths[:, 0] = 10 - slope * np.arange(EPOCHS + 1)
    x = rng.standard_normal((SIZE, arms - 1))
    paths[:, 1:, 2:] = 30 + x[..., None]
    paths[:, 1:, 3:] = (10 + x + rng.standard_normal(x.shape))[..., None]
    return paths


def test_one_look_is_worth_the_closed_form() -> None:
    paths = _worlds(2)
    found = price_looks(_view(2, 4.0), paths, np.arange(2), trust=1.0)
    leader = 10 - 0.2 * 6  # three units are left after the look
    other = expected_min(np.array(10.0), np.array(1.0), np.array(leader))
    assert found[0] == pytest.approx(10 - 0.2 * 8)
    assert found[1] == pytest.approx(float(other), abs=0.02)


def test_two_looks_are_worth_the_integral() -> None:
    paths = _worlds(3)
    found = price_looks(_view(3, 4.0), paths, np.arange(3), trust=1.0)
    nodes, weights = hermegauss(80)
    weights = weights / weights.sum()
    leader = 10 - 0.2 * 4
    lower = np.minimum(np.minimum(10 + nodes[:, None], 10 + nodes), leader)
    assert found[2] == pytest.approx(float(weights @ lower @ weights), abs=0.02)


def test_only_a_part_of_what_looks_promise_counts() -> None:
    paths = _worlds(3)
    whole, half, none = (
        price_looks(_view(3, 4.0), paths, np.arange(3), trust) for trust in (1.0, 0.5, 0.0)
    )
    left = 10 - 0.2 * np.array([8, 6, 4])
    np.testing.assert_allclose(half, (whole + left) / 2)
    np.testing.assert_allclose(none, left)


def test_looks_that_leave_nothing_to_commit_with_have_no_price() -> None:
    paths = _worlds(4)
    found = price_looks(_view(4, 2.0), paths, np.arange(4), trust=1.0)
    assert np.isfinite(found[:2]).all()
    assert np.isinf(found[2:]).all()


def test_a_steep_leader_is_not_left() -> None:
    flat, steep = (
        price_looks(_view(3, 4.0), _worlds(3, slope), np.arange(3), trust=1.0)
        for slope in (0.01, 0.9)
    )
    assert flat.argmin() == 2
    assert steep.argmin() == 0


def test_what_is_reached_is_kept() -> None:
    view = View(
        curves=Curves.of([[20.0, 9.0], []], epochs=EPOCHS),
        unit=2,
        left=3.0,
        costs=np.ones(2),
        features=np.zeros((2, 1)),
        untrained=50.0,
    )
    paths = np.full((10, 2, EPOCHS + 1), 15.0)
    np.testing.assert_allclose(price_looks(view, paths, np.arange(2), trust=1.0), 9.0)


def test_the_expected_end_follows_what_is_seen_on_any_scale() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(5000)
    ends = x + 0.3 * x**2
    found = expected_given(ends, x)
    assert np.abs(found - ends).mean() < 0.05
    for seen in (np.exp(3 * x), np.tanh(x)):
        np.testing.assert_array_equal(expected_given(ends, seen), found)


def test_draws_of_very_long_trainings_are_fewer() -> None:
    assert draws_of(7, 50) == 256
    assert 16 < draws_of(7, 20_000) < 256
    assert draws_of(7, 10**7) == 16
