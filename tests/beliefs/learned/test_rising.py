"""Curves that rise after their record: the score by definition, and what follows from it."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.rising import (
    LOG_ODDS,
    kendall_score,
    less_likely,
    rises,
    since_record,
)
from bhpt.beliefs.learned.weights import shipped
from bhpt.domain import Curves, Memory, View

ARMS, EPOCHS = 4, 9
LOSS = st.sampled_from([0.0, 0.5, 0.9, 1.0, 1.5, np.nan, np.inf, -np.inf])


def view_of(curves: Curves, memory: Memory) -> View:
    """A study with these curves."""
    features = np.linspace(0.0, 1.0, curves.arms)[:, None]
    costs = np.ones(curves.arms)
    return View(
        curves=curves,
        unit=1,
        left=20.0,
        costs=costs,
        features=features,
        untrained=2.0,
        memory=memory,
    )


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, np.nan]), max_size=8))
def test_the_score_counts_pairs(losses: list[float]) -> None:
    pairs = list(combinations(losses, 2))
    counted = sum(b > a for a, b in pairs) - sum(b < a for a, b in pairs)
    m = len(losses)
    expected = 0.0 if m < 2 else counted / np.sqrt(m * (m - 1) * (2 * m + 5) / 18)
    assert kendall_score(np.array(losses)) == pytest.approx(expected)


def test_of_random_orders_the_score_has_mean_0_and_deviation_1() -> None:
    rng = np.random.default_rng(0)
    scores = [kendall_score(rng.random(7)) for _ in range(4000)]
    assert np.mean(scores) == pytest.approx(0.0, abs=0.06)
    assert np.std(scores) == pytest.approx(1.0, abs=0.05)


def test_only_losses_after_the_record_count() -> None:
    assert since_record(np.array([1.0, 0.5, 0.7, 0.6])).tolist() == [0.7, 0.6]
    assert since_record(np.array([np.nan, np.inf, 2.0, 3.0])).tolist() == [3.0]
    assert not len(since_record(np.array([3.0, 2.0, 1.0])))


@settings(deadline=None)
@given(
    reports=st.lists(st.tuples(st.integers(0, ARMS - 1), LOSS), max_size=20),
    asked=st.lists(st.integers(0, 20), max_size=8),
)
def test_what_was_asked_before_changes_nothing(
    reports: list[tuple[int, float]], asked: list[int]
) -> None:
    made = [Curves.empty(ARMS, EPOCHS)]
    for arm, loss in reports:
        if made[-1].count(arm) < EPOCHS:
            made.append(made[-1].extend(arm, np.array([loss])))
    memory, arms = Memory(), np.arange(ARMS)
    for number in [*asked, len(made) - 1]:
        curves = made[min(number, len(made) - 1)]
        found = rises(view_of(curves, memory), arms)
        np.testing.assert_array_equal(found, rises(view_of(curves, Memory()), arms))
        for place in range(ARMS):
            losses = curves.of_arm(place)
            alone = kendall_score(since_record(losses)) if len(losses) else 0.0
            assert found[place] == alone


@given(st.lists(st.floats(0.01, 1.0), min_size=3, max_size=6), st.floats(-4.0, 8.0))
def test_the_odds_of_any_improvement_fall_by_a_factor(sizes: list[float], z: float) -> None:
    chances = np.array([sizes]) / sum(sizes)
    made = less_likely(chances, np.array([z]))
    assert made.sum() == pytest.approx(1.0)
    odds_before, odds = (1 / one[0, 0] - 1 for one in (chances, made))
    assert odds == pytest.approx(odds_before * np.exp(-LOG_ODDS * z))
    before = chances[0, 1:] / chances[0, 1:].sum()
    np.testing.assert_allclose(made[0, 1:] / made[0, 1:].sum(), before)


def test_a_rising_curve_is_expected_to_gain_less_than_one_that_wobbles() -> None:
    wobbling = [1.0, 0.6, 0.5, 0.56, 0.52, 0.55, 0.53, 0.54]
    rising = [1.0, 0.6, 0.5, 0.52, 0.53, 0.54, 0.55, 0.56]
    other = [1.2, 0.9, 0.8]
    predictor = LearnedPredictor(shipped("ends"))

    def expected(curve: list[float]) -> float:
        curves = Curves.of([curve, other, [], []], 20)
        return float(predictor.predict(view_of(curves, Memory())).mean()[0])

    assert expected(wobbling) < expected(rising) <= 0.5
