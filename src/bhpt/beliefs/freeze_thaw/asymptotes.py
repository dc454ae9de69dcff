"""Posterior of the asymptotes f given all curves, for independent and for correlated arms.

Notation:
    λ, γ  information and weighted residual sum of each visited arm, [V];  q = √λ
    A     I + q K_x q on the visited arms, [V, V];  L_A  its Cholesky factor
    C     (K_x⁻¹ + Λ)⁻¹, posterior covariance of f;  μ = m + C(γ - mλ), its mean, [K]
    R     L_A⁻¹ q K_x, [V, K], so that C = K_x - RᵀR
    Δ     what the information of U arms has grown by;  C' is C with it,  C'_U its columns
Unvisited arms have λ = 0 and need no row in A. K_x is never inverted. A first look at very many
candidates takes O(V²K), some thousand at a time; every later one only what its U new units
change, O(VUK): C = C' + C'_U (Δ + Δ C_UU Δ) C'_Uᵀ holds without a difference of large numbers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bhpt.beliefs.freeze_thaw.hypers import Hypers, Structure
from bhpt.beliefs.freeze_thaw.kernel_rows import KernelRows
from bhpt.beliefs.freeze_thaw.kernels import asymptote_covariance
from bhpt.beliefs.triangular import cholesky, solve_lower, solve_lower_transposed
from bhpt.domain import BoolArray, FloatArray, IntArray

_BLOCK = 2**19  # doubles of K_x that are looked at together: four megabytes
_FEW = 32  # so many arms with new information are worked in; more are a new start


@dataclass(frozen=True, eq=False)
class Informed:
    """The visited arms as the others see them: L_A and q, and which arms they are.

    Attributes:
        visited: Which arms, [V].
        factor: L_A, [V, V].
        root_information: q, [V].
        rows: Their rows of K_x, where there are so many arms that they are worth keeping.
    """

    visited: IntArray
    factor: FloatArray
    root_information: FloatArray
    rows: KernelRows | None = None


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
        informed = self.informed
        left = _reduction(*model, informed, rows)
        if len(rows) < len(informed.visited) < len(columns):
            weights = solve_lower_transposed(informed.factor, left)
            weights *= informed.root_information[:, None]
            return self._few_with_many(rows, columns, informed.visited, weights.T)
        right = left if np.array_equal(rows, columns) else _reduction(*model, informed, columns)
        return _prior(*model, rows, columns) - left.T @ right

    def _few_with_many(
        self, rows: IntArray, columns: IntArray, visited: IntArray, weights: FloatArray
    ) -> FloatArray:
        """Block of C, [A, B], from what each row weighs the visited arms by, [A, V].

        It needs no solve for the columns, and looks at some of them at a time.
        """
        model = (self.structure, self.hypers, self.features)
        block = np.empty((len(rows), len(columns)))
        step = max(1, _BLOCK // len(visited))
        for at in range(0, len(columns), step):
            part = columns[at : at + step]
            block[:, at : at + step] = _prior(*model, rows, part)
            block[:, at : at + step] -= weights @ _prior(*model, visited, part)
        return block

    @cached_property
    def shared_deviation(self) -> FloatArray:
        """Standard deviation of what f_k can have in common with other arms, [K].

        |C_ka| is at most the product of two of these. An unvisited arm's own part, of variance
        s_f² (1 - ρ), is still its own.
        """
        shared = self.variance.copy()
        if self.informed is not None:
            fresh = np.ones(len(shared), bool)
            fresh[self.informed.visited] = False
            shared[fresh] -= self.hypers.amplitude**2 * (1 - self.hypers.rho)
        deviation: FloatArray = np.sqrt(np.maximum(shared, 0.0))
        return deviation


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
    shared = asymptote_covariance(structure.kernel, hypers, features[rows], features[columns])
    return _with_own(hypers, shared, rows, columns, len(features))


def _with_own(
    hypers: Hypers, shared: FloatArray, rows: IntArray, columns: IntArray, arms: int
) -> FloatArray:
    """Block of K_x from what configurations share of it, changed in place, [A, B]."""
    row_of = np.full(arms, -1)
    row_of[rows] = np.arange(len(rows))
    same = np.flatnonzero(row_of[columns] >= 0)
    shared[row_of[columns[same]], same] += hypers.amplitude**2 * (1 - hypers.rho)
    return shared


def condition(
    structure: Structure,
    hypers: Hypers,
    features: FloatArray,
    visited: IntArray,
    information: FloatArray,
    gamma: FloatArray,
    *,
    known: Asymptotes | None = None,
    room: int = 0,
    likeness: FloatArray | None = None,
) -> Asymptotes:
    """Posterior of f.

    Args:
        structure: Which kernel.
        hypers: Its numbers and the prior mean m.
        features: Encoded configurations of all arms, [K, D].
        visited: Arms with observations, [V].
        information: λ of the visited arms, [V].
        gamma: γ of the visited arms, for curves that are not yet centred on m, [V].
        known: A posterior for the same kernel, numbers and features that knew less; it only
            saves work, and only where there are very many arms.
        room: Most doubles of K_x to keep for the next time.
        likeness: Correlation of every arm's configuration with those of the visited ones, [K, V],
            if it is known already; it only saves work, and only where there are few arms.
    """
    centred = gamma - hypers.mean * information
    mean = np.full(len(features), hypers.mean, float)
    if not structure.correlated:
        variance = np.full(len(features), hypers.amplitude**2, float)
        variance[visited] /= 1 + hypers.amplitude**2 * information
        mean[visited] += variance[visited] * centred
        return Asymptotes(mean, variance, None, structure, hypers, features)
    q = np.sqrt(information)
    if len(visited) * len(features) <= _BLOCK:
        among, cross = _blocks(structure, hypers, features, visited, likeness)
        informed = Informed(visited, _factor(among, q), q)
        mean, variance = _of_few(informed, cross, centred / q, mean, hypers)
    else:
        among = _prior(structure, hypers, features, visited, visited)
        rows = _rows(structure, hypers, features, known, room)
        informed = Informed(visited, _factor(among, q), q, rows)
        mean, variance = _of_many(informed, rows, centred / q, mean, hypers, known)
    np.maximum(variance, 0, out=variance)
    return Asymptotes(mean, variance, informed, structure, hypers, features)


def _factor(among: FloatArray, q: FloatArray) -> FloatArray:
    """L_A from K_x among the visited arms, [V, V]."""
    inner: FloatArray = np.eye(len(q)) + q[:, None] * among * q
    return cholesky(inner) if len(q) else inner


def _blocks(
    structure: Structure,
    hypers: Hypers,
    features: FloatArray,
    visited: IntArray,
    likeness: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """K_x among the visited arms, [V, V], and of these with all arms, [V, K]."""
    every = np.arange(len(features))
    if likeness is None:
        among = _prior(structure, hypers, features, visited, visited)
        return among, _prior(structure, hypers, features, visited, every)
    shared = hypers.amplitude**2 * hypers.rho * likeness.T
    cross = _with_own(hypers, shared, visited, every, len(features))
    return cross[:, visited], cross


def _of_few(
    informed: Informed, cross: FloatArray, scaled: FloatArray, mean: FloatArray, hypers: Hypers
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of all arms where they are few, [K] and [K].

    Args:
        informed: The visited arms.
        cross: K_x of these with all arms, [V, K].
        scaled: (γ - mλ) / q, [V].
        mean: m for every arm, [K].
        hypers: The numbers of the kernel.
    """
    # C γ = K_x q A⁻¹ (γ / q): no difference of large numbers, however small the noise
    reduction = solve_lower(informed.factor, informed.root_information[:, None] * cross)
    mean += reduction.T @ solve_lower(informed.factor, scaled)
    variance: FloatArray = hypers.amplitude**2 - np.einsum("vk,vk->k", reduction, reduction)
    return mean, variance


