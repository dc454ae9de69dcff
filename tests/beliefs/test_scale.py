"""Scales: strange losses in, numbers that a Gaussian can hold out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bhpt.beliefs.scale import Scale, level_of_first_units, starting_level
from bhpt.domain import Curves, Memory, Misuse, View

SCALES = [Scale("identity", False), Scale("linear", False), Scale("linear"), Scale("log")]


def test_the_log_scale_keeps_the_best_so_far() -> None:
    scaled = Scale("log").apply(Curves.of([[4.0, 1.0, 3.0, np.nan, 0.5]], 6), untrained=2.0)
    np.testing.assert_allclose(np.exp(scaled.values[0]), [1, 0.5, 0.5, 0.5, 0.25])
    assert scaled.start == 0.0
    assert scaled.best == pytest.approx(np.log(0.25))


def test_the_linear_scale_caps_what_explodes() -> None:
    scaled = Scale("linear", running=False).apply(Curves.of([[1.0, 1e30, np.nan]], 6), 2.0)
    np.testing.assert_allclose(scaled.values[0], [0.5, 2, 2])


def test_losses_come_back() -> None:
    curves = Curves.of([[1.5, 1.2, 0.3]], 6)
    for scale in SCALES:
        scaled = scale.apply(curves, 2.0)
        np.testing.assert_allclose(scaled.loss(scaled.values[0]), [1.5, 1.2, 0.3])


def test_negative_losses_have_room_below() -> None:
    scaled = Scale("log").apply(Curves.of([[-1.0, -3.0]], 6), untrained=-0.5)
    np.testing.assert_allclose(scaled.loss(scaled.values[0]), [-1, -3])
    assert np.all(np.isfinite(scaled.values))
    assert scaled.best == pytest.approx(np.log(0.5))


@example([2.225073858507203e-309, -1.0, -1e100], None, Scale("linear", False))
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=6),
    st.one_of(st.none(), st.floats(-1e6, 1e6)),
    st.sampled_from(SCALES),
)
@settings(max_examples=300, deadline=None)
def test_whatever_comes_is_finite(
    losses: list[float], untrained: float | None, scale: Scale
) -> None:
    scaled = scale.apply(Curves.of([losses, []], 8), untrained)
    assert np.all(np.isfinite(scaled.values))
    assert np.isfinite(scaled.start)


def test_an_unknown_start_is_a_little_above_the_first_losses() -> None:
    assert Curves.empty(2, 3).untrained == 1.0
    found = Curves.of([[2.0, 1.0], [2.2], [1e9]], 4).untrained
    assert 2.2 < found < 20
    assert -0.4 < Curves.of([[-0.5, -0.9], [-0.4]], 4).untrained < 0


def level(curves: Curves, untrained: float | None, unit: int) -> float:
    ones, nothing = np.ones(curves.arms), np.zeros((curves.arms, 1))
    return starting_level(View(curves, unit, 1.0, ones, nothing, untrained))


def test_improvements_count_from_where_most_curves_start() -> None:
    """From ℓ_0; from the middle one of the first units where that is above it."""
    curves = Curves.of([[5.0, 3.0, 2.0], [9.0, 6.0], [7.0], [np.nan, np.inf]], 6)
    assert level(curves, 8.0, 1) == 8.0
    assert level(curves, 1.0, 1) == 5.0  # of 1 (which has failed), 5, 7 and 9
    assert level(curves, 1.0, 2) == 3.0  # the best loss of a first unit counts
    assert level(curves, None, 1) == curves.untrained
    assert level(Curves.empty(3, 6), 2.0, 1) == 2.0
    exploded = Curves.of([[1e30, 0.5], [1e25], [3.0]], 6)
    assert level(exploded, 1.0, 1) == 1.0


def test_unknown_scales_are_refused() -> None:
    with pytest.raises(Misuse):
        Scale("cubic")  # type: ignore[arg-type]


def test_the_starting_level_follows_first_units_alone() -> None:
    """It is remembered from report to report, and another first unit moves it."""
    memory, features = Memory(), np.zeros((4, 1))
    curves = Curves.empty(4, 6)
    for arm, losses in (
        (0, [3.0]),
        (0, [2.5]),
        (1, [5.0, 4.0]),
        (0, [1.0]),
        (2, [4.5]),
        (2, [4.4]),
    ):
        curves = curves.extend(arm, np.array(losses))
        view = View(curves, 2, 9.0, np.ones(4), features, untrained=2.0, memory=memory)
        assert starting_level(view) == level_of_first_units(curves, 2.0, 2)
    assert starting_level(view) == 4.0
    assert starting_level(replace(view, untrained=None)) == curves.untrained
