"""The same posterior the slow way: one joint Gaussian over all epochs of all arms.

This is the oracle that the fast posterior is tested against.
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.hypers import Hypers, Structure
from bhpt.beliefs.freeze_thaw.kernels import asymptote_covariance, decay_covariance, remainder
from bhpt.domain import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Dense:
    """Joint Gaussian of the curves of all arms, [K·T], and of the asymptotes, [K]."""

    mean: FloatArray
    covariance: FloatArray
    cross: FloatArray
    prior: FloatArray
    hypers: Hypers
    epochs: int

    @classmethod
    def make(
        cls, structure: Structure, hypers: Hypers, features: FloatArray, epochs: int, start: float
    ) -> "Dense":
        """Write every covariance down in full."""
        arms = len(features)
        remains = remainder(hypers, epochs)
        within = decay_covariance(remains, hypers, anchored=structure.anchored)
        left = remains[1 : epochs + 1] if structure.anchored else np.zeros(epochs)
        load = 1 - left
        prior = asymptote_covariance(structure.kernel, hypers, features, features, np.eye(arms))
        covariance = np.kron(prior, np.outer(load, load)) + np.kron(np.eye(arms), within)
        mean = np.tile(start * left + load * hypers.mean, arms)
        cross: FloatArray = np.kron(prior, load[:, None]).astype(np.float64)
        return cls(mean, covariance, cross, prior, hypers, epochs)

    def seen(self, counts: IntArray) -> IntArray:
        """Flat indices of the first n_k epochs of every arm."""
        return np.concatenate(
            [arm * self.epochs + np.arange(n) for arm, n in enumerate(counts)]
        ).astype(np.int64)

    def predict(self, values: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of all curves given their prefixes: [K·T], [K·T, K·T]."""
        at = self.seen(counts)
        gain = np.linalg.solve(self.covariance[np.ix_(at, at)], self.covariance[at]).T
        residual = values.reshape(-1)[at] - self.mean[at]
        return self.mean + gain @ residual, self.covariance - gain @ self.covariance[at]

    def asymptotes(self, values: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of f given the prefixes: [K], [K, K]."""
        at = self.seen(counts)
        gain = np.linalg.solve(self.covariance[np.ix_(at, at)], self.cross[at]).T
        residual = values.reshape(-1)[at] - self.mean[at]
        return self.hypers.mean + gain @ residual, self.prior - gain @ self.cross[at]

    def log_evidence(self, values: FloatArray, counts: IntArray) -> float:
        """Log density of the observed prefixes."""
        at = self.seen(counts)
        covariance = self.covariance[np.ix_(at, at)]
        residual = values.reshape(-1)[at] - self.mean[at]
        _, log_det = np.linalg.slogdet(covariance)
        quadratic = residual @ np.linalg.solve(covariance, residual)
        return float(-0.5 * (quadratic + log_det + len(at) * np.log(2 * np.pi)))
