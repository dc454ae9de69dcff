"""Plain Gaussian-process regression: values at points in, a Gaussian at other points out.

Notation:
    N  observations, M  points asked about
    A  covariance of the observations, noise included, [N, N];  A = LLᵀ
    X  covariance of observations and points, [N, M];  e  centred observations, [N]
"""

from collections.abc import Callable

import numpy as np

from bhpt.beliefs.slice_sampling import sweep
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import FloatArray

Regressed = tuple[FloatArray, FloatArray]
_LOG_2PI = float(np.log(2 * np.pi))
_STEP, _OUTS = 0.5, 10  # the paper's slice sampling: step size, most steps out


def regress(noisy: FloatArray, cross: FloatArray, centred: FloatArray) -> Regressed:
    """What the observations do to a prior.

    Args:
        noisy: A.
        cross: X.
        centred: e.

    Returns:
        XᵀA⁻¹e to add to the prior mean, [M], and L⁻¹X, [N, M], whose products are to be taken
        from the prior covariance.
    """
    solved = solve_lower(cholesky(noisy), np.column_stack([cross, centred]))
    reduction = solved[:, :-1]
    return reduction.T @ solved[:, -1], reduction


def log_evidence(noisy: FloatArray, centred: FloatArray) -> float:
    """Log density of the observations; minus infinity where A cannot be factorised."""
    try:
        lower = cholesky(noisy)
    except np.linalg.LinAlgError:
        return -np.inf
    solved = solve_lower(lower, centred)
    log_det = 2 * float(np.log(lower.diagonal()).sum())
    return -0.5 * (float(solved @ solved) + log_det + len(centred) * _LOG_2PI)


def draw_settings(
    log_density: Callable[[FloatArray], float],
    start: FloatArray,
    rng: np.random.Generator,
    *,
    samples: int,
    burn: int = 10,
    thin: int = 2,
) -> list[FloatArray]:
    """Hyper-parameters by slice sampling, `samples` vectors like `start`."""
    theta, height = start, log_density(start)
    drawn = []
    for i in range(samples):
        for _ in range(burn if i == 0 else thin):
            theta, height = sweep(log_density, theta, height, rng, step=_STEP, outs=_OUTS)
        drawn.append(theta)
    return drawn
