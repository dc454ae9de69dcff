"""How long an epoch of each arm takes: learned from what ran, predicted for what did not.

The logarithm of the seconds an epoch takes is modelled as: a common centre (the median over
arms that ran), a ridge regression on the encoded configuration, what is particular to an arm,
and noise from unit to unit. Medians and absolute deviations are used for all spreads, so one
unit that met a busy machine does not change the others' prices.

Notation:
    K  arms, D  features, V  arms that ran, P  timings of one arm; everything in logarithms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from bhpt.domain import FloatArray, IntArray

Array = TypeVar("Array", FloatArray, IntArray)

COMMON = 512
"""Arms, the latest that ran, from which the others are predicted: enough, and bounded work."""

_RIDGE = 0.2  # features lie in [0, 1]: an effect of a factor e and leftovers of 0.45 are usual
_ENOUGH = 4  # arms that must have run before the configuration is believed to matter
_NOISE = 0.3  # spread from unit to unit before one was measured
_STRANGE = 0.7  # spread from arm to arm before two have run
_LEAST = 0.02  # no clock is steadier than this
_UNLIKE = 0.2  # no two arms are more alike than this: an arm's own timings outweigh the others'
_MAD = 1.4826  # from a median absolute deviation to a standard deviation


@dataclass(frozen=True, eq=False)
class Timings:
    """How long epochs of the arms that ran took, in logarithms of seconds.

    Attributes:
        arms: Which arms, [V].
        middles: The median timing of each, [V].
        counts: How many timings of each there are, [V].
        common: Places in `arms` of those that the others are predicted from, [at most `COMMON`].
        away: How far single timings of these arms are from their arm's median, all arms with
            two or more together, [any].
    """

    arms: IntArray
    middles: FloatArray
    counts: IntArray
    common: IntArray
    away: FloatArray

    @classmethod
    def of(cls, seen: Mapping[int, Sequence[float]]) -> "Timings":
        """From the logarithms of each arm's seconds an epoch."""
        table = TimingTable(max((len(paces) for paces in seen.values()), default=1))
        for row, (arm, paces) in enumerate(seen.items()):
            if len(paces):
                table.put(row, arm, paces)
        return table.timings


class TimingTable:
    """Timings of arms, kept so that one more unit costs the same however many arms there are.

    Args:
        most: P, timings of one arm that there may be.
    """

    def __init__(self, most: int) -> None:
        self._arms = np.zeros(8, np.int64)
        self._counts = np.zeros(8, np.int64)
        self._middles = np.zeros(8)
        self._away = np.zeros((8, most))
        self._recent: dict[int, None] = {}

    def put(self, row: int, arm: int, paces: Sequence[float]) -> None:
        """The timings of an arm are these from now on; rows order the arms."""
        while row >= len(self._arms):
            self._arms, self._counts = _doubled(self._arms), _doubled(self._counts)
            self._middles, self._away = _doubled(self._middles), _doubled(self._away)
        middle = _middle(sorted(paces))
        self._arms[row], self._counts[row], self._middles[row] = arm, len(paces), middle
        self._away[row, : len(paces)] = [abs(pace - middle) for pace in paces]
        self._recent.pop(row, None)
        self._recent[row] = None
        if len(self._recent) > COMMON:
            del self._recent[next(iter(self._recent))]

    @property
    def timings(self) -> Timings:
        """A copy of what is known, arms in the order of their rows."""
        rows = np.flatnonzero(self._counts)
        recent = np.sort(np.fromiter(self._recent, np.int64, len(self._recent)))
        counts = np.where(self._counts[recent] > 1, self._counts[recent], 0)
        several = np.arange(self._away.shape[1])[None, :] < counts[:, None]
        return Timings(
            arms=self._arms[rows],
            middles=self._middles[rows],
            counts=self._counts[rows],
            common=np.searchsorted(rows, recent),
            away=self._away[recent][several],
        )


def _doubled(array: Array) -> Array:
    return np.concatenate([array, np.zeros_like(array)])


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


