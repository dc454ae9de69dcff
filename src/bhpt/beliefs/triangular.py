"""Roots of covariances: Cholesky and triangular solves straight from LAPACK, and a spectral one.

Fits call them on small matrices tens of thousands of times a run, where the checks of the
general wrappers cost more than the arithmetic.
"""

from functools import cache
from types import ModuleType

import numpy as np

from bhpt.domain import FloatArray


@cache
def _lapack() -> ModuleType:
    """SciPy's LAPACK, which takes a fifth of a second to import: reading a study needs none."""
    from scipy.linalg import lapack

    module: ModuleType = lapack
    return module


def cholesky(matrix: FloatArray) -> FloatArray:
    """Lower factor of a positive definite matrix, zeros above the diagonal.

    Raises:
        np.linalg.LinAlgError: If it is not positive definite.
    """
    lower, info = _lapack().dpotrf(matrix, lower=1, clean=1)
    if info:
        raise np.linalg.LinAlgError(f"leading minor {info} is not positive definite")
    factor: FloatArray = lower
    return factor


def spectral_root(covariance: FloatArray) -> FloatArray:
    """A matrix R with R Rᵀ the covariance, [n, n], also for one that is singular to rounding."""
    values, vectors = np.linalg.eigh(covariance)
    root: FloatArray = vectors * np.sqrt(np.clip(values, 0, None))
    return root


def solve_lower(lower: FloatArray, right: FloatArray) -> FloatArray:
    """L⁻¹ times a vector or a matrix.

    Raises:
        np.linalg.LinAlgError: If the factor is singular.
    """
    return _solve(lower, right, 0)


def solve_lower_transposed(lower: FloatArray, right: FloatArray) -> FloatArray:
    """L⁻ᵀ times a vector or a matrix.

    Raises:
        np.linalg.LinAlgError: If the factor is singular.
    """
    return _solve(lower, right, 1)


def _solve(lower: FloatArray, right: FloatArray, transposed: int) -> FloatArray:
    if not right.size:
        return right
    solved, info = _lapack().dtrtrs(lower, right, lower=1, trans=transposed)
    if info:
        raise np.linalg.LinAlgError(f"diagonal element {info} of the factor is zero")
    answer: FloatArray = solved
    return answer
