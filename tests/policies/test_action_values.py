"""Closed forms against Monte Carlo."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.expected_min import best_other, expected_min
from bhpt.policies.action_values import expected_min_lines, pick

DRAWS = 400_000


@pytest.mark.parametrize("seed", range(6))
def test_expected_min_equals_monte_carlo(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mean, sd, other = rng.normal(size=3) * [1, 1, 1]
    sd = abs(sd) + 0.01
    drawn = np.minimum(mean + sd * rng.standard_normal(DRAWS), other)
    found = expected_min(np.array(mean), np.array(sd), np.array(other))
    assert abs(found - drawn.mean()) < 5 * drawn.std() / np.sqrt(DRAWS)


def test_expected_min_at_its_edges() -> None:
    mean = np.array([1.0, 3.0, np.inf, 1.0, 0.0])
    sd = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
    other = np.array([2.0, 2.0, 2.0, np.inf, 1e9])
    np.testing.assert_allclose(expected_min(mean, sd, other), [1, 2, 2, 1, 0], atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_the_envelope_equals_monte_carlo(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, lines = 5, 1 + 2 * seed
    b = rng.normal(size=(rows, lines))
    s = rng.normal(size=(rows, lines)) * rng.choice([0, 0.3, 1], size=(rows, lines))
    found = expected_min_lines(b, s)
    z = rng.standard_normal(DRAWS // 10)
    drawn = (b[:, :, None] + s[:, :, None] * z).min(axis=1)
    error = drawn.std(axis=1) / np.sqrt(drawn.shape[1])
    assert np.all(np.abs(found - drawn.mean(axis=1)) < 5 * error + 1e-12)


@given(
    st.lists(
        st.tuples(st.floats(-5, 5), st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0])),
        min_size=1,
        max_size=8,
    )
)
@settings(max_examples=200, deadline=None)
def test_the_envelope_equals_quadrature_whatever_the_lines(
    lines: list[tuple[float, float]],
) -> None:
    b, s = np.array(lines).T
    z = np.linspace(-9, 9, 20_001)
    weight = np.exp(-0.5 * z**2)
    expected = float((weight / weight.sum()) @ (b[:, None] + s[:, None] * z).min(axis=0))
    assert expected_min_lines(b[None], s[None])[0] == pytest.approx(expected, abs=1e-5)


def test_two_lines_equal_the_closed_form_of_one_gaussian_and_a_constant() -> None:
    found = expected_min_lines(np.array([[0.3, 0.1]]), np.array([[0.7, 0.0]]))
    expected = expected_min(np.array(0.3), np.array(0.7), np.array(0.1))
    assert found[0] == pytest.approx(float(expected), abs=1e-12)


def test_an_infinite_line_is_no_line() -> None:
    found = expected_min_lines(np.array([[0.3, np.inf]]), np.array([[0.7, 0.0]]))
    assert found[0] == pytest.approx(0.3)


def test_best_other() -> None:
    np.testing.assert_array_equal(best_other(np.array([3.0, 1.0, 2.0])), [1, 2, 1])
    np.testing.assert_array_equal(best_other(np.array([3.0])), [np.inf])


def test_ties_are_drawn_and_the_forbidden_are_not() -> None:
    rng = np.random.default_rng(0)
    values = np.array([0.0, 1.0, 1.0 + 1e-13, 2.0])
    allowed = np.array([False, True, True, True])
    assert {pick(values, allowed, rng) for _ in range(50)} == {1, 2}
    assert pick(np.full(3, np.inf), np.array([False, True, False]), rng) == 1
