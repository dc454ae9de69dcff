"""What every predictor promises: marginals, draws and paths of the same ends."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.learned.ends import LearnedPredictor, horizons
from bhpt.beliefs.learned.weights import shipped
from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.beliefs.shape_belief import ShapeBelief
from bhpt.domain import FloatArray, View
from bhpt.policies.registry import our_belief, paper_belief, wary_belief
from tests.beliefs.learned.cases import UNTRAINED, study, with_losses

PREDICTORS: dict[str, Predictor] = {
    "learned": LearnedPredictor(shipped("ends")),
    "ours": our_belief(),
    "wary": wary_belief(),
    "paper": paper_belief(),
    "shapes": ShapeBelief(),
}
ASKED = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 4000


@pytest.fixture(params=PREDICTORS, scope="module")
def predicted(request: pytest.FixtureRequest) -> tuple[View, Ends]:
    view = study(2, reports=14)
    return view, PREDICTORS[request.param].predict(view)


def reached(view: View) -> FloatArray:
    """The lowest loss of each arm so far, infinity where there is none, [K]."""
    return view.curves.best_by_arm


def test_marginals_are_ordered_and_possible(predicted: tuple[View, Ends]) -> None:
    view, ends = predicted
    found = ends.quantiles(ASKED)
    assert found.shape == (5, view.arms)
    assert np.all(np.diff(found, axis=0) >= 0)
    for losses in (found, ends.mean()):
        assert np.all(losses >= 0)  # no loss was negative
        assert np.all(losses <= reached(view) + 1e-9)
    assert np.all(ends.deviation() >= 0)


def test_a_bound_lowers_the_mean(predicted: tuple[View, Ends]) -> None:
    _, ends = predicted
    mean = ends.mean()
    np.testing.assert_allclose(ends.mean_at_most(1e9), mean)
    bound = float(np.median(mean))
    assert np.all(ends.mean_at_most(bound) <= np.minimum(mean, bound) + 1e-12)
    np.testing.assert_allclose(ends.mean_at_most(-1.0), -1.0, rtol=1e-6)


def test_draws_have_the_predicted_quantiles(predicted: tuple[View, Ends]) -> None:
    """The Gaussian process reads its marginals at one epoch, its draws at the lowest."""
    view, ends = predicted
    arms = np.arange(view.arms)
    drawn = ends.draws(arms, DRAWS, np.random.default_rng(0))
    assert drawn.shape == (DRAWS, view.arms)
    spread = np.maximum(ends.deviation(), 0.01)
    gaps = (np.quantile(drawn, ASKED, axis=0) - ends.quantiles(ASKED)) / spread
    assert np.all(gaps < 0.25)  # never higher than noise allows
    assert np.all(gaps > -1.2)
    if isinstance(ends, type(PREDICTORS["learned"].predict(view))):
        assert np.all(np.abs(gaps) < 0.25)


def test_paths_fall_from_what_was_reached(predicted: tuple[View, Ends]) -> None:
    view, ends = predicted
    arms = np.array([*view.curves.visited[:3], np.flatnonzero(view.curves.count_by_arm == 0)[0]])
    paths = ends.paths(arms, 200, np.random.default_rng(1))
    assert paths.shape == (200, len(arms), view.curves.epochs + 1)
    for column, arm in enumerate(arms):
        count = int(view.curves.count_by_arm[arm])
        if count:
            np.testing.assert_allclose(paths[:, column, : count + 1], reached(view)[arm])
    later = paths[:, :3]
    assert np.all(np.diff(later, axis=2) <= 1e-12)
    assert np.all(later >= 0)
    assert np.all(np.diff(paths[:, 3, 1:], axis=1) <= 1e-12)


def test_the_same_numbers_give_the_same_draws(predicted: tuple[View, Ends]) -> None:
    view, ends = predicted
    arms = view.curves.visited
    one, two = (ends.paths(arms, 5, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_a_longer_horizon_is_no_worse(predicted: tuple[View, Ends]) -> None:
    view, ends = predicted
    np.testing.assert_allclose(ends.within(view.horizon).mean(), ends.mean())
    none = ends.within(np.zeros_like(view.horizon))
    tried = view.curves.visited
    np.testing.assert_allclose(
        none.mean()[tried], np.minimum(reached(view), UNTRAINED)[tried], atol=1e-9
    )
    np.testing.assert_allclose(none.deviation()[tried], 0, atol=1e-9)
    one = ends.within(np.minimum(view.remaining, 1)).mean()
    assert np.mean(ends.within(view.remaining).mean()[tried]) <= np.mean(one[tried]) + 1e-9


@pytest.mark.parametrize("name", PREDICTORS)
def test_losses_that_were_negative_have_no_floor(name: str) -> None:
    view = study(2, reports=14)
    low = with_losses(view, view.curves.losses - 3, untrained=UNTRAINED - 3)
    found = PREDICTORS[name].predict(low).quantiles([0.05])[0]
    assert np.nanmin(found) < view.curves.best - 3


def test_what_the_learned_predictor_does_not_look_at_is_unknown() -> None:
    view = replace(study(2, reports=14), left=0.5)
    ends = PREDICTORS["learned"].predict(view)
    fresh = np.flatnonzero(view.curves.count_by_arm == 0)
    assert len(fresh)
    rng = np.random.default_rng(0)
    for found in (ends.mean(), ends.deviation(), *ends.quantiles(ASKED)):
        assert np.isnan(found[fresh]).all()
        assert np.isfinite(found[view.curves.visited]).all()
    assert np.isnan(ends.draws(fresh, 3, rng)).all()
    assert np.isnan(ends.paths(fresh, 3, rng)).all()


def test_nothing_is_known_before_anything_has_improved() -> None:
    view = study(0, reports=0)
    ends = PREDICTORS["learned"].predict(view)
    arms = np.arange(view.arms)
    assert np.isnan(ends.mean()).all()
    assert np.isnan(ends.draws(arms, 3, np.random.default_rng(0))).all()
    assert np.isnan(ends.paths(arms, 3, np.random.default_rng(0))).all()


def test_errors_of_learned_ends_go_together() -> None:
    """A Gaussian copula with a correlation of 0.17: the ranks of two arms' draws show it."""
    view = study(2, reports=14)
    ends = PREDICTORS["learned"].predict(view)
    drawn = ends.draws(view.curves.visited[:2], 40_000, np.random.default_rng(0))
    ranks = drawn.argsort(axis=0, kind="stable").argsort(axis=0)
    found = float(np.asarray(np.corrcoef(ranks.T))[0, 1])
    assert 0.08 < found < 0.2  # atoms at "no improvement" take some of it


@pytest.mark.parametrize("full", [1, 2, 3, 8, 100, 256])
def test_paths_are_predicted_at_powers_of_two(full: int) -> None:
    ladder = horizons(full)
    assert ladder[0] == 0
    assert ladder[-1] == full
    assert np.all(np.diff(ladder) > 0)
    assert len(ladder) <= np.log2(full) + 3
