"""How likely observed curves are if all arms of a study share one decay, arm by arm.

The ends of the arms are taken as independent here: what is asked is how curves run, not which arms
are alike. The epochs are those that the belief with shapes keeps, so that both say how likely the
same numbers are.

Notation as in `grid`, `asymptotes` and `hypers` of `freeze_thaw`; V rows, N kept epochs.
"""

import numpy as np

from bhpt.beliefs.freeze_thaw.grid import Factor, whiten
from bhpt.beliefs.freeze_thaw.hypers import Hypers
from bhpt.beliefs.freeze_thaw.kernels import decay_covariance, remainder
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import FloatArray, IntArray

_LOG_2PI = float(np.log(2 * np.pi))
_JITTER = 1e-12  # relative to the largest variance


def decay_densities(
    hypers: Hypers, epochs: IntArray, values: FloatArray, counts: IntArray, start: float
) -> FloatArray:
    """Log p(y_k | θ) of every row, curves anchored at the start, [V].

    Args:
        hypers: θ, and m.
        epochs: The kept epochs, 1-based, [N].
        values: Scaled values at the first n of them, [V, n].
        counts: How many of them were observed, [V].
        start: The scaled ℓ_0.

    Returns:
        Minus infinity for all rows if the covariance of the epochs cannot be factorised.
    """
    try:
        factor = _factorised(hypers, epochs[: values.shape[1]], start)
    except np.linalg.LinAlgError:
        return np.full(len(counts), -np.inf)
    whitened, u = whiten(factor, values, counts), factor.whitened_load
    information = _summed(u**2)[counts]
    gamma, mean, variance = whitened @ u, hypers.mean, hypers.amplitude**2
    residual = gamma - mean * information
    after = variance / (1 + variance * information)
    cost = np.einsum("vt,vt->v", whitened, whitened) - mean * (gamma + residual)
    density: FloatArray = (
        -0.5 * (cost - after * residual**2 + np.log1p(variance * information))
        - _summed(np.log(factor.lower.diagonal()))[counts]
        - 0.5 * _LOG_2PI * counts
    )
    return density


def _factorised(hypers: Hypers, epochs: IntArray, start: float) -> Factor:
    remains = remainder(hypers, int(epochs.max(initial=0)))
    covariance = decay_covariance(remains, hypers, anchored=True)
    kept = covariance[np.ix_(epochs - 1, epochs - 1)]
    kept[np.diag_indices(len(epochs))] += _JITTER * kept.diagonal().max(initial=0.0)
    lower, left = cholesky(kept), remains[epochs]
    return Factor(lower, start * left, 1 - left, solve_lower(lower, 1 - left))


def _summed(steps: FloatArray) -> FloatArray:
    """Sums of the first 0, 1, .. numbers."""
    return np.concatenate([[0.0], np.cumsum(steps)])
