"""Kinds of studies for trainings that are shorter than those that were learned from."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.shapes.belief import ShapeBelief
from bhpt.beliefs.shapes.evidence import StudyPrior, StudyTarget, with_unlike
from bhpt.beliefs.shapes.grid import make_shape_grid, project_shapes
from bhpt.beliefs.shapes.prior import LEARNED, SHAPES, STUDIES
from bhpt.beliefs.shapes.shapes import Shape
from bhpt.beliefs.shapes.shorter_trainings import shortened, with_shorter
from bhpt.domain import Curves, FloatArray, View

LADDER = tuple(Shape(0.7, 0.01 * 4.0**step, 0.3, 0.1, 0.01) for step in range(5))


@pytest.mark.parametrize("curvature", [-2.0, 0.0, 0.7, 2.0])
@pytest.mark.parametrize("factor", [4.0, 16.0, 64.0])
def test_the_beginning_of_a_decay_is_a_decay_of_a_longer_time(
    curvature: float, factor: float
) -> None:
    whole = Shape(curvature, 0.03, 0.3, 0.1, 0.01)
    part = np.linspace(0.05, 1, 20)
    beginning = whole.load(part / factor) / whole.load(np.array([1 / factor]))
    np.testing.assert_allclose(beginning, replace(whole, time=factor * 0.03).load(part))


def test_a_list_that_has_all_times_is_shortened_exactly() -> None:
    assert shortened(LADDER, 1.0).tolist() == [0, 1, 2, 3, 4]
    assert shortened(LADDER, 4.0).tolist() == [1, 2, 3, 4, 4]
    assert shortened(LADDER, 16.0).tolist() == [2, 3, 4, 4, 4]


def test_misfit_decides_between_shapes_of_one_decay() -> None:
    rough = tuple(replace(shape, roughness=0.3) for shape in LADDER)
    assert shortened((*rough, *LADDER), 4.0).tolist() == [1, 2, 3, 4, 4, 6, 7, 8, 9, 9]


def test_an_arm_that_does_not_learn_stays_one() -> None:
    still = replace(LADDER[0], learns=False)
    assert shortened((still, *LADDER), 16.0).tolist() == [0, 3, 4, 5, 5, 5]


def one_kind() -> StudyPrior:
    kinds = np.array([[0.5, 0.3, 0.2, 0.0, 0.0]])
    return StudyPrior(kinds, np.ones(1), np.array([-3.0, 1.0, -2.0]), np.ones(3))


def test_kinds_of_all_lengths_are_as_likely_and_keep_their_shares() -> None:
    longer = with_shorter(one_kind(), LADDER)
    np.testing.assert_allclose(longer.shares, 0.25)
    expected = [
        [0.5, 0.3, 0.2, 0, 0],
        [0, 0.5, 0.3, 0.2, 0],
        [0, 0, 0.5, 0.3, 0.2],
        [0, 0, 0, 0.5, 0.5],
    ]
    np.testing.assert_allclose(longer.kinds, expected)
    shipped = with_shorter(LEARNED, SHAPES)
    np.testing.assert_allclose(shipped.kinds.sum(axis=1), 1)
    assert shipped.shares.sum() == pytest.approx(LEARNED.shares.sum())
    np.testing.assert_allclose(with_unlike(shipped, SHAPES).kinds, STUDIES.kinds)


def dense_density(curve: FloatArray, shape: Shape, full: int) -> float:
    """Log density of the first epochs of a curve under θ = 0, written down as one Gaussian."""
    load = shape.load(np.arange(1, len(curve) + 1) / full)
    covariance = shape.covariance(load) + np.outer(load, load)
    _, logdet = np.linalg.slogdet(2 * np.pi * covariance)
    return float(-0.5 * (logdet + curve @ np.linalg.solve(covariance, curve)))


def test_what_a_curve_says_of_the_length_agrees_with_one_gaussian_for_each() -> None:
    """The weights of kinds for c = 1, 4, 16, 64, each shape stretched and enumerated in full."""
    prior, full = with_shorter(one_kind(), LADDER), 12
    curve = -0.9 * LADDER[3].load(np.arange(1, 4) / full)
    grid = make_shape_grid(LADDER, full, 0.0)
    rows = project_shapes(grid, curve[None], np.array([3]))
    found = StudyTarget(prior, rows, np.ones(1), np.inf).kinds(np.zeros(3))
    expected = []
    for factor in (1.0, 4.0, 16.0, 64.0):
        times = [min(factor * LADDER[at].time, LADDER[-1].time) for at in range(3)]
        stretched = [replace(LADDER[0], time=time) for time in times]
        densities = [dense_density(curve, shape, full) for shape in stretched]
        expected.append(np.log(np.exp(densities) @ [0.5, 0.3, 0.2] / 4))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def straight_lines(seed: int) -> View:
    """One epoch of twenty of twenty arms that fall in a straight line."""
    rng = np.random.default_rng(seed)
    ends = -1 - 0.1 * rng.standard_normal(20)
    curves = Curves.of([[float(np.exp(end / 20))] for end in ends], 20)
    return View(curves, 1, 20.0, np.ones(20), rng.standard_normal((20, 2)), untrained=1.0)


def test_a_first_epoch_of_a_short_training_leaves_open_how_far_curves_fall() -> None:
    """With trainings as learned from only, it is taken for more of the way than it is."""
    beliefs = ShapeBelief(), ShapeBelief(studies=with_unlike(LEARNED, SHAPES))
    (low, middle), (low_before, middle_before) = (
        np.mean(
            [belief.predict(straight_lines(seed)).quantiles((0.05, 0.5)) for seed in range(6)],
            axis=(0, 2),
        )
        for belief in beliefs
    )
    assert low < low_before - 0.1
    assert middle < middle_before - 0.1
