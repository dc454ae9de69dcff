"""Log posterior density of the hyper-parameters, with the mean m integrated out exactly.

Notation (beside that of `grid` and `asymptotes`):
    g = γ / q, so that γᵀCγ = gᵀg - gᵀA⁻¹g and the quadratic forms never cancel badly
    m ~ N(m_0, s_0²): given the rest its posterior is N(b/p, 1/p)
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.grid import factorise, whiten
from bhpt.beliefs.freeze_thaw.hypers import AMPLITUDE_AND_DECAY, DECAY, Hypers, Priors, Structure
from bhpt.beliefs.freeze_thaw.kernels import from_squared
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import FloatArray, IntArray

_LOG_2PI = float(np.log(2 * np.pi))
_REMEMBERED = 4  # slice sampling comes back to the last accepted decay; a few are enough


@dataclass(frozen=True)
class Evidence:
    """The evidence of the curves on θ.

    Attributes:
        log_density: log p(curves, θ), m integrated out.
        mean: Posterior mean of m given θ.
        variance: Posterior variance of m given θ.
    """

    log_density: float
    mean: float
    variance: float


@dataclass(frozen=True, eq=False)
class _Decayed:
    """What depends on (α, β, s, σ) alone."""

    log_density: float
    information: FloatArray
    gamma: FloatArray


class Target:
    """p(curves, θ) as a function of θ; remembers the factorisations it has just made."""

    def __init__(
        self,
        structure: Structure,
        priors: Priors,
        values: FloatArray,
        counts: IntArray,
        start: float,
        features: FloatArray,
    ) -> None:
        """Take scaled curves [V, T], their counts [V] and their encodings [V, D]."""
        self._structure = structure
        self._mean, self._sd = priors.mean
        self._centre, self._spread = priors.moments(structure, features.shape[1])
        self._counts = counts
        self._values = values[:, : int(counts.max(initial=0))]
        self._start = start
        apart = (features[:, None, :] - features[None, :, :]) ** 2
        self._apart = apart.reshape(-1, features.shape[1])  # squared, by feature, [V², D]
        self._seen_at = np.bincount(counts, minlength=self._values.shape[1] + 1)
        self._decayed: dict[bytes, _Decayed] = {}

    def __call__(self, theta: FloatArray) -> Evidence:
        """The evidence at θ; a density of zero where the model cannot be factorised."""
        centred = (theta - self._centre) / self._spread
        prior = -0.5 * float(centred @ centred)
        try:
            decayed = self._decay(theta)
            return self._collapse(theta, decayed, prior)
        except np.linalg.LinAlgError:
            return Evidence(-np.inf, self._mean, self._sd**2)

    def _decay(self, theta: FloatArray) -> _Decayed:
        key = theta[DECAY].tobytes()
        found = self._decayed.get(key)
        if found is None:
            found = self._factorise(Hypers.from_theta(theta, self._mean))
            if len(self._decayed) >= _REMEMBERED:
                self._decayed.pop(next(iter(self._decayed)))
            self._decayed[key] = found
        return found

    def _factorise(self, hypers: Hypers) -> _Decayed:
        rows, epochs = self._values.shape
        if not epochs:
            return _Decayed(0.0, np.zeros(rows), np.zeros(rows))
        factor = factorise(hypers, epochs, self._start, anchored=self._structure.anchored)
        whitened = whiten(factor, self._values, self._counts)
        u = factor.whitened_load
        information = np.concatenate([[0.0], np.cumsum(u**2)])[self._counts]
        log_diagonal = np.concatenate([[0.0], np.cumsum(np.log(factor.lower.diagonal()))])
        observations = int(self._counts.sum())
        density = (
            -0.5 * float(np.einsum("vt,vt->", whitened, whitened))
            - float(self._seen_at @ log_diagonal)
            - 0.5 * observations * _LOG_2PI
        )
        return _Decayed(density, information, whitened @ u)

    def _collapse(self, theta: FloatArray, decayed: _Decayed, prior: float) -> Evidence:
        """Add the asymptotes and integrate m out."""
        lam, gamma = decayed.information, decayed.gamma
        q = np.sqrt(lam)
        g = np.divide(gamma, q, out=np.zeros_like(gamma), where=q > 0)
        if self._structure.correlated:
            lower = cholesky(self._inner(theta, q))
            both = solve_lower(lower, np.array([g, q]).T)
            solved_g, solved_q = both[:, 0], both[:, 1]
            log_det = 2 * float(np.log(lower.diagonal()).sum())
        else:
            inner_diagonal = 1 + np.exp(2 * theta[0]) * lam
            solved_g, solved_q = g / np.sqrt(inner_diagonal), q / np.sqrt(inner_diagonal)
            log_det = float(np.log(inner_diagonal).sum())
        # with f = m + ..., the curves' residual form is (g - m q)ᵀA⁻¹(g - m q)
        quadratic = float(solved_g @ solved_g)
        density = decayed.log_density + 0.5 * (float(g @ g) - quadratic) - 0.5 * log_det
        precision = 1 / self._sd**2 + float(solved_q @ solved_q)
        pulled = self._mean / self._sd**2 + float(solved_q @ solved_g)
        density += 0.5 * pulled**2 / precision - 0.5 * (self._mean / self._sd) ** 2
        density -= 0.5 * float(np.log(precision * self._sd**2))
        return Evidence(prior + density, pulled / precision, 1 / precision)

    def _inner(self, theta: FloatArray, q: FloatArray) -> FloatArray:
        """A = I + q K_x q, [V, V]; K_x's own diagonal is s_f² whatever ρ is."""
        squared = (self._apart @ np.exp(-2 * theta[AMPLITUDE_AND_DECAY:-1])).reshape(len(q), -1)
        inner = from_squared(self._structure.kernel, squared)
        variance = np.exp(2 * theta[0])
        inner *= variance / (1 + np.exp(-theta[-1]))
        inner *= q[:, None]
        inner *= q
        np.fill_diagonal(inner, 1 + variance * q * q)
        return inner
