"""The expected smaller of a random value and a constant, in closed form.

Notation:
    Z  standard normal      φ, Φ  its density and distribution function
    E min{X, c} for X ~ N(μ, σ²) is c - σ (sΦ(s) + φ(s)) with s = (c - μ)/σ
    σ(μ, c, g) is the deviation for which it is g below c, E (c - X)⁺ = g
    E min{e^X, c}^p is e^{pμ + p²σ²/2} Φ(s - pσ) + c^p Φ(-s) with s = (log c - μ)/σ
"""

import numpy as np
from scipy.special import log_ndtr, ndtr

from bhpt.domain import FloatArray

_SURE = 1e-12  # a smaller deviation is none
_WIDE = 100.0  # logarithm of a mean from which on it is not computed by itself
_STEPS = 8  # of Newton's method
_LEAST_GUESSED, _MOST_GUESSED = 1e-3, 3.0  # bounds of a deviation, as parts of a first guess


def best_other(mean: FloatArray) -> FloatArray:
    """min_{k≠a} mean_k for every a, [K]; infinite if there is only one arm."""
    if len(mean) == 1:
        return np.full(1, np.inf)
    first = int(np.argmin(mean))
    others = np.full(len(mean), mean[first])
    others[first] = np.min(np.delete(mean, first))
    return others


def density(z: FloatArray) -> FloatArray:
    """φ, zero at infinity."""
    height: FloatArray = np.exp(-0.5 * np.square(z)) / np.sqrt(2 * np.pi)
    return height


def expected_min(mean: FloatArray, deviation: FloatArray, other: FloatArray) -> FloatArray:
    """E min{X, c} for X ~ N(mean, deviation²) and a constant c = `other`; shapes broadcast.

    An infinite mean or `other` stands for "not there": the result is then the one that is.
    """
    there = np.isfinite(mean) & np.isfinite(other) & (deviation > 0)
    sigma = np.where(there, deviation, 1.0)
    gap = np.where(there, other, 0.0) - np.where(there, mean, 0.0)
    s = gap / sigma
    improved = np.where(there, other, 0.0) - sigma * (s * ndtr(s) + density(s))
    return np.where(there, improved, np.minimum(mean, other))


def deviation_of_gain(gap: FloatArray, gain: FloatArray, about: FloatArray) -> FloatArray:
    """σ for which E (c - X)⁺ is `gain`, X ~ N(c - gap, σ²); shapes broadcast.

    The gain is convex in σ and grows with it, so Newton's steps come down to the root once they
    are above it.

    Args:
        gap: c - μ.
        gain: What X is expected to be below c, at least max(gap, 0).
        about: A first guess; the result lies between a thousandth of it and three times it.
    """
    least, most = _LEAST_GUESSED * about, _MOST_GUESSED * about
    sigma = np.maximum(about, _SURE)
    for _ in range(_STEPS):
        s = gap / sigma
        slope = np.maximum(density(s), _SURE)
        sigma = np.clip(sigma - (sigma * (s * ndtr(s) + density(s)) - gain) / slope, least, most)
        sigma = np.maximum(sigma, _SURE)
    return np.minimum(sigma, most)


def expected_min_exp(mean: FloatArray, deviation: FloatArray, log_most: FloatArray) -> FloatArray:
    """E min{e^X, c} for X ~ N(mean, deviation²) and c = exp(log_most); shapes broadcast."""
    sigma = np.maximum(deviation, _SURE)
    s = (log_most - mean) / sigma
    return _below(mean, sigma, s, 1) + np.exp(log_most) * ndtr(-s)


def exp_moments(
    mean: FloatArray, deviation: FloatArray, log_most: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """E min{e^X, c} and E min{e^X, c}² for X ~ N(mean, deviation²) and c = exp(log_most)."""
    sigma = np.maximum(deviation, _SURE)
    s = (log_most - mean) / sigma
    most, above = np.exp(log_most), ndtr(-s)
    first: FloatArray = _below(mean, sigma, s, 1) + most * above
    second: FloatArray = _below(mean, sigma, s, 2) + most**2 * above
    return first, second


def _below(mean: FloatArray, sigma: FloatArray, s: FloatArray, power: int) -> FloatArray:
    """E e^{pX} [e^X < c]; where X is very wide by its logarithm, so that nothing overflows."""
    log_all = np.asarray(power * (mean + 0.5 * power * sigma**2))
    inside = s - power * sigma
    wide = log_all > _WIDE
    if not wide.any():
        plain: FloatArray = np.exp(log_all) * ndtr(inside)
        return plain
    below: FloatArray = np.exp(np.where(wide, 0.0, log_all)) * ndtr(inside)
    return np.where(wide, np.exp(np.where(wide, log_all + log_ndtr(inside), 0.0)), below)
