"""How long an epoch of each arm takes: learned from what ran, predicted for what did not.

The logarithm of the seconds an epoch takes is modelled as: a common centre (the median over
arms that ran), a ridge regression on the encoded configuration, what is particular to an arm,
and noise from unit to unit. Medians and absolute deviations are used for all spreads, so one
unit that met a busy machine does not change the others' prices.

Notation:
    K  arms, D  features, V  arms that ran; everything in logarithms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bhpt.domain import FloatArray, IntArray

_RIDGE = 0.2  # features lie in [0, 1]: an effect of a factor e and leftovers of 0.45 are usual
_ENOUGH = 4  # arms that must have run before the configuration is believed to matter
_NOISE = 0.3  # spread from unit to unit before one was measured
_STRANGE = 0.7  # spread from arm to arm before two have run
_LEAST = 0.02  # no clock is steadier than this
_UNLIKE = 0.2  # no two arms are more alike than this: an arm's own timings outweigh the others'
_MAD = 1.4826  # from a median absolute deviation to a standard deviation


@dataclass(frozen=True, eq=False)
class Paces:
    """Predicted seconds an epoch.

    Attributes:
        typical: The median prediction, [K].
        spread: Standard deviation of its logarithm, for one further unit, [K].
    """

    typical: FloatArray
    spread: FloatArray

    def safe(self, margin: float) -> FloatArray:
        """Seconds that an epoch exceeds only rarely: `margin` standard deviations above, [K]."""
        return self.typical * np.exp(margin * self.spread)


def predict_paces(features: FloatArray, seen: Mapping[int, Sequence[float]]) -> Paces | None:
    """Predict every arm's pace.

    Args:
        features: Encoded configurations, [K, D].
        seen: For each arm that ran, the logarithms of its seconds an epoch.

    Returns:
        None if nothing was timed yet.
    """
    timed = {arm: sorted(paces) for arm, paces in seen.items() if len(paces)}
    if not timed:
        return None
    arms = np.fromiter(timed, np.int64)
    middles = [_middle(paces) for paces in timed.values()]
    own = np.array(middles)
    counts = np.array([len(paces) for paces in timed.values()])
    noise = _noise(list(timed.values()), middles)
    guess = _regress(features, arms, own)
    strange = _strangeness(own - guess[arms])
    trust = counts / noise**2 / (counts / noise**2 + 1 / strange**2)
    mean, variance = guess.copy(), np.full(len(features), strange**2)
    mean[arms] = trust * own + (1 - trust) * guess[arms]
    variance[arms] = strange**2 * (1 - trust)
    return Paces(np.exp(mean), np.sqrt(variance + noise**2))


def _middle(ordered: Sequence[float]) -> float:
    """The median; there are many short lists of timings, and numpy's takes its time."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _noise(timed: Sequence[Sequence[float]], middles: Sequence[float]) -> float:
    """Spread from unit to unit of one arm."""
    away = [
        abs(pace - middle)
        for paces, middle in zip(timed, middles, strict=True)
        if len(paces) > 1
        for pace in paces
    ]
    return max(_LEAST, _MAD * _middle(sorted(away))) if away else _NOISE


def _strangeness(residuals: FloatArray) -> float:
    """Spread from arm to arm that the configuration does not explain."""
    if len(residuals) < 2:
        return _STRANGE
    return max(_UNLIKE, _MAD * float(np.median(np.abs(residuals))))


def _regress(features: FloatArray, arms: IntArray, own: FloatArray) -> FloatArray:
    """What the configuration says about every arm, [K]; never beyond what was seen."""
    centre = float(np.median(own))
    if len(own) < _ENOUGH:
        return np.full(len(features), centre)
    middle = features[arms].mean(axis=0)
    X = features[arms] - middle
    cut = 3 * _strangeness(own - centre)
    y = np.clip(own - centre, -cut, cut)
    if X.shape[0] < X.shape[1]:
        weights = X.T @ np.linalg.solve(X @ X.T + _RIDGE * np.eye(X.shape[0]), y)
    else:
        weights = np.linalg.solve(X.T @ X + _RIDGE * np.eye(X.shape[1]), X.T @ y)
    guess: FloatArray = centre + (features - middle) @ weights
    return np.clip(guess, own.min(), own.max())
