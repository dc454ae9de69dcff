"""Expected improvement of a Gaussian over the best value so far, plain and as a logarithm.

Notation:
    X ~ N(μ, σ²), ζ  the best so far, s = (ζ - μ)/σ
    EI = E(ζ - X)⁺ = σ h(s) with h(s) = sΦ(s) + φ(s)
"""

import numpy as np
from scipy.special import erfcx, ndtr

from bhpt.beliefs.expected_min import density
from bhpt.domain import FloatArray

_LOG_ROOT_2PI = 0.5 * float(np.log(2 * np.pi))
_DENSITY_AT_0 = 1 / float(np.sqrt(2 * np.pi))
_NEAR = -1.0  # above it h(s) is computed as it stands
_FAR = -1e4  # below it h(s) = φ(s)/s² to a double's precision


def improvement(mean: FloatArray, deviation: FloatArray, best: FloatArray | float) -> FloatArray:
    """E(ζ - X)⁺, never negative; shapes broadcast, a deviation of zero means X is known."""
    gap = best - mean
    uncertain = deviation > 0
    s = np.asarray(gap / np.where(uncertain, deviation, 1.0))
    gained = np.asarray(ndtr(s))  # in place from here on: rollouts come here with a million
    gained *= s
    np.square(s, out=s)
    s *= -0.5
    np.exp(s, out=s)
    s *= _DENSITY_AT_0
    gained += s
    gained *= deviation
    np.maximum(gained, 0.0, out=gained)
    if not uncertain.all():
        gained = np.where(uncertain, gained, np.maximum(gap, 0.0))
    return gained


def log_improvement(
    mean: FloatArray, deviation: FloatArray, best: FloatArray | float
) -> FloatArray:
    """The logarithm of E(ζ - X)⁺: ranks arms even where that is too small for a double."""
    gap = best - mean
    uncertain = deviation > 0
    sigma = np.where(uncertain, deviation, 1.0)
    with np.errstate(divide="ignore"):
        known = np.log(np.maximum(gap, 0.0))
    return np.where(uncertain, np.log(sigma) + log_h(gap / sigma), known)


def log_h(s: FloatArray) -> FloatArray:
    """log(sΦ(s) + φ(s)) without cancellation, for every finite s."""
    near = np.maximum(s, _NEAR)
    tail = np.clip(s, _FAR, _NEAR)
    # h = φ (1 + sΦ/φ), and Φ(s)/φ(s) = √(π/2) erfcx(-s/√2) does not underflow
    ratio = 1 + tail * np.sqrt(np.pi / 2) * erfcx(-tail / np.sqrt(2))
    beyond = np.minimum(s, _FAR)
    log_density = -0.5 * np.square(np.minimum(s, _NEAR)) - _LOG_ROOT_2PI
    return np.where(
        s > _NEAR,
        np.log(near * ndtr(near) + density(near)),
        log_density + np.where(s > _FAR, np.log(ratio), -2 * np.log(-beyond)),
    )
