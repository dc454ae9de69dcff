"""The learned predictor: histograms against their samples, and what it says of real curves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr

from bhpt.beliefs.learned.ends import Histogram, LearnedPredictor, normal_chance
from bhpt.beliefs.learned.network import EDGES
from bhpt.beliefs.learned.network_inputs import at_rest
from bhpt.beliefs.learned.weights import shipped
from bhpt.bench.calibration import score
from bhpt.bench.tasks import PACKAGED, packaged
from bhpt.domain import Curves, FloatArray, View
from tests.beliefs.learned.cases import UNTRAINED, named, study, with_losses

BINS = len(EDGES) + 1
ASKED = (0.05, 0.25, 0.5, 0.75, 0.95)
PREDICTOR = LearnedPredictor(shipped("ends"))


def ends_of(view: View) -> FloatArray:
    """The quantiles asked for, [Q, K]."""
    return PREDICTOR.predict(view).quantiles(ASKED)


def histogram(floor: float = -np.inf) -> Histogram:
    """Of three arms: any chances, mostly no improvement, all in the last bin."""
    rng = np.random.default_rng(0)
    chances = np.stack(
        [rng.dirichlet(np.ones(BINS)), np.full(BINS, 0.2 / (BINS - 1)), np.eye(BINS)[-1]]
    )
    chances[1, 0] = 0.8
    return Histogram(np.arange(3), chances, np.array([2.0, 1.0, 3.0]), 0.5, floor)


def sampled(drawn: Histogram, arm: int, size: int = 400_000) -> FloatArray:
    """Losses above the floor that a histogram stands for: even in the logarithm within a bin.

    In the bin that ends at the floor their distance to it is the square of an even number.
    """
    rng = np.random.default_rng(arm)
    place = rng.choice(BINS, size=size, p=drawn.chances[arm])
    edges = np.array([*EDGES, 2 * EDGES[-1]])
    part = rng.random(size)
    low, high = edges[np.maximum(place - 1, 0)], edges[place]
    more = np.where(place > 0, low ** (1 - part) * high**part, 0.0)
    losses = drawn.now[arm] - drawn.scale * more
    if drawn.floor == -np.inf:
        return np.asarray(losses)
    first, last = (drawn.now[arm] - drawn.scale * one for one in (low, high))
    ends_there = (place > 0) & (last < drawn.floor)
    squared = drawn.floor + (first - drawn.floor) * rng.random(size) ** 2
    return np.asarray(np.where(ends_there, squared, losses)[losses >= drawn.floor])


@pytest.mark.parametrize("arm", range(3))
@pytest.mark.parametrize("floor", [-np.inf, 0.6, 0.95])
def test_quantiles_mean_and_deviation_are_those_of_samples(arm: int, floor: float) -> None:
    losses = sampled(histogram(floor), arm)
    drawn = histogram(floor).possible()
    found = drawn.quantiles(ASKED)[:, arm]
    np.testing.assert_allclose(found, np.quantile(losses, ASKED), atol=5e-3)
    # bins stand for their middle; the last one, alone in the third arm, is the widest
    assert drawn.mean()[arm] == pytest.approx(losses.mean(), abs=0.03)
    if arm < 2:
        assert drawn.deviation()[arm] == pytest.approx(losses.std(), rel=0.05)


def test_an_arm_at_the_floor_or_with_no_chance_above_it_gains_nothing() -> None:
    drawn = replace(histogram(2.0), now=np.array([2.0, 2.5, 2.0])).possible()
    np.testing.assert_array_equal(drawn.quantiles(ASKED)[:, [0, 2]], 2.0)
    np.testing.assert_allclose(drawn.chances.sum(axis=1), 1.0)
    assert np.all(np.isfinite(drawn.mean()))


def test_the_deviation_is_that_of_the_middles_of_bins() -> None:
    drawn = histogram()
    edges = np.array([*EDGES, 2 * EDGES[-1]])
    middle = np.concatenate([[0.0], np.sqrt(edges[:-1] * edges[1:])])
    ends = drawn.now[:, None] - 0.5 * middle
    mean = (drawn.chances * ends).sum(axis=1)
    np.testing.assert_allclose(drawn.mean(), mean)
    variance = (drawn.chances * (ends - mean[:, None]) ** 2).sum(axis=1)
    np.testing.assert_allclose(drawn.deviation(), np.sqrt(variance), atol=1e-12)


def test_quantiles_rise_and_stay_below_the_loss_so_far() -> None:
    drawn = histogram()
    found = drawn.quantiles(np.linspace(0, 1, 101).tolist())
    assert np.all(np.diff(found, axis=0) >= 0)
    assert np.all(found <= drawn.now)
    np.testing.assert_allclose(found[0], drawn.now - 0.5 * 2 * EDGES[-1])  # the most there is
    np.testing.assert_array_equal(found[-1, :2], drawn.now[:2])  # none at all
    assert np.all(drawn.quantiles([0.25])[0, 1] == drawn.now[1])


@pytest.mark.parametrize("seed", range(4))
def test_ends_of_a_study_are_ordered_and_below_what_was_reached(seed: int) -> None:
    view = study(seed)
    found = ends_of(view)
    assert found.shape == (5, view.arms)
    assert np.all(np.diff(found, axis=0) >= 0)
    reached = np.full(view.arms, UNTRAINED)
    reached[view.curves.visited] = np.minimum(view.curves.best_by_row, UNTRAINED)
    assert np.all(found <= reached + 1e-12)
    assert np.all(found >= 0)  # no loss was negative


@pytest.mark.parametrize("seed", range(4))
def test_ends_scale_and_shift_with_losses(seed: int) -> None:
    view = study(seed)
    losses = view.curves.losses - 50  # below zero, so there is no floor
    low = with_losses(view, losses, untrained=UNTRAINED - 50)
    scaled = with_losses(view, 8 * losses, untrained=8 * (UNTRAINED - 50))
    ends, larger = ends_of(low), ends_of(scaled)
    np.testing.assert_allclose(larger, 8 * ends, rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_with_a_floor_ends_are_those_above_it(seed: int) -> None:
    view = study(seed)
    low = with_losses(view, view.curves.losses - 50, untrained=UNTRAINED - 50)
    free = PREDICTOR.predict(low).draws(np.arange(view.arms), 20_000, np.random.default_rng(0)) + 50
    found = ends_of(view)
    for arm, ends in enumerate(free.T):
        possible = ends[ends > 0]  # no loss was negative
        if len(possible) > 1_000:
            expected = np.quantile(possible, ASKED[2:])  # lower ones lie in the bin at the floor
            np.testing.assert_allclose(found[2:, arm], expected, atol=0.06)


def test_an_arm_whose_first_epoch_explodes_is_not_expected_at_the_floor() -> None:
    arms = [[2.2, 0.5, 0.2, 0.1, 0.08], [2.1, 0.4, 0.3], [16.3, 16.3], [2.0], [2.25], [1.9]]
    view = replace(study(0), curves=Curves.of([*arms, [], [], []], 40), untrained=None)
    low, median = PREDICTOR.predict(view).quantiles([0.05, 0.5])[:, 2]
    assert median > view.curves.best
    assert low > 0


def test_no_share_is_predicted_above_one() -> None:
    view = study(1)
    shares = -0.9 * np.exp(-view.curves.losses)  # accuracies up to .9, as losses
    found = ends_of(with_losses(view, shares, untrained=-0.1))
    assert found.min() > -1.0


def test_arms_in_flight_are_predicted_like_others() -> None:
    view = study(2)
    flying = replace(view, pending=np.array([*view.curves.visited[:2], 8]))
    np.testing.assert_array_equal(ends_of(flying), ends_of(view))
    assert at_rest(view) is view
    assert not len(at_rest(flying).pending)


def test_names_are_not_asked() -> None:
    view = named(2, columns=0)
    np.testing.assert_array_equal(ends_of(view), ends_of(replace(view, tokens=None)))


def test_arms_that_cannot_go_on_end_as_they_are() -> None:
    curves = Curves.of([[1.0, 0.5, 0.7], [0.9, 0.8], [0.7], []], 3)
    costs = np.array([1.0, 1.0, 9.0, 9.0])
    view = View(curves, 1, 2.0, costs, np.zeros((4, 1)), untrained=2.0)
    found = ends_of(view)
    np.testing.assert_allclose(found[:, [0, 2]], np.tile([0.5, 0.7], (5, 1)))
    assert found[0, 1] < 0.8  # this one can
    assert np.isnan(found[:, 3]).all()  # not looked at


def test_nothing_is_predicted_before_anything_has_improved() -> None:
    nothing = study(0, reports=0)
    assert np.isnan(ends_of(nothing)).all()
    assert np.isnan(ends_of(replace(nothing, left=0.0))).all()
    assert np.isnan(ends_of(replace(nothing, pending=np.arange(9)))).all()
    view = study(0)
    useless = with_losses(view, np.full_like(view.curves.losses, np.nan))
    assert np.isnan(ends_of(useless)).all()


def test_several_workers_are_predicted_for_like_one_with_their_horizons() -> None:
    """It was trained with one worker: how many there are must not be what moves it."""
    view = study(3)
    beside = replace(view, left=4 * view.left, split=4)
    np.testing.assert_array_equal(view.horizon, beside.horizon)
    np.testing.assert_allclose(ends_of(view), ends_of(beside))
    flying = replace(beside, pending=view.curves.visited[:2])
    np.testing.assert_allclose(ends_of(view), ends_of(flying))


def test_the_last_units_of_several_workers_have_a_horizon() -> None:
    """Each can still run a unit of its own, though a fourth of what is left does not pay for it."""
    view = replace(study(3), left=2.0, split=4)
    np.testing.assert_array_equal(at_rest(view).horizon, view.horizon)
    assert view.horizon.max() == 1


def test_chances_are_chances() -> None:
    view = study(1)
    drawn = PREDICTOR.predict(view).histogram
    np.testing.assert_allclose(drawn.chances.sum(axis=1), 1, rtol=1e-5)
    assert drawn.chances.min() >= 0
    assert drawn.scale == pytest.approx(UNTRAINED - view.curves.best)


@pytest.mark.parametrize("name", PACKAGED)
def test_nine_ends_of_ten_are_covered(name: str) -> None:
    """It was trained on these tables, too: this is to see that weights and features fit."""
    scores = [score(packaged(name), PREDICTOR, seed, 0.1) for seed in range(4)]
    assert 0.8 <= np.mean([s.coverage for s in scores]) <= 1
    assert np.mean([s.error for s in scores]) < 0.5 * np.mean([s.last_value for s in scores])


@given(arrays(np.float64, st.integers(0, 20), elements=st.floats(-40, 40)))
def test_normal_chances_are_those_of_scipy(values: FloatArray) -> None:
    np.testing.assert_allclose(normal_chance(values), ndtr(values), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("seed", range(3))
def test_a_quantile_of_one_arm_is_that_of_all(seed: int) -> None:
    view = study(seed, arms=30)
    every = PREDICTOR.predict(view).quantiles([0.01, 0.5])
    for row, probability in enumerate((0.01, 0.5)):
        alone = [PREDICTOR.predict(view).quantile_of(arm, probability) for arm in range(30)]
        np.testing.assert_allclose(alone, every[row], rtol=1e-3)  # of 32 bits
    assert np.isfinite(every).all()


def test_a_quantile_of_an_arm_that_is_not_looked_at_is_not_known() -> None:
    curves = Curves.of([[1.0, 0.5, 0.7], [0.9, 0.8], [0.7], []], 3)
    costs = np.array([1.0, 1.0, 9.0, 9.0])
    view = View(curves, 1, 2.0, costs, np.zeros((4, 1)), untrained=2.0)
    ends = PREDICTOR.predict(view)
    assert ends.quantile_of(0, 0.01) == pytest.approx(0.5)  # finished
    assert np.isnan(ends.quantile_of(3, 0.01))
    assert np.isnan(PREDICTOR.predict(study(0, reports=0)).quantile_of(1, 0.01))


@pytest.mark.parametrize("floor", [-np.inf, 0.9])
def test_one_quantile_is_that_of_arrays(floor: float) -> None:
    drawn = histogram(floor)
    for probability in (0.0, 0.01, 0.3, 0.5, 0.99, 1.0):
        found = [drawn.quantile(place, probability) for place in range(3)]
        np.testing.assert_allclose(found, drawn.quantiles([probability])[0], rtol=1e-9)
