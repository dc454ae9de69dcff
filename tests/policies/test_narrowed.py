"""Of very many tried arms a bounded number is shown to a Gaussian process."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from bhpt.beliefs.narrowed import MOST_TRIED, NarrowedPredictor, part_of
from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.domain import Curves, FloatArray, IntArray, View
from bhpt.policies.interface import Decision, Explanation, PredictingPolicy
from bhpt.policies.narrowed import NarrowedPolicy
from bhpt.policies.registry import make_policy
from tests.beliefs.learned.test_looked_at import large


@dataclass(eq=False)
class Lowest(PredictingPolicy):
    """Runs the arm of the lowest loss, and remembers what it was shown."""

    shown: list[View] = field(default_factory=list)

    @property
    def predictor(self) -> Predictor:
        raise NotImplementedError

    def decide(self, view: View) -> Decision | None:
        self.shown.append(view)
        if not view.choosable.any():
            return None
        value = np.where(view.choosable, view.curves.best_by_arm, np.inf)
        return Decision(int(value.argmin()), Explanation("lowest", value, value, value))


def test_a_study_that_has_tried_few_is_shown_as_it_is() -> None:
    view = large(0, arms=600, tried=MOST_TRIED, reports=400)
    inner = Lowest()
    decision = NarrowedPolicy(inner).decide(view)
    assert decision is not None
    assert inner.shown == [view]


@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_an_arm_of_the_whole_study(seed: int) -> None:
    view = large(seed)
    inner = Lowest()
    decision = NarrowedPolicy(inner).decide(view)
    assert decision is not None
    can = np.where(view.choosable, view.curves.best_by_arm, np.inf)
    assert decision.arm == can.argmin()
    assert inner.shown[0].arms < 300 < view.arms
    explanation = decision.explanation
    assert explanation.value.shape == (view.arms,)
    assert explanation.value[decision.arm] == can.min()
    assert np.isnan(explanation.end).any()


def test_the_part_is_the_study_of_these_arms_alone() -> None:
    view = large(2)
    part = part_of(view)
    assert part is not None
    for place, arm in enumerate(part.arms):
        np.testing.assert_array_equal(part.view.curves.of_arm(place), view.curves.of_arm(int(arm)))
    np.testing.assert_array_equal(part.view.horizon, view.horizon[part.arms])
    kept = np.isin(view.curves.visited[view.curves.reports[:, 0]], part.arms)
    assert len(part.view.curves.reports) == np.count_nonzero(kept)
    again = part.view.curves.first(50)
    assert again.counts.sum() == 50


@dataclass(frozen=True, eq=False)
class Numbered:
    """Ends that are the numbers of the arms."""

    arms: int

    def mean(self) -> FloatArray:
        return np.arange(float(self.arms))

    def deviation(self) -> FloatArray:
        return self.mean()

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        return np.stack([self.mean() for _ in probabilities])

    def mean_at_most(self, loss: float) -> FloatArray:
        return np.minimum(self.mean(), loss)

    def draws(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        return arms + rng.uniform(0, 0.1, (size, 1))

    def paths(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        return np.tile(self.draws(arms, size, rng)[:, :, None], 17)

    def within(self, horizon: IntArray) -> Ends:
        assert len(horizon) == self.arms
        return self


class Numbers:
    def predict(self, view: View) -> Ends:
        return Numbered(view.arms)


def test_predictions_are_of_the_arms_looked_at() -> None:
    view = large(1)
    part = part_of(view)
    assert part is not None
    ends = NarrowedPredictor(Numbers()).predict(view)
    looked = part.arms
    np.testing.assert_array_equal(ends.mean()[looked], np.arange(len(looked)))
    assert np.isnan(ends.mean()).sum() == view.arms - len(looked)
    assert ends.quantiles([0.1, 0.9]).shape == (2, view.arms)
    other = int(np.setdiff1d(np.arange(view.arms), looked)[0])
    asked = np.array([looked[7], other, looked[3]])
    drawn = ends.draws(asked, 4, np.random.default_rng(0))
    assert np.floor(drawn[0]).tolist()[::2] == [7.0, 3.0]
    assert np.isnan(drawn[:, 1]).all()
    assert ends.paths(asked, 2, np.random.default_rng(0)).shape == (2, 3, 17)
    np.testing.assert_array_equal(
        ends.within(np.ones(view.arms, np.int64)).mean()[looked], np.arange(len(looked))
    )


def test_curves_of_some_arms() -> None:
    curves = Curves.of([[1.0, 0.5], [], [0.7], [0.9, 0.8, 0.6]], 4).extend(2, np.array([0.4]))
    some = curves.only(np.array([3, 1, 2]))
    assert some.arms == 3
    assert [some.of_arm(arm).tolist() for arm in range(3)] == [[0.9, 0.8, 0.6], [], [0.7, 0.4]]
    assert some.reports.tolist() == [[0, 1], [1, 3], [0, 1]]
    assert some.visited.tolist() == [2, 0]


def test_a_gaussian_process_decides_in_a_large_study() -> None:
    view = large(4, arms=500, tried=260, reports=500)
    decision = make_policy("bhpt").decide(view)
    assert decision is not None
    assert view.choosable[decision.arm]
    assert decision.explanation.end.shape == (view.arms,)