def _rows(
    structure: Structure,
    hypers: Hypers,
    features: FloatArray,
    known: Asymptotes | None,
    room: int,
) -> KernelRows:
    """The rows of K_x that are there, or a new store for them."""
    if known is not None and known.informed is not None and known.informed.rows is not None:
        return known.informed.rows
    return KernelRows(structure.kernel, hypers, features, room)


def _of_many(
    informed: Informed,
    rows: KernelRows,
    scaled: FloatArray,
    mean: FloatArray,
    hypers: Hypers,
    known: Asymptotes | None,
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of very many arms, [K] and [K], from what is known where that helps.

    Args:
        informed: The visited arms.
        rows: Their rows of K_x.
        scaled: (γ - mλ) / q, [V].
        mean: m for every arm, [K].
        hypers: The numbers of the kernel.
        known: As for `condition`.
    """
    q, factor, visited = informed.root_information, informed.factor, informed.visited
    rows.keep(visited)
    solved = solve_lower_transposed(factor, solve_lower(factor, scaled))
    gained = None if known is None else _gained(known, informed, len(mean))
    if known is None or gained is None:
        mean += rows.weighted(visited, (q * solved)[None])[0]
        return mean, _fresh_variance(rows, informed, hypers, len(mean))
    at, delta = gained
    # C'_U = K_x q A⁻¹ e_U / q_U
    unit = np.zeros((len(q), len(at)))
    unit[at, np.arange(len(at))] = 1 / q[at]
    columns = solve_lower_transposed(factor, solve_lower(factor, unit))
    both = rows.weighted(visited, q * np.vstack([solved[None], columns.T]))
    before = known.covariance(visited[at], visited[at])
    shrunk = np.diag(delta) + delta[:, None] * before * delta
    removed = cholesky(shrunk).T @ both[1:] if len(at) else both[1:]
    mean += both[0]
    return mean, known.variance - np.einsum("uk,uk->k", removed, removed)


def _gained(known: Asymptotes, informed: Informed, arms: int) -> tuple[IntArray, FloatArray] | None:
    """Places in `visited` and growth of the information that has grown, [U] and [U].

    None if some has shrunk, or so much has grown that a new start is no more work.
    """
    if known.informed is None:
        return None
    before = np.zeros(arms)
    before[known.informed.visited] = known.informed.root_information**2
    now = np.zeros(arms)
    now[informed.visited] = informed.root_information**2
    change = now - before
    grown: BoolArray = change[informed.visited] > 0
    if np.any(change < 0) or grown.sum() > _FEW:
        return None
    at = np.flatnonzero(grown)
    return at, change[informed.visited[at]]


def _fresh_variance(rows: KernelRows, informed: Informed, hypers: Hypers, arms: int) -> FloatArray:
    """Diagonal of C, some thousand arms at a time, [K]."""
    variance = np.full(arms, hypers.amplitude**2, float)
    step = max(1, _BLOCK // len(informed.visited))
    for at in range(0, arms, step):
        part = slice(at, min(at + step, arms))
        cross = rows.block(informed.visited, part)
        cross *= informed.root_information[:, None]
        reduction = solve_lower(informed.factor, cross)
        variance[part] -= np.einsum("vk,vk->k", reduction, reduction)
    return variance