@dataclass(frozen=True, eq=False)
class PaceModel:
    """What the arms that ran say about the pace of any arm.

    Attributes:
        features: Encoded configurations, [K, D].
        timings: Of the arms that ran.
        regression: What the configuration says.
        noise: Spread from unit to unit of one arm.
        strange: Spread from arm to arm that the configuration does not explain.
    """

    features: FloatArray
    timings: Timings
    regression: "Regression"
    noise: float
    strange: float

    @classmethod
    def fit(cls, features: FloatArray, timings: Timings) -> "PaceModel | None":
        """Learn from what ran; None if nothing was timed yet."""
        if not len(timings.arms):
            return None
        away = timings.away
        own, inputs = timings.middles[timings.common], features[timings.arms[timings.common]]
        regression = Regression.fit(inputs, own)
        noise = max(_LEAST, _MAD * float(np.median(away))) if len(away) else _NOISE
        return cls(features, timings, regression, noise, _strangeness(own - regression.at(inputs)))

    def paces(self) -> Paces:
        """The pace of every arm."""
        arms, trust = self.timings.arms, self._trust(self.timings.counts)
        mean = self.regression.at(self.features)
        variance = np.full(len(mean), self.strange**2)
        mean[arms] = trust * self.timings.middles + (1 - trust) * mean[arms]
        variance[arms] = self.strange**2 * (1 - trust)
        return Paces(np.exp(mean), np.sqrt(variance + self.noise**2))

    def typical(self, arm: int) -> float:
        """The typical pace of one arm, without those of all others."""
        guess = float(self.regression.at(self.features[arm : arm + 1])[0])
        place = np.flatnonzero(self.timings.arms == arm)
        if not len(place):
            return float(np.exp(guess))
        trust = float(self._trust(self.timings.counts[place])[0])
        return float(np.exp(trust * self.timings.middles[place[0]] + (1 - trust) * guess))

    def _trust(self, counts: IntArray) -> FloatArray:
        """How much an arm's own timings count beside what the others say, [any]."""
        trust: FloatArray = counts / self.noise**2
        return trust / (trust + 1 / self.strange**2)


def _middle(ordered: Sequence[float]) -> float:
    """The median; there are many short lists of timings, and numpy's takes its time."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _strangeness(residuals: FloatArray) -> float:
    """Spread from arm to arm that the configuration does not explain."""
    if len(residuals) < 2:
        return _STRANGE
    return max(_UNLIKE, _MAD * float(np.median(np.abs(residuals))))


@dataclass(frozen=True, eq=False)
class Regression:
    """A ridge regression of paces on encoded configurations.

    Attributes:
        centre: The median pace.
        middle: The mean of the features of arms that ran, [D].
        weights: What a step away from there changes, [D].
        low: The lowest pace that was seen: predictions never lie beyond.
        high: The highest one.
    """

    centre: float
    middle: FloatArray
    weights: FloatArray
    low: float
    high: float

    @classmethod
    def fit(cls, inputs: FloatArray, own: FloatArray) -> "Regression":
        """Fit it to the arms that ran, [V, D] and [V]; a constant while they are few."""
        centre, middle = float(np.median(own)), inputs.mean(axis=0)
        return cls(centre, middle, _weights(inputs - middle, own - centre), own.min(), own.max())

    def at(self, features: FloatArray) -> FloatArray:
        """What the configuration says about some arms, [any]."""
        return np.clip(self.centre + (features - self.middle) @ self.weights, self.low, self.high)


def _weights(X: FloatArray, off: FloatArray) -> FloatArray:
    """The weights of the features for how far arms are off the centre, [D]."""
    if len(off) < _ENOUGH:
        return np.zeros(X.shape[1])
    cut = 3 * _strangeness(off)
    y = np.clip(off, -cut, cut)
    if X.shape[0] < X.shape[1]:
        weights = X.T @ np.linalg.solve(X @ X.T + _RIDGE * np.eye(X.shape[0]), y)
    else:
        weights = np.linalg.solve(X.T @ X + _RIDGE * np.eye(X.shape[1]), X.T @ y)
    return np.asarray(weights, np.float64)
