"""The protocol of predictors: everything that predicts where learning curves go.

A study has one predictor. Its policy, the explanations of decisions, the live view, `status`,
`forecast` and the cap on checkpoints all use it, so they agree. Predictions are losses, as the
trainer reports them.

Notation:
    K  arms, A  some of them, T  epochs of a full training, S  draws, Q  probabilities
    e_k  lowest loss of arm k once it has been trained for its horizon, what it has reached included
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from bhpt.domain import FloatArray, IntArray, View


class Ends(Protocol):
    """The predicted e_k of every arm of a view: marginals and joint draws.

    Arms about which nothing is known are NaN. No number is below zero if no loss ever was, and
    none is above what an arm has reached already.

    Ends that tell about one arm in less time than about all have `quantile_of(arm, probability)`,
    too: up to rounding what `quantiles` says of it.
    """

    def mean(self) -> FloatArray:
        """E[e_k], [K]."""
        ...

    def deviation(self) -> FloatArray:
        """Standard deviation of e_k, [K]."""
        ...

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles of e_k, [Q, K]."""
        ...

    def mean_at_most(self, loss: float) -> FloatArray:
        """E[min(e_k, loss)], [K]."""
        ...

    def draws(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of e_k for some arms, [S, A]."""
        ...

    def paths(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of how the lowest loss of some arms falls as they train, [S, A, T + 1].

        Column t is the lowest loss of an arm that has been trained for t epochs in all, whatever
        is left of the budget; up to the epochs that it has had, it is what it has reached. Paths
        never rise.
        """
        ...

    def within(self, horizon: IntArray) -> "Ends":
        """The same view, with other horizons in units, [K]."""
        ...


class Predictor(Protocol):
    """Predicts where every arm of a view ends within its horizon.

    A pure function of the view. What it prepares once a study it keeps in `view.memory`.

    One that knows losses by their improvements alone, so that it may be shown any rising function
    of them, says so by an attribute `scale_free` that is true.
    """

    def predict(self, view: View) -> Ends:
        """The ends of all arms, given everything that the view shows."""
        ...


def scale_free(predictor: Predictor) -> bool:
    """Whether a predictor may be shown any rising function of losses in their place."""
    return bool(getattr(predictor, "scale_free", False))


def prediction_floor(view: View) -> float:
    """The floor of every prediction: 0 if no loss was ever negative, else minus infinity."""
    return 0.0 if view.curves.best >= 0 else -np.inf


def doubling_horizons(longest: int) -> IntArray:
    """Further units at which a curve is predicted: none, powers of two, and the longest, [L]."""
    powers = 2 ** np.arange(int(np.log2(longest)) + 1)
    return np.unique([0, *powers, longest])
