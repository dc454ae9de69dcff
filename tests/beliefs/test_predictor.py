"""The contract over every predictor, and what is particular to the learned one."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.weights import shipped
from bhpt.beliefs.predictor import Ends, doubling_horizons
from bhpt.beliefs.shapes.belief import ShapeBelief
from bhpt.beliefs.shapes.or_one_decay import ShapesOrOneDecay
from bhpt.domain import View
from bhpt.policies.registry import our_belief, paper_belief, wary_belief
from bhpt.testing import PredictorContract
from bhpt.testing.predictors import MakePredictor
from tests.beliefs.learned.cases import study

MAKERS: dict[str, MakePredictor] = {
    "learned": lambda: LearnedPredictor(shipped("ends")),
    "ours": our_belief,
    "wary": wary_belief,
    "paper": paper_belief,
    "shapes": ShapeBelief,
    "shapes or one decay": ShapesOrOneDecay,
}
LEARNED = LearnedPredictor(shipped("ends"))
ASKED = (0.05, 0.25, 0.5, 0.75, 0.95)
DRAWS = 4000


class TestPredictors(PredictorContract):
    @pytest.fixture(params=MAKERS)
    def make_predictor(self, request: pytest.FixtureRequest) -> MakePredictor:
        return MAKERS[request.param]

    def test_untried_arms_are_predicted_too(self, view: View, ends: Ends) -> None:
        """Within what is possible, and with paths that fall from their first unit on."""
        fresh = np.flatnonzero(view.curves.count_by_arm == 0)
        found = ends.quantiles(ASKED)[:, fresh]
        assert np.all(np.diff(found, axis=0) >= 0)
        assert np.all(found >= 0)
        paths = ends.paths(fresh, 200, np.random.default_rng(1))
        assert np.all(np.diff(paths[:, :, 1:], axis=2) <= 1e-12)


def test_draws_of_the_learned_predictor_have_its_quantiles() -> None:
    """Those of the Gaussian process may be lower: it reads its marginals at one epoch."""
    view = study(2, reports=14)
    ends = LEARNED.predict(view)
    drawn = ends.draws(np.arange(view.arms), DRAWS, np.random.default_rng(0))
    spread = np.maximum(ends.deviation(), 0.01)
    gaps = (np.quantile(drawn, ASKED, axis=0) - ends.quantiles(ASKED)) / spread
    assert np.all(np.abs(gaps) < 0.25)


def test_what_the_learned_predictor_does_not_look_at_is_unknown() -> None:
    view = replace(study(2, reports=14), left=0.5)
    ends = LEARNED.predict(view)
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
    ends = LEARNED.predict(view)
    arms = np.arange(view.arms)
    assert np.isnan(ends.mean()).all()
    assert np.isnan(ends.draws(arms, 3, np.random.default_rng(0))).all()
    assert np.isnan(ends.paths(arms, 3, np.random.default_rng(0))).all()


def test_errors_of_learned_ends_go_together() -> None:
    """A Gaussian copula with a correlation of 0.17: the ranks of two arms' draws show it."""
    view = study(2, reports=14)
    ends = LEARNED.predict(view)
    drawn = ends.draws(view.curves.visited[:2], 40_000, np.random.default_rng(0))
    ranks = drawn.argsort(axis=0, kind="stable").argsort(axis=0)
    found = float(np.asarray(np.corrcoef(ranks.T))[0, 1])
    assert 0.08 < found < 0.2  # atoms at "no improvement" take some of it


@pytest.mark.parametrize("full", [1, 2, 3, 8, 100, 256])
def test_paths_are_predicted_at_powers_of_two(full: int) -> None:
    ladder = doubling_horizons(full)
    assert ladder[0] == 0
    assert ladder[-1] == full
    assert np.all(np.diff(ladder) > 0)
    assert len(ladder) <= np.log2(full) + 3
