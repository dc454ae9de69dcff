"""How long an epoch of each arm takes: learned from what ran, predicted for what did not.

The logarithm of the seconds an epoch takes is modelled as: a common centre (the median over
arms that ran), a ridge regression on the encoded configuration, what is particular to an arm,
and noise from unit to unit. Medians and absolute deviations are used for all spreads, so one
unit that met a busy machine does not change the others' prices.

An arm's first unit also pays for what happens once: compiling, loading data, warming up. It is
kept apart. What a start costs is the median of what first units took beyond later units of the
same arms. An arm that only its first unit is known of is priced by what is left of that unit
without a start, or by the other arms where a start is most of it or where its worker was new.

Notation:
    K  arms, D  features, V  arms that ran, P  timings of one arm; paces are logarithms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from bhpt.domain import BoolArray, FloatArray, IntArray
from bhpt.domain.arrays import median

Array = TypeVar("Array", FloatArray, IntArray)

COMMON = 512
"""Arms, the latest that ran, from which the others are predicted: enough, and bounded work."""

_RIDGE = 0.2  # features lie in [0, 1]: an effect of a factor e and leftovers of 0.45 are usual
_ENOUGH = 4  # arms that must have run before the configuration is believed to matter
_NOISE = 0.3  # spread from unit to unit before one was measured
_STRANGE = 0.7  # spread from arm to arm before two have run
_LEAST = 0.02  # no clock is steadier than this
_UNLIKE = 0.2  # no two arms are more alike than this: an arm's own timings outweigh the others'
_SLOWER = 0.25  # first units that are slower by less than this, in logarithms, pay for no start
_MOSTLY = 0.5  # a first unit of which a start is more than this part says nothing about the pace
_ODD = 4.0  # spreads above its like at which a first unit says nothing about the pace either
_ODD_LEAST = 1.0  # the same in logarithms, at least
_MAD = 1.4826  # from a median absolute deviation to a standard deviation


@dataclass(frozen=True, slots=True)
class FirstUnit:
    """The first unit of an arm: how long it took, for how many epochs, in a worker just started."""

    seconds: float
    epochs: int
    new_worker: bool = False


@dataclass(frozen=True, eq=False)
class Timings:
    """How long epochs of the arms that ran took, in logarithms of seconds.

    Attributes:
        arms: Which arms, [V].
        middles: The median timing of each, its first unit left out, [V].
        counts: How many such timings of each there are, [V].
        away: How far single timings of the arms that ran last are from their arm's median, all
            arms with two or more together, [any].
        first: Seconds and epochs of each arm's first unit, and whether its worker was new; zeros
            where it is not known, [V, 3].
    """

    arms: IntArray
    middles: FloatArray
    counts: IntArray
    away: FloatArray
    first: FloatArray

    @classmethod
    def of_one(cls, arm: int, paces: Sequence[float], first: FirstUnit | None) -> "Timings":
        """Of one arm, from the logarithms of its seconds an epoch and its first unit."""
        middle = _middle(sorted(paces)) if paces else 0.0
        away = [abs(pace - middle) for pace in paces] if len(paces) > 1 else []
        unit = (0.0, 0.0, 0.0) if first is None else (first.seconds, first.epochs, first.new_worker)
        return cls(
            arms=np.array([arm]),
            middles=np.array([middle]),
            counts=np.array([len(paces)]),
            away=np.array(away),
            first=np.array([unit], float),
        )

    @classmethod
    def of(
        cls, seen: Mapping[int, Sequence[float]], first: Mapping[int, FirstUnit] | None = None
    ) -> "Timings":
        """From the logarithms of each arm's seconds an epoch, and first units apart from them."""
        units = first or {}
        table = TimingTable(max((len(paces) for paces in seen.values()), default=1))
        for row, arm in enumerate(dict.fromkeys([*seen, *units])):
            table.put(row, arm, seen.get(arm, ()), units.get(arm))
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
        self._first = np.zeros((8, 3))
        self._recent: dict[int, None] = {}

    def put(
        self, row: int, arm: int, paces: Sequence[float], first: FirstUnit | None = None
    ) -> None:
        """The timings of an arm are these from now on; rows order the arms."""
        while row >= len(self._arms):
            self._arms, self._counts = _doubled(self._arms), _doubled(self._counts)
            self._middles, self._away = _doubled(self._middles), _doubled(self._away)
            self._first = _doubled(self._first)
        middle = _middle(sorted(paces)) if paces else 0.0
        self._arms[row], self._counts[row], self._middles[row] = arm, len(paces), middle
        self._away[row, : len(paces)] = [abs(pace - middle) for pace in paces]
        if first is not None:
            self._first[row] = first.seconds, first.epochs, first.new_worker
        if paces or first is not None:
            self._recent.pop(row, None)
            self._recent[row] = None
        if len(self._recent) > COMMON:
            del self._recent[next(iter(self._recent))]

    @property
    def timings(self) -> Timings:
        """A copy of what is known, arms in the order of their rows."""
        return self._at(np.flatnonzero((self._counts > 0) | (self._first[:, 1] > 0)))

    @property
    def latest(self) -> Timings:
        """A copy of what is known of the arms that ran last, at most `COMMON` of them."""
        return self._at(np.sort(np.fromiter(self._recent, np.int64, len(self._recent))))

    @property
    def latest_arms(self) -> tuple[int, ...]:
        """The arms that ran last, at most `COMMON` of them, the latest at the end."""
        return tuple(self._arms[list(self._recent)].tolist())

    def _at(self, rows: IntArray) -> Timings:
        recent = np.sort(np.fromiter(self._recent, np.int64, len(self._recent)))
        counts = np.where(self._counts[recent] > 1, self._counts[recent], 0)
        several = np.arange(self._away.shape[1])[None, :] < counts[:, None]
        return Timings(
            arms=self._arms[rows],
            middles=self._middles[rows],
            counts=self._counts[rows],
            away=self._away[recent][several],
            first=self._first[rows],
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


@dataclass(frozen=True)
class StartCost:
    """What the start of an arm costs, beside its epochs.

    Attributes:
        seconds: Once an arm.
        unknown: Whether nothing but first units with a start in them is known, so that these are
            taken as they are.
    """

    seconds: float
    unknown: bool

    @classmethod
    def of(cls, timings: Timings) -> "StartCost":
        """The median of what first units took beyond later ones of the same arms."""
        start = cls(_start_seconds(timings), unknown=False)
        return start if start.own_paces(timings)[1].any() else cls(start.seconds, unknown=True)

    def own_paces(self, timings: Timings) -> tuple[FloatArray, IntArray]:
        """What each arm says about its own pace: later units, or a first one without its start.

        Returns:
            The pace of each arm, [V]; how many timings say so, 0 where none is to be believed, [V].
        """
        seconds, epochs, new = timings.first.T
        alone = timings.counts == 0
        beyond = seconds if self.unknown else seconds - self.seconds
        timed = alone
        if not self.unknown:
            timed = alone & ~(new > 0) & (beyond > (1 - _MOSTLY) * seconds)
        middles, counts = timings.middles.copy(), timings.counts.copy()
        middles[timed], counts[timed] = np.log(beyond[timed] / epochs[timed]), 1
        return middles, counts


def _start_seconds(timings: Timings) -> float:
    """The median of what first units took beyond later ones of the same arms."""
    seconds, epochs, new = timings.first.T
    both = (timings.counts > 0) & (epochs > 0) & (new == 0)
    if not both.any():
        return 0.0
    seconds, epochs, middles = seconds[both], epochs[both], timings.middles[both]
    if median(np.log(seconds / epochs) - middles) < _SLOWER:
        return 0.0
    return max(0.0, median(seconds - epochs * np.exp(middles)))


@dataclass(frozen=True, eq=False)
class PaceModel:
    """What the arms that ran say about the pace of any arm.

    Attributes:
        features: Encoded configurations, [K, D].
        start: What the start of an arm costs.
        regression: What the configuration says.
        noise: Spread from unit to unit of one arm.
        strange: Spread from arm to arm that the configuration does not explain.
        arms: How many arms it was learned from.
    """

    features: FloatArray
    start: StartCost
    regression: "Regression"
    noise: float
    strange: float
    arms: int

    @classmethod
    def fit(cls, features: FloatArray, timings: Timings) -> "PaceModel | None":
        """Learn from what ran; None if nothing was timed yet.

        Args:
            features: Encoded configurations, [K, D].
            timings: Of the arms to learn from: all, or the latest of many.
        """
        if not len(timings.arms):
            return None
        start = StartCost.of(timings)
        middles, counts = start.own_paces(timings)
        timed = counts > 0
        middles, inputs = middles[timed], features[timings.arms[timed]]
        regression = Regression.fit(inputs, middles)
        strange = _strangeness(middles - regression.at(inputs))
        noise = _noise(timings.away)
        return cls(features, start, regression, noise, strange, len(timings.arms))

    @property
    def start_s(self) -> float:
        """What the start of an arm costs once, in seconds."""
        return self.start.seconds

    def paces(self, timings: Timings) -> Paces:
        """The pace of every arm, given what ran."""
        mean = self.regression.at(self.features)
        variance = np.full(len(mean), self.strange**2)
        mean[timings.arms], trust = self._own(timings, mean[timings.arms])
        variance[timings.arms] = self.strange**2 * (1 - trust)
        return Paces(np.exp(mean), np.sqrt(variance + self.noise**2))

    def typical(self, arm: int, timings: Timings) -> float:
        """The typical pace of one arm, given what is known of it alone."""
        mean = self.regression.at(self.features[arm : arm + 1])
        if len(timings.arms):
            mean = self._own(timings, mean)[0]
        return float(np.exp(mean[0]))

    def _own(self, timings: Timings, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The pace of arms that ran, and how much their own timings count in it, [V] each.

        Args:
            timings: Of these arms.
            guess: What their configurations say, [V].
        """
        middles, counts = self.start.own_paces(timings)
        counts[self._odd(timings, middles - guess)] = 0
        trust: FloatArray = counts / self.noise**2
        trust = trust / (trust + 1 / self.strange**2)
        return trust * middles + (1 - trust) * guess, trust

    def _odd(self, timings: Timings, above: FloatArray) -> BoolArray:
        """Arms whose only unit, the first, took far longer than arms like them suggest, [V]."""
        if self.arms < _ENOUGH:
            return np.zeros(len(above), bool)
        return np.asarray((timings.counts == 0) & (above > max(_ODD_LEAST, _ODD * self.strange)))


def _middle(ordered: Sequence[float]) -> float:
    """The median; there are many short lists of timings, and numpy's takes its time."""
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _noise(away: FloatArray) -> float:
    """Spread from unit to unit of one arm."""
    return max(_LEAST, _MAD * median(away)) if len(away) else _NOISE


def _strangeness(residuals: FloatArray) -> float:
    """Spread from arm to arm that the configuration does not explain."""
    if len(residuals) < 2:
        return _STRANGE
    return max(_UNLIKE, _MAD * median(np.abs(residuals)))


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
        centre, middle = median(own), inputs.mean(axis=0)
        return cls(centre, middle, _weights(inputs - middle, own - centre), own.min(), own.max())

    def at(self, features: FloatArray) -> FloatArray:
        """What the configuration says about some arms, [any]."""
        estimate = self.centre + (features - self.middle) @ self.weights
        return np.minimum(np.maximum(estimate, self.low), self.high)


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
