"""Posterior of the asymptotes f given all curves, for independent and for correlated arms.

Notation:
    λ, γ  information and weighted residual sum of each visited arm, [V];  q = √λ
    A     I + q K_x q on the visited arms, [V, V];  L_A  its Cholesky factor
    C     (K_x⁻¹ + Λ)⁻¹, posterior covariance of f;  μ = m + C(γ - mλ), its mean, [K]
    R     L_A⁻¹ q K_x, [V, K], so that C = K_x - RᵀR
Unvisited arms have λ = 0 and need no row in A. K_x is never inverted, and nothing of size V × K
is kept: a hundred thousand candidates are looked at some thousand at a time.
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.hypers import Hypers, Structure
from bhpt.beliefs.kernels import asymptote_covariance
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import FloatArray, IntArray

_BLOCK = 2**19  # doubles of K_x that are looked at together: four megabytes


@dataclass(frozen=True, eq=False)
class Informed:
    """The visited arms as the others see them: L_A and q, and which arms they are."""

    visited: IntArray
    factor: FloatArray
    root_information: FloatArray


@dataclass(frozen=True, eq=False)
class Asymptotes:
    """Mean and covariance of the asymptotes of all arms.

    Attributes:
        mean: μ, [K].
        variance: Diagonal of C, [K].
        informed: What couples correlated arms; None for independent ones.
        structure: Which kernel.
        hypers: Its numbers.
        features: Encoded configurations, [K, D].
    """

    mean: FloatArray
    variance: FloatArray
    informed: Informed | None
    structure: Structure
    hypers: Hypers
    features: FloatArray

    def covariance(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Block of C, [A, B]."""
        if self.informed is None:
            same = (rows[:, None] == columns[None, :]).astype(float)
            diagonal: FloatArray = same * self.variance[rows][:, None]
            return diagonal
        model = (self.structure, self.hypers, self.features)
        left = _reduction(*model, self.informed, rows)
        right = left if rows is columns else _reduction(*model, self.informed, columns)
        return _prior(*model, rows, columns) - left.T @ right

    def with_everyone(self, rows: IntArray) -> FloatArray:
        """Rows of C, [A, K]; one reduction serves both sides."""
        everyone = np.arange(len(self.features))
        if self.informed is None:
            return self.covariance(rows, everyone)
        model = (self.structure, self.hypers, self.features)
        reduction = _reduction(*model, self.informed, everyone)
        return _prior(*model, rows, everyone) - reduction[:, rows].T @ reduction


def _reduction(
    structure: Structure, hypers: Hypers, features: FloatArray, informed: Informed, arms: IntArray
) -> FloatArray:
    """R for some of the arms, [V, A]."""
    cross = _prior(structure, hypers, features, informed.visited, arms)
    return solve_lower(informed.factor, informed.root_information[:, None] * cross)


def _prior(
    structure: Structure, hypers: Hypers, features: FloatArray, rows: IntArray, columns: IntArray
) -> FloatArray:
    """Block of K_x, [A, B]."""
    cross = asymptote_covariance(structure.kernel, hypers, features[rows], features[columns])
    row_of = np.full(len(features), -1)
    row_of[rows] = np.arange(len(rows))
    same = np.flatnonzero(row_of[columns] >= 0)
    cross[row_of[columns[same]], same] += hypers.amplitude**2 * (1 - hypers.rho)
    return cross


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
    mean = np.full(arms, hypers.mean, float)
    variance = np.full(arms, hypers.amplitude**2, float)
    if not structure.correlated:
        variance[visited] /= 1 + hypers.amplitude**2 * information
        mean[visited] += variance[visited] * centred
        return Asymptotes(mean, variance, None, structure, hypers, features)
    q = np.sqrt(information)
    among = _prior(structure, hypers, features, visited, visited)
    inner = np.eye(len(visited)) + q[:, None] * among * q
    factor = cholesky(inner) if len(visited) else inner
    informed = Informed(visited, factor, q)
    # C γ = K_x q A⁻¹ (γ / q): no difference of large numbers, however small the noise
    weights = solve_lower(factor, centred / q)
    step = max(1, _BLOCK // max(1, len(visited)))
    for at in range(0, arms, step):
        part = np.arange(at, min(at + step, arms))
        reduction = _reduction(structure, hypers, features, informed, part)
        mean[part] += reduction.T @ weights
        variance[part] -= np.einsum("vk,vk->k", reduction, reduction)
    np.maximum(variance, 0, out=variance)
    return Asymptotes(mean, variance, informed, structure, hypers, features)
