"""What every predictor promises: marginals, draws and paths of the same ends, by the view alone."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.domain import Curves, FloatArray, IntArray, Memory, View

MakePredictor = Callable[[], Predictor]

UNTRAINED = 2.0
"""The loss of an untrained model in the studies of this suite."""

_ARMS, _EPOCHS, _REPORTS, _COLUMNS = 9, 12, 14, 3
_PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)
_DRAWS = 4000
_HIGHEST, _LOWEST = 0.25, -1.2  # gaps of drawn quantiles in deviations; draws may find lower epochs


def made_up_study(seed: int) -> View:
    """A study on its way, on noisy falling curves: half of its units went to three arms."""
    rng = np.random.default_rng(seed)
    end = rng.uniform(0.1, 1.9, size=(_ARMS, 1))
    speed = rng.uniform(0.5, 6.0, size=(_ARMS, 1))
    fall = np.exp(-np.arange(1, _EPOCHS + 1) / speed)
    table = end + (2.1 - end) * fall + 0.05 * rng.standard_normal((_ARMS, _EPOCHS))
    curves = Curves.empty(_ARMS, _EPOCHS)
    for _ in range(_REPORTS):
        arm = int(rng.integers(_ARMS if rng.random() < 0.5 else 3))
        at = int(curves.count_by_arm[arm])
        if at < _EPOCHS:
            curves = curves.extend(arm, table[arm, at : at + 1])
    return View(
        curves=curves,
        unit=1,
        left=17.0,
        costs=np.ones(_ARMS),
        features=rng.uniform(size=(_ARMS, _COLUMNS)),
        untrained=UNTRAINED,
        seed=seed,
    )


class PredictorContract:
    """Tests of a `Predictor`. Override the fixture `make_predictor`.

    A prediction may take seconds, so tests share one: return the same function each time.
    """

    @pytest.fixture
    def make_predictor(self) -> MakePredictor:
        """Makes a new predictor: the class, if its `__init__` needs no arguments."""
        raise NotImplementedError("override the fixture `make_predictor`")

    @pytest.fixture
    def view(self) -> View:
        """The study that is predicted."""
        return _study()

    @pytest.fixture
    def ends(self, make_predictor: MakePredictor) -> Ends:
        """What the predictor predicts for it."""
        return _predicted(make_predictor)

    def test_trained_arms_have_ordered_and_possible_marginals(self, view: View, ends: Ends) -> None:
        """Between zero, as no loss was negative, and what each arm has reached."""
        tried = view.curves.visited
        found = ends.quantiles(_PROBABILITIES)
        assert found.shape == (len(_PROBABILITIES), view.arms)
        assert np.all(np.diff(found[:, tried], axis=0) >= 0)
        for losses in (*found, ends.mean()):
            assert np.all(losses[tried] >= 0)
            assert np.all(losses[tried] <= _reached(view)[tried] + 1e-9)
        assert np.all(ends.deviation()[tried] >= 0)

    def test_a_bound_lowers_the_mean(self, view: View, ends: Ends) -> None:
        """`mean_at_most` is the mean for a bound that is never reached, the bound for a low one."""
        tried, mean = view.curves.visited, ends.mean()
        np.testing.assert_allclose(ends.mean_at_most(1e9), mean)
        bound = float(np.median(mean[tried]))
        most = np.minimum(mean, bound)[tried]
        assert np.all(ends.mean_at_most(bound)[tried] <= most + 1e-12)
        np.testing.assert_allclose(ends.mean_at_most(-1.0)[tried], -1.0, rtol=1e-6)

    def test_draws_have_the_predicted_quantiles(self, view: View, ends: Ends) -> None:
        """Draws may be somewhat lower: they can end at an earlier, lower epoch."""
        tried = view.curves.visited
        drawn = ends.draws(tried, _DRAWS, np.random.default_rng(0))
        assert drawn.shape == (_DRAWS, len(tried))
        spread = np.maximum(ends.deviation()[tried], 0.01)
        quantiles = np.quantile(drawn, _PROBABILITIES, axis=0)
        gaps = (quantiles - ends.quantiles(_PROBABILITIES)[:, tried]) / spread
        assert np.all(gaps < _HIGHEST)
        assert np.all(gaps > _LOWEST)

    def test_paths_fall_from_what_was_reached(self, view: View, ends: Ends) -> None:
        """Up to the epochs that an arm has had, a path is what it reached; it never rises."""
        arms = view.curves.visited[:3]
        paths = ends.paths(arms, 200, np.random.default_rng(1))
        assert paths.shape == (200, len(arms), view.curves.epochs + 1)
        for column, arm in enumerate(arms):
            seen = paths[:, column, : int(view.curves.count_by_arm[arm]) + 1]
            np.testing.assert_allclose(seen, _reached(view)[arm])
        assert np.all(np.diff(paths, axis=2) <= 1e-12)
        assert np.all(paths >= 0)

    def test_the_same_numbers_give_the_same_draws(self, view: View, ends: Ends) -> None:
        """All randomness comes from the generator that is given."""
        tried = view.curves.visited
        one, two = (ends.paths(tried, 5, np.random.default_rng(7)) for _ in range(2))
        np.testing.assert_array_equal(one, two)

    def test_the_same_view_gives_the_same_prediction(
        self, make_predictor: MakePredictor, view: View, ends: Ends
    ) -> None:
        """By a new predictor and with an empty memory: what is remembered only saves time."""
        again = make_predictor().predict(replace(view, memory=Memory()))
        np.testing.assert_allclose(again.mean(), ends.mean(), rtol=1e-9)
        np.testing.assert_allclose(again.deviation(), ends.deviation(), rtol=1e-6, atol=1e-9)

    def test_a_longer_horizon_is_no_worse(self, view: View, ends: Ends) -> None:
        """Without a horizon an arm ends where it is, or untrained."""
        tried = view.curves.visited
        np.testing.assert_allclose(ends.within(view.horizon).mean(), ends.mean())
        none = ends.within(np.zeros_like(view.horizon))
        least = np.minimum(_reached(view), UNTRAINED)
        np.testing.assert_allclose(none.mean()[tried], least[tried], atol=1e-9)
        np.testing.assert_allclose(none.deviation()[tried], 0, atol=1e-9)
        assert _mean(ends, view.remaining, tried) <= (
            _mean(ends, np.minimum(view.remaining, 1), tried) + 1e-9
        )

    def test_losses_that_were_negative_have_no_floor(
        self, make_predictor: MakePredictor, view: View
    ) -> None:
        """Where losses can be negative, an arm may end below zero, and below the best so far."""
        lower = replace(view.curves, losses=view.curves.losses - 3)
        low = replace(view, curves=lower, untrained=UNTRAINED - 3)
        found = make_predictor().predict(low).quantiles([0.05])[0]
        assert np.nanmin(found) < view.curves.best - 3


@cache
def _study() -> View:
    return made_up_study(2)


@cache
def _predicted(make_predictor: MakePredictor) -> Ends:
    return make_predictor().predict(_study())


def _reached(view: View) -> FloatArray:
    """The lowest loss of each arm so far, infinity where there is none, [K]."""
    return view.curves.best_by_arm


def _mean(ends: Ends, horizon: IntArray, arms: IntArray) -> float:
    """Mean end of some arms within a horizon in units."""
    return float(np.mean(ends.within(horizon).mean()[arms]))
