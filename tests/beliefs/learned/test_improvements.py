"""Improvements of arms: the same whether followed from report to report or worked out at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.learned.features import features
from bhpt.beliefs.learned.network_inputs import Improvements, network_inputs, observe, seen_past
from bhpt.beliefs.learned.past import past_of
from bhpt.domain import Curves, FloatArray
from tests.beliefs.learned.cases import KNOWING, named

ARMS, EPOCHS = 6, 9
LOSS = st.sampled_from([0.0, 0.5, 0.9, 1.0, 1.5, np.nan, np.inf])


def by_definition(curves: Curves, rows: list[int], unit: int, start: float) -> FloatArray:
    """Of each arm the best improvement within each unit that it has begun, [R, units + 1]."""
    units = max(-(-int(curves.count_by_arm[rows].max(initial=0)) // unit), 1)
    q = np.zeros((len(rows), units + 1))
    for place, arm in enumerate(rows):
        losses = curves.of_arm(arm)
        for done in range(1, -(-len(losses) // unit) + 1):
            seen = losses[: done * unit]
            q[place, done] = max([0.0, *(start - one for one in seen if np.isfinite(one))])
    return q


@settings(deadline=None)
@given(
    reports=st.lists(st.tuples(st.integers(0, ARMS - 1), LOSS, LOSS), max_size=12),
    asked=st.lists(st.tuples(st.integers(0, 12), st.sampled_from([1.0, 1.2])), max_size=8),
    unit=st.sampled_from([1, 2, 3]),
)
def test_what_was_asked_before_changes_nothing(
    reports: list[tuple[int, float, float]], asked: list[tuple[int, float]], unit: int
) -> None:
    made = [Curves.empty(ARMS, EPOCHS)]
    for arm, *losses in reports:
        room = EPOCHS - made[-1].count(arm)
        if room >= len(losses):
            made.append(made[-1].extend(arm, np.array(losses)))
    rows = [0, 2, 3, 5]
    followed = Improvements(np.array(rows), unit)
    for number, start in [*asked, (len(made) - 1, 1.0)]:
        curves = made[min(number, len(made) - 1)]
        expected = by_definition(curves, rows, unit, start)
        found = followed.of(curves, start)
        done = -(-curves.count_by_arm[rows] // unit)
        passed = np.arange(found.shape[1]) <= done[:, None]
        assert found.shape == expected.shape
        np.testing.assert_array_equal(found[passed], expected[passed])


def test_what_was_told_is_not_changed_by_what_comes() -> None:
    curves = Curves.empty(2, EPOCHS).extend(0, np.array([0.5]))
    followed = Improvements(np.arange(2), 1)
    told = followed.of(curves, 1.0)
    before = told.copy()
    followed.of(curves.extend(0, np.array([0.1])).extend(1, np.array([0.3])), 1.0)
    np.testing.assert_array_equal(told, before)


@pytest.mark.parametrize("seed", range(3))
def test_networks_that_share_the_past_are_told_the_same(seed: int) -> None:
    view = named(seed)
    rows = network_inputs(view, KNOWING).rows
    moment, shape = observe(view, rows, KNOWING)
    shared = seen_past(view, moment, shape)
    assert seen_past(view, moment, shape) is shared
    alone = past_of(np, moment, shape.near)
    for one, other in zip(
        features(np, moment, shape, shared), features(np, moment, shape, alone), strict=True
    ):
        np.testing.assert_array_equal(one, other)
