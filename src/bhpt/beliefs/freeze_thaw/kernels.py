"""Covariances: of a curve's decay over epochs, and of asymptotes over configurations.

Notation:
    t, t'  epochs, 1-based      T  epochs of the grid      X  encoded configurations [K, D]
    k_t(t, t') = s² (β/(t+t'+β))^α                         decay from the asymptote
    a(t) = (β/(t+β))^α                                     what is left of the start at epoch t
"""

import numpy as np

from bhpt.beliefs.freeze_thaw.hypers import Hypers, Kernel
from bhpt.domain import FloatArray


def remainder(hypers: Hypers, epochs: int) -> FloatArray:
    """a(0), a(1), .., a(2T), [2T + 1]: the decay kernel is a(t + t'), so this is all of it."""
    times = np.arange(2 * epochs + 1, dtype=np.float64)
    remains: FloatArray = (hypers.beta / (times + hypers.beta)) ** hypers.alpha
    return remains


def decay_covariance(remains: FloatArray, hypers: Hypers, *, anchored: bool) -> FloatArray:
    """K_t with noise on the diagonal, [T, T]; anchored: conditioned on the start, epoch 0."""
    epochs = len(remains) // 2
    times = np.arange(1, epochs + 1)
    covariance: FloatArray = remains[times[:, None] + times[None, :]]
    if anchored:
        left = remains[1 : epochs + 1]
        covariance = covariance - left[:, None] * left[None, :]
    covariance *= hypers.magnitude**2
    covariance[np.diag_indices(epochs)] += hypers.noise**2
    return covariance


def correlation(
    kernel: Kernel, lengths: tuple[float, ...], left: FloatArray, right: FloatArray
) -> FloatArray:
    """Correlation of configurations, 1 at distance 0, [A, B] for encodings [A, D], [B, D]."""
    scale = 1 / np.asarray(lengths)
    x, y = left * scale, right * scale
    squared = np.sum(x**2, 1)[:, None] + np.sum(y**2, 1)[None, :] - 2 * (x @ y.T)
    return from_squared(kernel, np.maximum(squared, 0, out=squared))


def from_squared(kernel: Kernel, squared: FloatArray) -> FloatArray:
    """Correlation at squared, scaled distances, of the same shape."""
    if kernel == "se":
        smooth: FloatArray = np.exp(-0.5 * squared)
        return smooth
    distance: FloatArray = np.sqrt(5 * squared)
    cubic: FloatArray = distance * distance
    cubic /= 3
    rough: FloatArray = 1 + distance
    rough += cubic
    rough *= np.exp(np.negative(distance, out=distance), out=distance)
    return rough


def asymptote_covariance(
    kernel: Kernel,
    hypers: Hypers,
    left: FloatArray,
    right: FloatArray,
    same: FloatArray | None = None,
) -> FloatArray:
    """K_x = s_f² (ρ k(x, x') + (1 - ρ) [same arm]), [A, B].

    Args:
        kernel: Which correlation; "none" means that only the same arm correlates with itself.
        hypers: Amplitude, ρ and length-scales.
        left: Encodings, [A, D].
        right: Encodings, [B, D].
        same: 1 where row and column are the same arm, [A, B]; None: they never are.
    """
    variance = hypers.amplitude**2
    if kernel == "none":
        return np.zeros((len(left), len(right))) if same is None else variance * same
    covariance = correlation(kernel, hypers.lengths, left, right)
    covariance *= variance * hypers.rho
    if same is not None:
        covariance += variance * (1 - hypers.rho) * same
    return covariance
