"""Univariate slice sampling with stepping out and shrinkage (Neal, 2003), one sweep at a time."""

from collections.abc import Callable

import numpy as np

from bhpt.domain import FloatArray

_SHRINKS = 60  # a bracket that has shrunk this often is a point: the coordinate stays


def sweep(
    log_density: Callable[[FloatArray], float],
    theta: FloatArray,
    height: float,
    rng: np.random.Generator,
    *,
    step: float,
    outs: int,
) -> tuple[FloatArray, float]:
    """Update every coordinate once.

    Args:
        log_density: Up to a constant.
        theta: Current point, [p].
        height: Its log density.
        rng: Source of randomness.
        step: Width of the first bracket.
        outs: Most steps out, shared at random between the two sides as Neal does.

    Returns:
        The new point and its log density.
    """
    current = theta.copy()
    for i in range(len(theta)):
        level = height - rng.exponential()
        low, high = _bracket(log_density, current, i, level, rng, step, outs)
        here = current[i]
        for _ in range(_SHRINKS):
            trial = current.copy()
            trial[i] = rng.uniform(low, high)
            density = log_density(trial)
            if density >= level:
                current, height = trial, density
                break
            if trial[i] < here:
                low = trial[i]
            else:
                high = trial[i]
    return current, height


def _bracket(
    log_density: Callable[[FloatArray], float],
    theta: FloatArray,
    i: int,
    level: float,
    rng: np.random.Generator,
    step: float,
    outs: int,
) -> tuple[float, float]:
    """Step out from a randomly placed interval until both ends lie below the level."""
    low = theta[i] - step * rng.uniform()
    high = low + step
    left = int(rng.integers(outs + 1))
    right = outs - left
    probe = theta.copy()
    for _ in range(left):
        probe[i] = low
        if log_density(probe) < level:
            break
        low -= step
    for _ in range(right):
        probe[i] = high
        if log_density(probe) < level:
            break
        high += step
    return float(low), float(high)
