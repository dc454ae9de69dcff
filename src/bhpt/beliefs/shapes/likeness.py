"""How far the ends of arms that are alike go together, sampled from the messages of their curves.

Notation:
    λ̃, γ̃   Gaussian message of each arm's curve about its end, [V];  q = √λ̃
    ℓ_d, ρ  length-scales and share of the kernel, as in `freeze_thaw.kernels`
    A      I + q K_x q;  log p(messages) = -½ log|A| - ½ gᵀA⁻¹g + .., g = (γ̃ - m λ̃) / q
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.hypers import LogNormal
from bhpt.beliefs.freeze_thaw.kernels import from_squared
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import FloatArray

LENGTH = LogNormal(1.0, 1.0)
LOGIT_RHO = (0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Messages:
    """What arms' own curves say of their ends, for one setting of the study.

    Attributes:
        information: λ̃, positive, [V].
        gamma: γ̃, [V].
        mean: m, the mean of all ends.
        deviation: s_f, their deviation.
    """

    information: FloatArray
    gamma: FloatArray
    mean: float
    deviation: float


def prior_likeness(features: int) -> FloatArray:
    """Where a chain starts: the centre of the prior of (log ℓ, logit ρ), [D + 1]."""
    return np.append(np.full(features, np.log(LENGTH.median)), LOGIT_RHO[0])


class LikenessTarget:
    """Log density of (log ℓ, logit ρ) given messages, up to a constant."""

    def __init__(self, features: FloatArray, messages: Messages) -> None:
        """Take the encodings of the arms, [V, D], and what their curves say."""
        apart = (features[:, None, :] - features[None, :, :]) ** 2
        self._apart = apart.reshape(-1, features.shape[1])
        self._root = np.sqrt(messages.information)
        self._residual = (messages.gamma - messages.mean * messages.information) / self._root
        self._variance = messages.deviation**2
        self._spread = np.append(np.full(features.shape[1], LENGTH.log_sd), LOGIT_RHO[1])
        self._centre = prior_likeness(features.shape[1])

    def __call__(self, theta: FloatArray) -> float:
        """The log density; minus infinity where the kernel cannot be factorised."""
        apart = (theta - self._centre) / self._spread
        prior = -0.5 * float(apart @ apart)
        try:
            lower = cholesky(self._inner(theta))
        except np.linalg.LinAlgError:
            return -np.inf
        solved = solve_lower(lower, self._residual)
        return prior - float(np.log(lower.diagonal()).sum()) - 0.5 * float(solved @ solved)

    def _inner(self, theta: FloatArray) -> FloatArray:
        """A, [V, V]."""
        q = self._root
        squared = (self._apart @ np.exp(-2 * theta[:-1])).reshape(len(q), -1)
        inner = from_squared("matern52", squared)
        inner *= self._variance / (1 + np.exp(-theta[-1]))
        inner *= q[:, None]
        inner *= q
        np.fill_diagonal(inner, 1 + self._variance * q * q)
        return inner
