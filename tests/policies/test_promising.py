"""The second opinion: expected improvement on predicted ends."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.learned.ends import (
    Histogram,
    HistogramEnds,
    Layers,
    LearnedPredictor,
    PredictorInputs,
)
from bhpt.beliefs.learned.network import EDGES
from bhpt.beliefs.learned.weights import shipped
from bhpt.domain import Curves, FloatArray, IntArray, View
from bhpt.policies.promising import Promising

BINS = len(EDGES) + 1


@dataclass(frozen=True)
class Predicts(LearnedPredictor):
    """A predictor whose histogram is given."""

    drawn: Histogram

    def __init__(self, drawn: Histogram) -> None:
        super().__init__(shipped("ends"))
        object.__setattr__(self, "drawn", drawn)

    def predict(self, view: View) -> HistogramEnds:
        found = super().predict(view)
        inputs = replace(found.inputs, rows=self.drawn.arms)
        return replace(found, inputs=inputs)

    def layers(self, inputs: PredictorInputs, horizon: IntArray) -> Layers:  # noqa: ARG002
        return Layers(horizon, np.zeros((len(horizon), 1)), np.zeros(1))

    def read_off(
        self,
        inputs: PredictorInputs,  # noqa: ARG002
        layers: Layers | None,  # noqa: ARG002
        places: slice,  # noqa: ARG002
    ) -> Histogram:
        return self.drawn


def view_of(arms: int, reports: int = 1, left: float = 30.0, seed: int = 0) -> View:
    curves = Curves.empty(arms, 20)
    for _ in range(reports):
        curves = curves.extend(0, np.array([0.5]))
    ones = np.ones(arms)
    return View(curves, 1, left, ones, np.zeros((arms, 1)), untrained=1.0, seed=seed)


def drawn_of(chances: FloatArray, now: FloatArray, arms: IntArray | None = None) -> Histogram:
    return Histogram(np.arange(len(now)) if arms is None else arms, chances, now, 0.5)


def sure(*bins: int) -> FloatArray:
    """Chances of arms that are sure to end in these bins."""
    return np.eye(BINS)[list(bins)]


def gamble(*bins: int) -> FloatArray:
    """Chances of arms that end in these bins or stay where they are."""
    return (sure(*bins) + sure(0)) / 2


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_value_is_the_expected_lower_end(seed: int, arms: int) -> None:
    """Against drawing ends."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.full(BINS, 0.3), size=arms)
    drawn = drawn_of(chances, rng.uniform(0.5, 1.0, arms))
    best = drawn.mean().min()
    for arm in range(arms):
        alone = [drawn_of(sure(b), drawn.now[[arm]]).mean()[0] for b in range(BINS)]
        ends = rng.choice(alone, size=20_000, p=chances[arm])
        error = 5 * ends.std() / np.sqrt(len(ends)) + 1e-9
        assert drawn.mean_at_most(best)[arm] == pytest.approx(
            np.minimum(ends, best).mean(), abs=error
        )


def test_a_chance_to_beat_the_best_counts_and_a_sure_second_does_not() -> None:
    """Arm 0 is the best so far, 1 surely ends second, 2 is worse on average but may be first."""
    drawn = drawn_of(np.vstack([sure(1, 1), gamble(BINS - 3)]), np.array([0.50, 0.51, 0.90]))
    assert drawn.mean()[2] > drawn.mean()[1]
    decision = Promising(Predicts(drawn)).decide(view_of(3))
    assert decision is not None
    assert decision.arm == 2
    told = decision.explanation
    assert told.why == "promises most"
    assert told.value.argmin() == 2
    np.testing.assert_allclose(told.end, drawn.mean())


def test_arms_that_cannot_run_are_not_chosen() -> None:
    drawn = drawn_of(gamble(5, BINS - 7, BINS - 6), np.array([0.5, 0.6, 0.6]))
    view = replace(view_of(3), pending=np.array([2]))
    decision = Promising(Predicts(drawn)).decide(view)
    assert decision is not None
    assert decision.arm == 1
    assert decision.explanation.value[2] == np.inf


def test_nothing_is_said_where_nothing_is_promised() -> None:
    ends_as_it_is = drawn_of(sure(0, 0), np.array([0.5, 0.6]))
    assert Promising(Predicts(ends_as_it_is)).decide(view_of(2)) is None
    learned = Promising(LearnedPredictor(shipped("ends")))
    assert learned.decide(view_of(2, reports=0)) is None
    assert learned.decide(view_of(2, left=0.5)) is None
    worse = view_of(2, reports=0)
    worse = replace(worse, curves=worse.curves.extend(0, np.array([1.5])))
    assert learned.decide(worse) is None  # nothing has improved on the untrained loss


def test_arms_that_promise_the_same_are_chosen_by_chance() -> None:
    drawn = drawn_of(gamble(5, 9, 9, 9), np.array([0.5, 0.5, 0.5, 0.5]))
    policy = Promising(Predicts(drawn))
    chosen = {d.arm for s in range(30) if (d := policy.decide(view_of(4, seed=s))) is not None}
    assert chosen == {1, 2, 3}
    first = [policy.decide(view_of(4, seed=3)) for _ in range(2)]
    assert first[0] is not None
    assert first[1] is not None
    assert first[0].arm == first[1].arm


def test_arms_that_were_not_looked_at_have_no_value() -> None:
    drawn = drawn_of(gamble(3, 9), np.array([0.5, 0.6]), arms=np.array([0, 4]))
    decision = Promising(Predicts(drawn)).decide(view_of(6))
    assert decision is not None
    assert decision.arm in (0, 4)
    assert np.isnan(decision.explanation.value[[1, 2, 3, 5]]).all()
