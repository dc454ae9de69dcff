"""Features: what must not change them does not, and what was not seen is not looked at."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.learned.features import NOISE, Moment, features, geometry
from bhpt.beliefs.learned.network import preferences, trunk
from bhpt.beliefs.learned.observing import looked_at, observe, posterior, see
from bhpt.beliefs.learned.weights import shipped
from bhpt.beliefs.scale import estimate_untrained
from bhpt.domain import Curves, FloatArray, IntArray, View
from tests.beliefs.learned.cases import UNTRAINED, study, with_losses

SEEDS = range(6)


def told(view: View) -> tuple[FloatArray, FloatArray]:
    """Features of all arms, [K, F], and of the study."""
    sight = see(view)
    np.testing.assert_array_equal(sight.rows, np.arange(view.arms))
    return sight.arms, sight.study


def liked(moment: Moment, arms: FloatArray, whole: FloatArray) -> FloatArray:
    weights = shipped("policy")
    out = trunk(np, weights, arms, whole, moment.exists)
    found: FloatArray = preferences(np, weights, out, moment.open)
    return found


def same(found: View, expected: View, tolerance: float = 1e-9) -> None:
    for a, b in zip(told(found), told(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_features_of_two_arms_by_hand() -> None:
    curves = Curves.of([[0.6, 0.4], [0.5], []], 4)
    view = View(curves, 1, 3.0, np.ones(3), np.zeros((3, 0)), untrained=1.0)
    arms, whole = told(view)
    np.testing.assert_array_equal(arms[:, 0], [1, 1, 0])  # tried
    np.testing.assert_array_equal(arms[:, 2], [0, 1, 0])  # the latest unit
    np.testing.assert_array_equal(arms[:, 3], [1, 0, 0])  # the best
    np.testing.assert_allclose(arms[:, 7], [2 / 4, 3 / 4, 3 / 4])  # the rest of a training
    np.testing.assert_allclose(arms[:, 10], [1, 5 / 6, 0])  # where they are
    np.testing.assert_allclose(arms[:, 12], [4 / 6, 5 / 6, 0])  # where they were after one unit
    np.testing.assert_allclose(arms[:, 14], np.log10([1 / 3 + 1e-3, 5 / 6 + 1e-3, 1]) / 3)
    np.testing.assert_allclose(arms[:2, 17], [1 + (1 / 3), 5 / 6 + 2 * 5 / 6])  # a doubling, two
    np.testing.assert_allclose(arms[:2, 19], [0, 0])  # rivals that were better
    np.testing.assert_allclose(arms[:, 23], [0, 2 / 6, (1 + 5 / 6) / 2])  # what others gained
    np.testing.assert_allclose(arms[:, 35], [0, 0, 1])  # can be tried
    np.testing.assert_allclose(whole[[10, 11]], [(1 + 5 / 6) / 2, (4 / 6 + 5 / 6) / 2])
    assert whole[13] == pytest.approx(np.log10(1 / 6 + 1e-3) / 3)  # the best before the second


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("a", "b"), [(1e-15, 0), (1e-4, 0), (1e12, 0), (3, -100), (0.5, 1e3)])
def test_scale_and_level_of_losses_do_not_matter(seed: int, a: float, b: float) -> None:
    view = study(seed)
    same(with_losses(view, a * view.curves.losses + b, untrained=a * UNTRAINED + b), view)


def permuted(view: View, place: IntArray) -> View:
    """The view with arm k called place[k]."""
    back = np.argsort(place)
    curves = replace(view.curves, visited=place[view.curves.visited])
    return replace(view, curves=curves, features=view.features[back], costs=view.costs[back])


@pytest.mark.parametrize("seed", SEEDS)
def test_the_names_of_arms_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    view = study(seed, costs=rng.uniform(0.5, 2, 9))
    place = rng.permutation(view.arms)
    other = permuted(view, place)
    (arms, whole), (moved, moved_whole) = told(view), told(other)
    np.testing.assert_allclose(moved[place], arms, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moved_whole, whole, rtol=1e-9, atol=1e-9)
    rows = np.arange(view.arms)
    expected = liked(observe(view, rows)[0], arms, whole)
    found = liked(observe(other, rows)[0], moved, moved_whole)
    np.testing.assert_allclose(found[place], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_and_the_direction_of_columns_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    view = study(seed, columns=4)
    x = view.features[:, rng.permutation(4)]
    same(replace(view, features=np.where(rng.random(4) < 0.5, 1 - x, x)), view)
    assert not np.allclose(told(replace(view, features=x**3))[0], told(view)[0])  # they do matter


@pytest.mark.parametrize("seed", SEEDS)
def test_padding_changes_nothing(seed: int) -> None:
    """Training pads arms and columns with whatever lies there, deciding does not."""
    rng = np.random.default_rng(seed)
    view = study(seed)
    rows = np.arange(view.arms)
    moment, shape = observe(view, rows)
    more, wide = view.arms + 5, view.features.shape[1] + 2

    def padded(values: FloatArray, fill: float = 0.0) -> FloatArray:
        return np.concatenate([values, np.full((5, *values.shape[1:]), fill)])

    x = rng.uniform(size=(more, wide))
    x[: view.arms, : view.features.shape[1]] = view.features
    exists = padded(moment.exists)
    used = 1.0 * (np.arange(wide) < view.features.shape[1])
    larger = geometry(np, x, exists, used)
    n = padded(moment.n).astype(int)
    big = replace(
        moment,
        q=padded(moment.q, 7.0),
        n=n,
        r=padded(moment.r, 30.0),
        exists=exists,
        open=padded(moment.open),
        last=padded(moment.last),
        covariance=posterior(larger.prior, n > 0),
    )
    (arms, whole), (found, found_whole) = features(np, moment, shape), features(np, big, larger)
    np.testing.assert_allclose(found[: view.arms], arms, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found_whole, whole, rtol=1e-9, atol=1e-9)
    assert not found[view.arms :].any()
    expected = liked(moment, arms, whole)
    np.testing.assert_allclose(liked(big, found, found_whole)[: view.arms], expected, rtol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("poison", [1e6, -1e6])
def test_the_future_is_not_looked_at(seed: int, poison: float) -> None:
    moment, shape = observe(study(seed), np.arange(9))
    ahead = np.arange(moment.q.shape[1])[None, :] > moment.n[:, None]
    assert ahead.any()
    poisoned = replace(moment, q=np.where(ahead, poison, moment.q))
    for a, b in zip(features(np, poisoned, shape), features(np, moment, shape), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", SEEDS)
def test_units_of_several_epochs_are_as_the_table_by_unit(seed: int) -> None:
    """Ten epochs in units of three: the last unit is a short one."""
    view = study(seed, arms=5, epochs=10, unit=3, reports=14)
    curves = view.curves
    assert 10 in curves.counts  # some arm has run its short unit
    by_unit = Curves.empty(view.arms, 4)
    seen: dict[int, int] = {}
    for row, count in curves.reports:
        at = seen.get(row, 0)
        seen[row] = at + count
        lowest = curves.losses[row, at : at + count].min()
        by_unit = by_unit.extend(int(curves.visited[row]), np.array([lowest]))
    same(view, replace(view, curves=by_unit, unit=1))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30, UNTRAINED + 0.1])
def test_failed_and_useless_epochs_are_as_untrained(seed: int, bad: float) -> None:
    view = study(seed)
    failed = np.random.default_rng(seed).random(view.curves.losses.shape) < 0.3
    failed[0] = True  # an arm that never works
    spoilt = with_losses(view, np.where(failed, bad, view.curves.losses))
    same(spoilt, with_losses(view, np.where(failed, UNTRAINED, view.curves.losses)))


def test_where_nothing_has_improved_everything_is_finite_and_nothing_is_best() -> None:
    view = study(0)
    arms, whole = told(with_losses(view, np.full_like(view.curves.losses, np.nan)))
    assert np.isfinite(arms).all()
    assert whole[0] == 0
    assert not arms[:, 10].any()


def test_an_unknown_untrained_loss_is_estimated() -> None:
    view = study(3)
    known = replace(view, untrained=estimate_untrained(view.curves))
    same(replace(view, untrained=None), known)


@pytest.mark.parametrize("columns", [0, 1, 20])
@pytest.mark.parametrize("arms", [1, 2, 30])
@pytest.mark.parametrize("reports", [0, 1, 12])
def test_few_arms_and_any_number_of_columns(columns: int, arms: int, reports: int) -> None:
    view = study(1, arms=arms, columns=columns, reports=reports)
    sight = see(view)
    assert np.isfinite(sight.arms).all()
    assert np.isfinite(sight.study).all()
    assert np.abs(sight.arms).max() <= 3
    assert sight.arms.shape == (arms, shipped("policy")["arm"].shape[0])


def test_without_columns_no_arm_is_nearer_than_another() -> None:
    view = study(2, columns=0)
    alike = replace(view, features=np.full((view.arms, 1), 0.3))
    new = view.curves.count_by_arm == 0
    assert new.any()
    expected = told(view)[0][new][:, [32, 36, 38, 40]]
    assert np.ptp(expected, axis=0) == pytest.approx(0)
    # the additive kernel of no column is empty, so only its height differs
    np.testing.assert_allclose(told(alike)[0][new][:, 32], expected[:, 0], atol=0.01)


def test_of_very_many_untried_arms_a_part_is_looked_at() -> None:
    view = study(0, arms=3000, reports=40)
    rows = looked_at(view)
    tried = np.flatnonzero(view.curves.count_by_arm)
    assert np.all(np.diff(rows) > 0)
    assert set(tried) <= set(rows)
    assert len(rows) == len(tried) + 100
    np.testing.assert_array_equal(rows, looked_at(replace(view, left=5.0)))
    assert set(rows) != set(looked_at(replace(view, seed=1)))
    fresh = int(np.setdiff1d(rows, tried)[0])
    later = looked_at(replace(view, curves=view.curves.extend(fresh, np.ones(1))))
    assert len(np.setdiff1d(later, rows)) == 1  # one steps in for the one that was tried
    assert np.isfinite(see(view).arms).all()


def test_arms_in_flight_are_looked_at_if_they_were_tried() -> None:
    view = study(4)
    tried, new = int(view.curves.visited[0]), int(np.flatnonzero(view.curves.count_by_arm == 0)[0])
    sight = see(replace(view, pending=np.array([tried, new])))
    assert new not in sight.rows
    assert sight.moment.open[np.searchsorted(sight.rows, tried)] == 0


def test_expected_is_gaussian_process_regression() -> None:
    moment, shape = observe(study(5), np.arange(9))
    seen = moment.n > 0
    y = np.where(seen, np.random.default_rng(0).normal(size=9), 0.0)
    gram = shape.prior[np.ix_(seen, seen)] + NOISE * np.eye(seen.sum())
    expected = shape.prior[:, seen] @ np.linalg.solve(gram, y[seen])
    np.testing.assert_allclose(moment.covariance @ y / NOISE, expected, atol=1e-9)
    variance = np.diagonal(shape.prior) - np.einsum(
        "ij,ji->i", shape.prior[:, seen], np.linalg.solve(gram, shape.prior[seen])
    )
    doubt = features(np, moment, shape)[0][:, 34]
    np.testing.assert_allclose(doubt, np.sqrt(variance / np.diagonal(shape.prior)), atol=1e-9)


def test_the_posterior_is_one_arm_after_another() -> None:
    moment, shape = observe(study(6), np.arange(9))
    left = shape.prior
    for arm in np.flatnonzero(moment.n):
        column = left[:, arm]
        left = left - np.outer(column, column) / (column[arm] + NOISE)
    np.testing.assert_allclose(posterior(shape.prior, moment.n > 0), left, atol=1e-10)
    np.testing.assert_array_equal(posterior(shape.prior, np.zeros(9, bool)), shape.prior)
