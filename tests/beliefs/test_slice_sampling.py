"""The slice sampler against densities that are known."""

from collections.abc import Callable

import numpy as np
from scipy import stats

from bhpt.beliefs.slice_sampling import sweep
from bhpt.domain import FloatArray


def chain(log_density: Callable[[float], float], n: int) -> FloatArray:
    rng = np.random.default_rng(4)
    theta = np.zeros(1)
    height = log_density(0.0)
    drawn = np.empty(n)
    for i in range(n):
        theta, height = sweep(
            lambda x: log_density(float(x[0])), theta, height, rng, step=0.5, outs=10
        )
        drawn[i] = theta[0]
    return drawn


def test_a_skewed_density_is_recovered() -> None:
    """log of a gamma variable: skewed, like the log hyper-parameters."""
    target = stats.loggamma(1.5)
    drawn = chain(lambda x: 1.5 * x - np.exp(x), 8000)[::4]
    # a bound that a wrong sampler (no shrinkage, biased bracket) exceeds by far
    assert stats.kstest(drawn, target.cdf).statistic < 0.04
    assert abs(drawn.mean() - target.mean()) < 0.1
    assert abs(drawn.std() - target.std()) < 0.1


def test_a_correlated_normal_is_recovered() -> None:
    covariance = np.array([[1.0, 0.8], [0.8, 2.0]])
    precision = np.linalg.inv(covariance)

    def log_density(x: FloatArray) -> float:
        return float(-0.5 * x @ precision @ x)

    rng = np.random.default_rng(0)
    theta, height = np.zeros(2), 0.0
    drawn = np.empty((12_000, 2))
    for i in range(len(drawn)):
        theta, height = sweep(log_density, theta, height, rng, step=0.5, outs=10)
        assert height == log_density(theta)
        drawn[i] = theta
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.2)


def test_a_point_outside_the_support_is_never_accepted() -> None:
    def log_density(x: FloatArray) -> float:
        return 0.0 if 0 < x[0] < 1 else -np.inf

    rng = np.random.default_rng(1)
    theta, height = np.array([0.5]), 0.0
    for _ in range(500):
        theta, height = sweep(log_density, theta, height, rng, step=0.5, outs=10)
        assert 0 < theta[0] < 1
