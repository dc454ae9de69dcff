"""Posterior of the asymptotes f given all curves, for independent and for correlated arms.

Notation:
    λ, γ  information and weighted residual sum of each visited arm, [V];  q = √λ
    A     I + q K_x q on the visited arms, [V, V]
    C     (K_x⁻¹ + Λ)⁻¹, posterior covariance of f;  μ = m + C(γ - mλ), its mean, [K]
Unvisited arms have λ = 0 and need no row in A. K_x is never inverted.
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.hypers import Hypers, Structure
from bhpt.beliefs.kernels import asymptote_covariance
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Asymptotes:
    """Mean and covariance of the asymptotes of all arms.

    Attributes:
        mean: μ, [K].
        variance: Diagonal of C, [K].
        reduction: Rows whose outer products turn K_x into C, [V, K]; None for independent arms.
        structure: Which kernel.
        hypers: Its numbers.
        features: Encoded configurations, [K, D].
    """

    mean: FloatArray
    variance: FloatArray
    reduction: FloatArray | None
    structure: Structure
    hypers: Hypers
    features: FloatArray

    def covariance(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Block of C, [A, B]."""
        same = (rows[:, None] == columns[None, :]).astype(float)
        if self.reduction is None:
            diagonal: FloatArray = same * self.variance[rows][:, None]
            return diagonal
        prior = asymptote_covariance(
            self.structure.kernel, self.hypers, self.features[rows], self.features[columns], same
        )
        return prior - self.reduction[:, rows].T @ self.reduction[:, columns]


def condition(
    structure: Structure,
    hypers: Hypers,
    features: FloatArray,
    visited: IntArray,
    information: FloatArray,
    gamma: FloatArray,
) -> Asymptotes:
    """Posterior of f.

    Args:
        structure: Which kernel.
        hypers: Its numbers and the prior mean m.
        features: Encoded configurations of all arms, [K, D].
        visited: Arms with observations, [V].
        information: λ of the visited arms, [V].
        gamma: γ of the visited arms, for curves that are not yet centred on m, [V].
    """
    arms = len(features)
    centred = gamma - hypers.mean * information
    if not structure.correlated:
        variance = np.full(arms, hypers.amplitude**2)
        variance[visited] /= 1 + hypers.amplitude**2 * information
        mean = np.full(arms, hypers.mean)
        mean[visited] += variance[visited] * centred
        return Asymptotes(mean, variance, None, structure, hypers, features)
    q = np.sqrt(information)
    same = (visited[:, None] == np.arange(arms)[None, :]).astype(float)
    cross = asymptote_covariance(structure.kernel, hypers, features[visited], features, same)
    inner = np.eye(len(visited)) + q[:, None] * cross[:, visited] * q[None, :]
    lower = cholesky(inner)
    reduction = solve_lower(lower, q[:, None] * cross)
    # C γ = K_x q A⁻¹ (γ / q): no difference of large numbers, however small the noise
    weights = solve_lower(lower, centred / q)
    mean = hypers.mean + reduction.T @ weights
    variance = hypers.amplitude**2 - np.einsum("vk,vk->k", reduction, reduction)
    np.maximum(variance, 0, out=variance)
    return Asymptotes(mean, variance, reduction, structure, hypers, features)
