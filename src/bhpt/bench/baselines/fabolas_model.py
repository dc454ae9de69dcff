"""Fabolas' surrogate, adapted: the loss of a configuration at a part of its training.

Notation:
    s    log(units)/log(all units) in [0, 1], in place of the subset size;  b(s) = (1 - s)²
    y(x, s) = F(x) + b(s) H(x) + noise: F at full training, H what is still to come
    F = m_0 + a g_0,  H = m_1 + c a g_0 + d a g_1 with independent g_0, g_1 ~ GP(0, k), k Matérn
    5/2, and Gaussian m_0, m_1: this is Fabolas' product kernel with φ(s) = (1, b(s)), written
    as the two functions it is made of
    θ = (log a, log σ, c, log d, log λ_1 .. log λ_D)
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.kernels import correlation
from bhpt.beliefs.triangular import spectral_root
from bhpt.bench.baselines.regression import draw_settings, log_evidence, regress
from bhpt.domain import FloatArray, IntArray

_LEAST_NOISE = 1e-9  # variance, as part of all: curves that do not move at all leave no noise
_MEANS = (-1.0, 1.0)  # of m_0 and m_1, in logarithms of the untrained loss ...
_MEAN_VARIANCES = (1.0, 1.0)  # ... and their variances
_CENTRE = (float(np.log(0.5)), float(np.log(0.1)), 0.0, float(np.log(0.5)), 0.0)
_SPREAD = (0.7, 1.0, 1.0, 1.0, 1.0)


@dataclass(frozen=True, eq=False)
class FabolasData:
    """Losses of partly trained arms.

    Attributes:
        features: Encoded configuration of each observation, [N, D].
        basis: b(s) of each, [N].
        values: Logarithm of the loss over the untrained one, [N].
    """

    features: FloatArray
    basis: FloatArray
    values: FloatArray


@dataclass(frozen=True, eq=False)
class FidelityPair:
    """Joint Gaussian of F and H at some arms.

    Attributes:
        mean: F of all arms, then H of all arms, [2M].
        covariance: Likewise, [2M, 2M].
        noise: Variance of σ.
    """

    mean: FloatArray
    covariance: FloatArray
    noise: float


@dataclass(frozen=True)
class FabolasSetting:
    """One setting of θ, in natural units."""

    amplitude: float
    noise: float
    slope: float
    scatter: float
    lengths: tuple[float, ...]

    @classmethod
    def of(cls, theta: FloatArray) -> "FabolasSetting":
        """From the vector."""
        amplitude, noise, scatter = np.exp(theta[[0, 1, 3]]).tolist()
        return cls(amplitude, noise, float(theta[2]), scatter, tuple(np.exp(theta[4:]).tolist()))

    def blocks(self, left: FloatArray, right: FloatArray) -> tuple[FloatArray, ...]:
        """Cov(F, F'), Cov(F, H'), Cov(H, H'), each [A, B]."""
        shared = self.amplitude**2 * correlation("matern52", self.lengths, left, right)
        return (
            _MEAN_VARIANCES[0] + shared,
            self.slope * shared,
            _MEAN_VARIANCES[1] + (self.slope**2 + self.scatter**2) * shared,
        )


def centre(features: int) -> FloatArray:
    """The prior's middle, where a first chain starts."""
    return np.array([*_CENTRE[:4], *[_CENTRE[4]] * features])


def noisy(setting: FabolasSetting, seen: FabolasData) -> FloatArray:
    """Covariance of the observations, [N, N]."""
    ff, fh, hh = setting.blocks(seen.features, seen.features)
    b = seen.basis
    covariance = ff + fh * (b[:, None] + b[None, :]) + hh * np.outer(b, b)
    least = _LEAST_NOISE * float(covariance.diagonal().max(initial=0.0))
    covariance[np.diag_indices(len(b))] += max(setting.noise**2, least)
    return covariance


def centred(seen: FabolasData) -> FloatArray:
    """Observations less their prior mean, [N]."""
    return seen.values - _MEANS[0] - _MEANS[1] * seen.basis


def fit(
    seen: FabolasData, start: FloatArray, rng: np.random.Generator, *, samples: int, burn: int
) -> list[FloatArray]:
    """Slice sampled θ given the observations."""
    middle = centre(seen.features.shape[1])
    spread = np.array([*_SPREAD[:4], *[_SPREAD[4]] * seen.features.shape[1]])
    residual = centred(seen)

    def log_density(theta: FloatArray) -> float:
        away = (theta - middle) / spread
        return log_evidence(noisy(FabolasSetting.of(theta), seen), residual) - 0.5 * float(
            away @ away
        )

    return draw_settings(log_density, start, rng, samples=samples, burn=burn, thin=1)


def condition(setting: FabolasSetting, seen: FabolasData, points: FloatArray) -> FidelityPair:
    """F and H at points [M, D] given the observations."""
    ff, fh, hh = setting.blocks(points, points)
    prior = np.block([[ff, fh], [fh, hh]])
    across_ff, across_fh, across_hh = setting.blocks(seen.features, points)
    b = seen.basis[:, None]
    cross = np.hstack([across_ff + b * across_fh, across_fh + b * across_hh])
    shift, reduction = regress(noisy(setting, seen), cross, centred(seen))
    mean = np.repeat(_MEANS, len(points)) + shift
    return FidelityPair(mean, prior - reduction.T @ reduction, setting.noise**2)


def at_the_end(
    setting: FabolasSetting, seen: FabolasData, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of F alone at points [M, D]: no covariance, for many arms."""
    across_ff, across_fh, _ = setting.blocks(seen.features, points)
    cross = across_ff + seen.basis[:, None] * across_fh
    shift, reduction = regress(noisy(setting, seen), cross, centred(seen))
    before = _MEAN_VARIANCES[0] + setting.amplitude**2
    variance = before - np.einsum("nm,nm->m", reduction, reduction)
    return _MEANS[0] + shift, np.sqrt(np.maximum(variance, 0.0))


def draw(pair: FidelityPair, size: int, rng: np.random.Generator) -> FloatArray:
    """Joint draws of F and H, [size, 2M]."""
    root = spectral_root(pair.covariance)
    drawn: FloatArray = pair.mean + rng.standard_normal((size, len(pair.mean))) @ root.T
    return drawn


def basis(units: IntArray, most: int) -> FloatArray:
    """b(s) after so many units of at most `most`."""
    if most == 1:
        return np.zeros(len(units))
    part = np.log(units) / np.log(most)
    left: FloatArray = (1 - np.minimum(part, 1.0)) ** 2
    return left
