"""No unit goes to an arm without a chance while another arm has one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.domain import Curves, FloatArray, IntArray, View
from bhpt.policies.interface import Decision, Explanation, PredictingPolicy
from bhpt.policies.registry import make_policy
from bhpt.policies.sensible import NEGLIGIBLE, SensiblePolicy, hopeful_arms


@dataclass(frozen=True, eq=False)
class Known:
    """Ends whose lowest likely value is given; nothing else of them is asked for."""

    low: FloatArray

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        assert list(probabilities) == [NEGLIGIBLE]
        return self.low[None]

    def mean(self) -> FloatArray:
        raise NotImplementedError

    def deviation(self) -> FloatArray:
        raise NotImplementedError

    def mean_at_most(self, loss: float) -> FloatArray:
        raise NotImplementedError

    def draws(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def paths(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def within(self, horizon: IntArray) -> Ends:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Says:
    """Predicts the same at every view."""

    ends: Known

    def predict(self, view: View) -> Ends:
        assert view.arms == len(self.ends.low)
        return self.ends


class Lowest:
    """Runs the first arm that can be run."""

    def decide(self, view: View) -> Decision | None:
        arms = np.flatnonzero(view.choosable)
        return (
            Decision(int(arms[0]), Explanation.in_words("first", view.arms)) if len(arms) else None
        )


def view_of(losses: list[list[float]], left: float = 5.0) -> View:
    curves = Curves.of(losses, 10)
    return View(curves, 1, left, np.ones(len(losses)), np.zeros((len(losses), 1)), untrained=1.0)


def guard(low: list[float]) -> SensiblePolicy:
    return SensiblePolicy(Lowest(), Says(Known(np.array(low))))


def chosen(policy: SensiblePolicy, view: View) -> int:
    decision = policy.decide(view)
    assert decision is not None
    return decision.arm


def test_a_hopeless_arm_is_passed_over_for_one_with_a_chance() -> None:
    view = view_of([[0.9], [0.5], [0.6]])
    assert chosen(guard([0.8, 0.5, 0.4]), view) == 2  # the best arm itself cannot improve either
    assert chosen(guard([0.4, 0.4, 0.4]), view) == 0


def test_where_nobody_has_a_chance_the_policy_decides() -> None:
    assert chosen(guard([0.9, 0.9, 0.9]), view_of([[0.9], [0.5], [0.6]])) == 0


def test_an_untried_arm_about_which_nothing_is_predicted_may_be_run() -> None:
    assert chosen(guard([0.9, 0.9, np.nan]), view_of([[0.9], [0.5], []])) == 2
    nothing = [np.nan, np.nan, np.nan]
    assert chosen(guard(nothing), view_of([[0.9], [0.5], [0.6]])) == 0


def test_an_untried_arm_that_is_not_looked_at_is_as_hopeful_as_those_that_are() -> None:
    """Of many untried arms, the predictor looks at some: the others are no way out."""
    view = view_of([[0.9], [0.5], [], []])
    assert chosen(guard([0.9, 0.9, 0.8, np.nan]), view) == 0
    assert chosen(guard([0.9, 0.9, 0.4, np.nan]), view) == 2
    only_unknown = replace(view, startable=np.array([True, True, False, True]))
    assert chosen(guard([0.9, 0.9, 0.8, np.nan]), only_unknown) == 3


def test_a_tried_arm_that_is_not_looked_at_is_no_better_than_those_that_are() -> None:
    """Of many arms, the predictor looks at the best: the others are no way out."""
    assert chosen(guard([0.9, np.nan, 0.9]), view_of([[0.9], [0.5], [0.6]])) == 0
    assert chosen(guard([0.9, np.nan, 0.4]), view_of([[0.9], [0.5], [0.6]])) == 2


def test_before_the_first_loss_the_policy_decides() -> None:
    assert chosen(guard([0.0, 0.0]), view_of([[], []])) == 0
    assert chosen(guard([0.0, 0.0]), view_of([[np.nan], []])) == 0


def random_view(seed: int) -> View:
    """Some moment of some study: unequal prices, units in flight, several workers.

    Up to thousands of units are left, shared by the workers as a total or as a clock. Every tenth
    study has more arms than networks look at.
    """
    rng = np.random.default_rng(seed)
    many = seed % 10 == 9
    arms, epochs = int(rng.integers(300, 600) if many else rng.integers(3, 30)), 3 + seed % 27
    ends = rng.uniform(0.1, 1.0, arms)
    losses = []
    for end in ends:
        n = int(rng.integers(0, epochs + 1)) * int(rng.random() < 0.7)
        fallen = np.exp(-np.arange(1, n + 1) / rng.uniform(1, 6))
        losses.append((end + (1 - end) * fallen + 0.01 * rng.standard_normal(n)).tolist())
    curves = Curves.of(losses, epochs)
    open_arms = np.flatnonzero(curves.count_by_arm < epochs)
    flying = rng.permutation(open_arms)[: int(rng.integers(0, 3))]
    workers, by_clock = int(rng.integers(1, 5)), bool(rng.integers(2))
    return View(
        curves,
        1,
        float(np.exp(rng.uniform(0, np.log(5000)))),
        rng.uniform(0.3, 3.0, arms),
        rng.random((arms, 2)),
        untrained=1.0,
        pending=np.sort(flying),
        seed=seed,
        lanes=workers if by_clock else 1,
        split=1 if by_clock else workers,
    )


@pytest.mark.parametrize("seed", range(40))
def test_the_default_runs_no_hopeless_arm_while_there_are_others(seed: int) -> None:
    view = random_view(seed)
    policy = make_policy("default")
    assert isinstance(policy, PredictingPolicy)
    predictor: Predictor = policy.predictor
    decision = policy.decide(view)
    if decision is None:
        assert not view.choosable.any()
        return
    assert view.choosable[decision.arm]
    if np.isfinite(view.curves.best):
        hopeful = hopeful_arms(view, predictor.predict(view))
        assert hopeful[decision.arm] or not hopeful.any()


@dataclass(frozen=True, eq=False)
class Told(Known):
    """Also says where arms end."""

    def mean(self) -> FloatArray:
        return self.low + 1.0

    def deviation(self) -> FloatArray:
        return np.ones(len(self.low))


class ByEnds:
    """Runs the first arm that can be run, and explains it with predictions of its own."""

    def decide(self, view: View) -> Decision | None:
        arm = int(np.flatnonzero(view.choosable)[0])
        own = Told(np.full(view.arms, 7.0))
        value = np.arange(view.arms, dtype=float)
        return Decision(arm, Explanation.of_ends(lambda: own, value, "it is first"))


def test_a_second_choice_is_explained_by_what_is_predicted_of_all_arms() -> None:
    view = View(Curves.of([[1.0], [2.0], [3.0]], 9), 1, 20.0, np.ones(3), np.eye(3))
    ends = Told(np.array([5.0, 0.5, 0.6]))
    decision = SensiblePolicy(ByEnds(), Says(ends)).decide(view)
    assert decision is not None
    assert decision.arm == 1
    assert decision.explanation.why.startswith("it is first, as those preferred to it")
    assert decision.explanation.end.tolist() == [6.0, 1.5, 1.6]
    assert decision.explanation.spread.tolist() == [1.0, 1.0, 1.0]
    assert decision.explanation.value.tolist() == [0.0, 1.0, 2.0]
