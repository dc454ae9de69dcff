"""Regression of ranks: against densities by SciPy, and against what is known to matter."""

import numpy as np
import pytest
from scipy import stats

from bhpt.beliefs.rank_regression import (
    HEIGHT,
    RankRegression,
    covariance,
    fitted,
    log_evidence,
    squares,
)


def drawn(seed: int, count: int = 60) -> tuple[list[np.ndarray], np.ndarray]:
    """Three hyper-parameters, of which the first alone decides, with its best value inside."""
    rng = np.random.default_rng(seed)
    blocks = [rng.random((count, 1)) for _ in range(3)]
    order = np.argsort(np.argsort(-np.abs(blocks[0][:, 0] - 0.4)))
    return blocks, (order + 0.5) / count - 0.5


def test_the_covariance_is_half_additive_and_half_joint() -> None:
    left, right = [np.array([[0.0]]), np.array([[0.0]])], [np.array([[0.3]]), np.array([[0.8]])]
    a, b = (0.3 / 0.3) ** 2, (0.8 / 1.2) ** 2
    alone = (np.exp(-a / 2) + np.exp(-b / 2)) / 2
    expected = HEIGHT * (alone / 2 + np.exp(-(a + b) / 4) / 2)
    assert covariance(squares(left, right), (0.3, 1.2))[0, 0] == pytest.approx(expected)


def test_the_evidence_is_a_normal_density() -> None:
    blocks, ranks = drawn(0, 12)
    counts = np.linspace(0.5, 1.5, 12)
    among = covariance(squares(blocks, blocks), (0.3, 0.6, 1.2))
    whole = among + np.diag(HEIGHT * 0.4 / counts)
    density = stats.multivariate_normal(np.zeros(12), whole).logpdf(ranks)
    constant = -6 * np.log(2 * np.pi)
    assert log_evidence(among, 0.4, ranks, counts) + constant == pytest.approx(density)


def test_what_decides_is_told_from_what_does_not() -> None:
    blocks, ranks = drawn(1)
    fit = fitted(squares(blocks, blocks), ranks, np.ones(60), usual=0.5)
    assert fit.widths[0] < min(fit.widths[1:])
    assert fit.noise < 0.5


def test_chance_is_called_noise() -> None:
    blocks, ranks = drawn(2)
    shuffled = np.random.default_rng(3).permutation(ranks)
    assert fitted(squares(blocks, blocks), shuffled, np.ones(60), usual=0.5).noise >= 0.5


def test_no_choice_of_one_width_is_more_probable() -> None:
    blocks, ranks = drawn(4, 30)
    apart, counts = squares(blocks, blocks), np.ones(30)
    fit = fitted(apart, ranks, counts, usual=0.5)

    def value(widths: tuple[float, ...]) -> float:
        prior = -0.5 * (np.log(np.array(widths) / 0.4) ** 2).sum()
        return log_evidence(covariance(apart, widths), fit.noise, ranks, counts) + float(prior)

    last = [(*fit.widths[:2], width) for width in (0.15, 0.3, 0.6, 1.2, 4.0)]
    assert max(map(value, last)) == pytest.approx(value(fit.widths), abs=2.0)
    usual = value((0.4, 0.4, 0.4))
    assert value(fit.widths) > usual


def test_a_row_does_not_depend_on_the_others() -> None:
    blocks, ranks = drawn(5)
    regression = RankRegression(blocks, ranks, np.ones(60), 0.5)
    new, _ = drawn(6, 9)
    whole = regression.expect(new)
    for row in range(9):
        assert regression.expect([block[row : row + 1] for block in new])[0] == whole[row]
    assert np.corrcoef(whole, -np.abs(new[0][:, 0] - 0.4))[0, 1] > 0.9
