"""Ends as a Gaussian belief has them: mixtures of Gaussians of scaled values, read as losses.

An end is ν, cut where no loss can be: at what the arm has reached already, and at zero if no loss
was ever negative. Moments are sums over the nodes of a Gauss-Hermite rule, so that any scale and
both cuts are treated alike.

Notation:
    K  arms, A  some of them, T  epochs, S  settings of the hyper-parameters, N  nodes
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.beliefs.predictor import prediction_floor
from bhpt.domain import FloatArray, IntArray, View

_HALVINGS = 60  # of a bracket: then it is as narrow as doubles are
_TINY = 1e-300
_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(40)
_MASSES = _MASSES / _MASSES.sum()


@dataclass(frozen=True, eq=False)
class MixtureEnds:
    """The ends of all arms of a view.

    Attributes:
        view: The moment.
        mixture: The belief's posterior at it.
        horizon: Units that each arm is trained for, [K].
    """

    view: View
    mixture: Mixture
    horizon: IntArray

    def mean(self) -> FloatArray:
        """E[e_k], [K]."""
        return self._averaged(self._nodes)

    def deviation(self) -> FloatArray:
        """Standard deviation of e_k, [K]."""
        apart = self._nodes - self.mean()
        deviation: FloatArray = np.sqrt(self._averaged(apart**2))
        return deviation

    def mean_at_most(self, loss: float) -> FloatArray:
        """E[min(e_k, loss)], [K]."""
        return self._averaged(np.minimum(self._nodes, loss))

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles of e_k, [Q, K]."""
        found = mixture_quantiles(
            self._means, self._deviations, self.mixture.weights, np.asarray(probabilities)
        )
        return self._cut(self.mixture.scaled.loss(found))

    def below(self, losses: FloatArray) -> FloatArray:
        """Probability that an arm would end at or below so much if no end were cut, [Q, K]."""
        scaled = self.mixture.scaled
        value = (losses - scaled.zero) / scaled.height
        if scaled.log:
            with np.errstate(divide="ignore"):
                value = np.log(np.maximum(value, 0.0))
        apart = (value[:, None] - self._means) / np.maximum(self._deviations, _TINY)
        found: FloatArray = np.einsum("s,qsk->qk", self.mixture.weights, ndtr(apart))
        return found

    def draws(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of e_k for some arms, [S, A]."""
        epochs = self.mixture.counts + self.horizon * self.view.unit
        last = np.minimum(epochs, self.view.curves.epochs)[arms]
        drawn: FloatArray = self.paths(arms, size, rng)[:, np.arange(len(arms)), last]
        return drawn

    def paths(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of how the lowest loss of some arms falls as they train, [S, A, T + 1]."""
        losses = self.mixture.scaled.loss(self.mixture.futures(arms, size, rng))
        return lowest_paths(self.view, arms, losses)

    def within(self, horizon: IntArray) -> "MixtureEnds":
        """The same view, with other horizons in units, [K]."""
        return MixtureEnds(self.view, self.mixture, horizon)

    @property
    def _floor(self) -> float:
        return prediction_floor(self.view)

    @cached_property
    def _components(self) -> tuple[FloatArray, FloatArray]:
        """Means and deviations of ν for every setting, [S, K] and [S, K]."""
        horizon = self.horizon * self.view.unit
        ends = [component.ends(horizon) for component in self.mixture.components]
        variances = np.stack([end.variance for end in ends])
        return np.stack([end.mean for end in ends]), np.sqrt(variances)

    @property
    def _means(self) -> FloatArray:
        return self._components[0]

    @property
    def _deviations(self) -> FloatArray:
        return self._components[1]

    @cached_property
    def _nodes(self) -> FloatArray:
        """The losses that the nodes of every setting stand for, [S, N, K]."""
        values = self._means[:, None] + self._deviations[:, None] * _NODES[:, None]
        return self._cut(self.mixture.scaled.loss(values))

    def _averaged(self, nodes: FloatArray) -> FloatArray:
        """Average over nodes and settings, [K] of [S, N, K]."""
        found: FloatArray = np.einsum("s,n,snk->k", self.mixture.weights, _MASSES, nodes)
        return found

    def _cut(self, losses: FloatArray) -> FloatArray:
        """Losses between the floor and what each arm has reached; NaN where neither is finite."""
        cut = np.minimum(np.maximum(losses, self._floor), self.view.curves.best_by_arm)
        return np.where(np.isfinite(cut), cut, np.nan)


def lowest_paths(view: View, arms: IntArray, losses: FloatArray) -> FloatArray:
    """How the lowest loss of some arms falls along drawn curves, [S, A, T + 1] of [S, A, T]."""
    losses = np.maximum(losses, prediction_floor(view))
    reached = view.curves.best_by_arm[arms][:, None]
    seen = np.arange(losses.shape[2]) < view.curves.count_by_arm[arms][:, None]
    losses = np.where(seen, reached, losses)
    start = np.broadcast_to(reached, (*losses.shape[:2], 1))
    lowest = np.minimum.accumulate(np.concatenate([start, losses], axis=2), axis=2)
    return np.where(np.isfinite(lowest), lowest, np.nan)


def mixture_quantiles(
    means: FloatArray, deviations: FloatArray, weights: FloatArray, quantiles: FloatArray
) -> FloatArray:
    """Quantiles of mixtures of Gaussians, one mixture an arm, by bisection, [Q, K].

    Args:
        means: Of every component, [S, K]; infinite means give infinite quantiles.
        deviations: Likewise, [S, K].
        weights: Probabilities of the components, [S], or by arm, [S, K].
        quantiles: Probabilities asked for, [Q].
    """
    some = np.isfinite(means).all(axis=0)
    shares = np.broadcast_to(weights.reshape(len(weights), -1), means.shape)[:, some]
    centre, spread = means[:, some], np.maximum(deviations[:, some], _TINY)
    # a mixture's quantile lies between those of its components
    of_each = centre + ndtri(quantiles)[:, None, None] * spread
    low, high = of_each.min(axis=1), of_each.max(axis=1)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = np.einsum("sk,qsk->qk", shares, ndtr((middle[:, None] - centre) / spread))
        short = below < quantiles[:, None]
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    found = np.full((len(quantiles), means.shape[1]), np.inf)
    found[:, some] = (low + high) / 2
    return found
