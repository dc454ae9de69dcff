"""One factorisation of the epoch grid that serves every arm: the prefix structure.

Every arm is observed at epochs 1..n of the same grid, so the Cholesky factor of its own
covariance is the leading n×n block of one L, a forward substitution is causal, and everything
that a prediction needs is a prefix sum.

Notation:
    L    Cholesky factor of K_t on the whole grid, [T, T]
    b    what a curve decays from: a(t) ℓ_0 if anchored, else 0, [T]
    h    load of the asymptote on epoch t: 1 - a(t) if anchored, else 1, [T]
    u    L⁻¹h, [T];  λ(n) = Σ_{i<n} u_i², [T + 1]
    Ω    Ω[n, t] = h_t - Σ_{i<n} L_ti u_i: what μ weighs at t once n epochs are seen, [T + 1, T]
    R    R[n, t] = K_tt - Σ_{i<n} L_ti²: variance left at t if the asymptote were known
    W    L⁻¹(y - b), zero from n_k on, [V, T];  P = W Lᵀ, [V, T];  γ_k = Σ_i u_i W_ki
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.hypers import Hypers
from bhpt.beliefs.freeze_thaw.kernels import decay_covariance, remainder
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import BoolArray, FloatArray, IntArray

_JITTER = 1e-12  # relative to the largest variance: keeps a noise-free kernel factorisable
_MORE_JITTER = (1e-10, 1e-8, 1e-6, 1e-4, 1e-2)  # where rounding alone has made it indefinite


@dataclass(frozen=True, eq=False)
class Grid:
    """The factorised epoch grid for one setting of the hyper-parameters (see the notation)."""

    factor: FloatArray
    base: FloatArray
    load: FloatArray
    whitened_load: FloatArray
    information: FloatArray
    omega: FloatArray
    residual: FloatArray

    @property
    def epochs(self) -> int:
        """T."""
        return len(self.load)


@dataclass(frozen=True, eq=False)
class Factor:
    """The part of a grid that the evidence needs: L, u, b for the epochs seen so far."""

    lower: FloatArray
    base: FloatArray
    load: FloatArray
    whitened_load: FloatArray


def factorise(hypers: Hypers, epochs: int, start: float, *, anchored: bool) -> Factor:
    """Factorise the first `epochs` epochs; `start` is the scaled ℓ_0.

    Raises:
        np.linalg.LinAlgError: If rounding has made the covariance indefinite.
    """
    return _factorise(hypers, epochs, start, anchored=anchored, jitter=_JITTER, rounding=0.0)


def _factorise(
    hypers: Hypers, epochs: int, start: float, *, anchored: bool, jitter: float, rounding: float
) -> Factor:
    """`factorise` with so much added noise, relative to the largest variance and to s²."""
    remains = remainder(hypers, epochs)
    covariance = decay_covariance(remains, hypers, anchored=anchored)
    added = jitter * covariance.diagonal().max() + rounding * hypers.magnitude**2
    covariance[np.diag_indices(epochs)] += added
    lower = cholesky(covariance)
    left = remains[1 : epochs + 1] if anchored else np.zeros(epochs)
    load = 1 - left
    whitened = solve_lower(lower, load)
    return Factor(lower, start * left, load, whitened)


def _factorise_somehow(hypers: Hypers, epochs: int, start: float, *, anchored: bool) -> Factor:
    """The factor with as little added noise as it takes.

    A decay that is still all but flat at the last epoch is a difference of numbers near s², whose
    rounding no noise relative to what is left of them outweighs: so s² itself counts as well.
    """
    try:
        return factorise(hypers, epochs, start, anchored=anchored)
    except np.linalg.LinAlgError:
        pass
    for jitter in _MORE_JITTER[:-1]:
        try:
            return _factorise(
                hypers, epochs, start, anchored=anchored, jitter=jitter, rounding=jitter
            )
        except np.linalg.LinAlgError:
            continue
    most = _MORE_JITTER[-1]
    return _factorise(hypers, epochs, start, anchored=anchored, jitter=most, rounding=most)


def make_grid(hypers: Hypers, epochs: int, start: float, *, anchored: bool) -> Grid:
    """The grid with its prefix tables; `start` is the scaled ℓ_0.

    A setting may fit the epochs seen so far and yet be too smooth for all of them to be
    factorised: then it gets a little more noise.
    """
    return with_prefix_tables(_factorise_somehow(hypers, epochs, start, anchored=anchored))


def with_prefix_tables(factor: Factor) -> Grid:
    """The tables that follow from a factorised grid of epochs."""
    lower, u = factor.lower, factor.whitened_load
    epochs = len(u)
    omega = np.empty((epochs + 1, epochs))
    omega[0] = factor.load
    omega[1:] = factor.load - np.cumsum(lower * u, axis=1).T
    squared = lower**2
    residual = np.empty((epochs + 1, epochs))
    residual[0] = squared.sum(axis=1)
    residual[1:] = residual[0] - np.cumsum(squared, axis=1).T
    np.maximum(residual, 0, out=residual)
    information = np.concatenate([[0.0], np.cumsum(u**2)])
    return Grid(lower, factor.base, factor.load, u, information, omega, residual)


def whiten(factor: Factor, values: FloatArray, counts: IntArray) -> FloatArray:
    """W, zero from each row's count on, [V, n] for values [V, n] on the first n epochs."""
    n = values.shape[1]
    seen = np.arange(n)[None, :] < counts[:, None]
    centred = np.where(seen, values - factor.base[:n], 0.0)
    lower = factor.lower[:n, :n]
    solved = solve_lower(lower, centred.T).T
    whitened: FloatArray = np.where(seen, solved, 0.0)
    return whitened


@dataclass(frozen=True, eq=False)
class Rows:
    """Visited curves seen through a grid: P and γ (see the notation), reusable row by row."""

    values: FloatArray
    counts: IntArray
    projected: FloatArray
    gamma: FloatArray


def project(grid: Grid, values: FloatArray, counts: IntArray, known: Rows | None = None) -> Rows:
    """Project scaled curves [V, n] on the grid; rows unchanged since `known` are kept.

    A new unit changes one row, so a step costs O(T n) for it and a copy for the others.
    """
    projected = np.empty((len(values), grid.epochs))
    gamma = np.zeros(len(values))
    todo = np.arange(len(values))
    if known is not None:
        old = min(len(known.counts), len(counts))
        projected[:old], gamma[:old] = known.projected[:old], known.gamma[:old]
        changed = np.ones(len(values), bool)
        changed[:old] = ~_unchanged(known, values[:old], counts[:old])
        todo = np.flatnonzero(changed)
    if todo.size:
        n = int(counts[todo].max())
        factor = Factor(grid.factor, grid.base, grid.load, grid.whitened_load)
        whitened = whiten(factor, values[todo, :n], counts[todo])
        projected[todo] = whitened @ grid.factor[:, :n].T
        gamma[todo] = whitened @ grid.whitened_load[:n]
    return Rows(values, counts, projected, gamma)


def _unchanged(known: Rows, values: FloatArray, counts: IntArray) -> BoolArray:
    """Which rows have the same epochs and the same values as the known ones before them, [V]."""
    rows = len(counts)
    same = known.counts[:rows] == counts
    shared = min(known.values.shape[1], values.shape[1])
    alike: BoolArray = np.all(known.values[:rows, :shared] == values[:, :shared], axis=1)
    unchanged: BoolArray = same & alike
    return unchanged
