"""What further configurations bring if they are like those before: formulas beside simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import Curves, View
from bhpt.reports.factors import Factors
from bhpt.reports.records import Records


def view_of(curves: list[list[float]], untrained: float | None = None) -> View:
    made = Curves.of(curves, 8)
    return View(made, 1, 10.0, np.ones(made.arms), np.zeros((made.arms, 1)), untrained)


def test_a_gain_is_what_the_stated_chances_say() -> None:
    records = Records(best=5.0, spread=0.3, spent=40.0)
    mean, low = records.expected(60.0)
    ratio = 60.0 / 40.0
    gains = np.linspace(0, 30, 2_000_001)
    chances = ratio * np.exp(-gains / 0.3) / (1 + ratio * np.exp(-gains / 0.3))
    assert mean == pytest.approx(5.0 - np.trapezoid(chances, gains), rel=1e-8)
    assert np.interp(5.0 - low, gains, chances) == pytest.approx(0.05, rel=1e-5)


def test_exponential_tails_bring_what_is_expected() -> None:
    """Sixty configurations, then ninety more, from a lower tail of scale 0.2."""
    rng = np.random.default_rng(0)
    values = 3.0 - 0.2 * rng.standard_exponential((20_000, 150))
    before, after = values[:, :60].min(axis=1), values.min(axis=1)
    mean, _ = Records(best=0.0, spread=0.2, spent=60.0).expected(90.0)
    assert (before - after).mean() == pytest.approx(-mean, rel=0.03)
    assert (after < before).mean() == pytest.approx(90 / 150, abs=0.01)


def test_the_spread_is_that_of_the_best_three() -> None:
    """As differences where losses may be negative, and by factors where they may not."""
    by_differences = Records.of(view_of([[9.0], [4.0, -1.0], [-4.0], [2.0], [-3.0]], 20.0), 5.0)
    assert by_differences is not None
    assert by_differences.factors is None
    assert by_differences.spread == pytest.approx(0.6 * (3 + 2) / 2)  # -4, -3, -1
    by_factors = Records.of(view_of([[9.0], [4.0, 0.8], [0.2], [2.0], [0.4]], 20.0), 5.0)
    assert by_factors is not None
    assert by_factors.spread == pytest.approx(0.6 * (math.log(4) + math.log(2)) / 2)
    mean, low = by_factors.expected(15.0)
    assert mean == pytest.approx(0.2 * 4**-by_factors.spread)
    assert low == pytest.approx(0.2 * (3 * 19) ** -by_factors.spread)


def test_nothing_is_promised_of_few_or_equal_configurations_or_of_no_budget() -> None:
    assert Records.of(view_of([[0.5], [0.4], [0.3], [0.2]], 1.0), 4.0) is None
    equal = Records.of(view_of([[0.5]] * 3 + [[0.9]] * 3, 1.0), 6.0)
    assert equal is not None
    assert equal.expected(100.0) == (0.5, 0.5)
    some = Records.of(view_of([[0.1 * n] for n in range(1, 7)], 1.0), 6.0)
    assert some is not None
    assert some.expected(0.0) == (0.1, 0.1)
    mean, low = some.expected(0.01)
    assert mean < 0.1 == low  # a gain is too unlikely to be within nineteen of twenty


def test_no_more_is_promised_than_has_been_gained() -> None:
    found = Records.of(view_of([[-1.0], [400.0], [500.0], [600.0], [900.0]], 9.0), 5.0)
    assert found is not None
    assert found.spread == pytest.approx(10.0)


def test_more_budget_never_promises_less() -> None:
    records = Records.of(view_of([[0.3 + 0.1 * n] for n in range(9)], 2.0), 9.0)
    assert records is not None
    found = np.array([records.expected(left) for left in (0.0, 0.1, 1.0, 9.0, 90.0, 1e6)])
    assert (np.diff(found, axis=0) <= 0).all()
    assert (found >= 0).all()


_ANY = st.floats(allow_nan=True, allow_infinity=True)
_CURVES = st.lists(st.lists(_ANY, min_size=1, max_size=8), min_size=5, max_size=9)


@settings(deadline=None, max_examples=200)
@given(_CURVES, st.floats(1e-9, 1e9), st.floats(0, 1e9))
def test_any_curves_are_taken(curves: list[list[float]], spent: float, left: float) -> None:
    """No end below what a loss can be, none above the best, and no number that is none."""
    view = view_of(curves)
    found = Records.of(view, spent)
    if found is None:
        return
    mean, low = found.expected(left)
    for one in (mean, low):
        assert view.curves.lowest_possible <= one <= view.curves.best
        assert not math.isnan(one)


@settings(deadline=None, max_examples=200)
@given(_CURVES)
def test_losses_by_factors_are_read_back(curves: list[list[float]]) -> None:
    view = view_of(curves)
    factors = Factors.of(view)
    if factors is None:
        assert (
            view.curves.lowest_possible < -1
            or not np.isfinite(view.curves.best)
            or (view.curves.best == view.curves.lowest_possible)
        )
        return
    seen = factors.seen(view)
    assert seen.curves.lowest_possible == -math.inf
    assert seen.untrained is not None
    assert seen.untrained >= seen.curves.best
    for arm, curve in enumerate(curves):
        told, shown = np.array(curve), seen.curves.of_arm(arm)
        finite = np.isfinite(told)
        assert np.array_equal(finite, np.isfinite(shown))
        assert np.array_equal(told[~finite], shown[~finite], equal_nan=True)
    assert factors.losses(np.array(seen.curves.best)) == pytest.approx(view.curves.best, rel=1e-9)


def test_every_halving_counts_alike() -> None:
    factors = Factors.of(view_of([[0.8, 0.4, 0.2], [1.6]], 1.6))
    assert factors is not None
    logs = factors.logs(np.array([1.6, 0.8, 0.4, 0.2]))
    assert np.diff(logs) == pytest.approx([-math.log(2)] * 3)
    assert factors.losses(logs - math.log(2))[-1] == pytest.approx(0.1)
    assert np.isnan(factors.logs(np.array([math.nan]))[0])


def test_a_share_that_is_maximised_counts_by_what_it_lacks() -> None:
    factors = Factors.of(view_of([[-0.5, -0.9], [-0.8]], -0.1))
    assert factors is not None
    assert np.diff(factors.logs(np.array([-0.8, -0.9]))) == pytest.approx([-math.log(2)])


def test_what_nobody_observed_does_not_count() -> None:
    """Rows of curves have room that later reports are written to."""
    curves = Curves.of([[0.5], [0.4, 0.3]], 8)
    factors = Factors.of(View(curves, 1, 1.0, np.ones(2), np.zeros((2, 1)), 1.0))
    assert factors is not None
    view = View(curves, 1, 1.0, np.ones(2), np.zeros((2, 1)), 1.0)
    before = factors.seen(view).curves.losses.copy()
    curves.extend(0, np.array([math.nan]))
    assert np.array_equal(factors.seen(view).curves.losses, before)
