"""The learned predictor: how low a curve will get within its horizon, as a histogram.

Marginals come from the network; how the errors of different arms depend on each other does not.
Joint draws take them as a Gaussian copula with one correlation for all pairs, measured
on tables of real curves. A path through all epochs takes one uniform number an arm and reads it
off the histograms for several horizons, so that a draw which is low at one horizon is low at all.

Notation:
    K  arms, R  arms looked at, A  some of them, Q  quantiles, T  epochs of a full training
    w  further improvement of an arm, in units of S, the best improvement of all so far
    u_k  uniform number of arm k: the part of its possible ends that are lower

The network does not see how far a loss can fall at all: it is told improvements in units of S
alone. So what it says is conditioned on that: w is at most what takes an arm to the floor. Within
a bin w is even in the logarithm; in the one that ends at the floor losses fall by factors, so there
the distance to the floor is that of the bin's lowest w times the square of an even number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from bhpt.beliefs.learned.features import features
from bhpt.beliefs.learned.geometry import Geometry
from bhpt.beliefs.learned.looked_at import last_choice, looked_at
from bhpt.beliefs.learned.network import EDGES, histogram, outputs, trunk
from bhpt.beliefs.learned.network_inputs import at_rest, observe, seen_past, seen_present
from bhpt.beliefs.learned.past import Moment, Past
from bhpt.beliefs.learned.rising import less_likely, rises
from bhpt.beliefs.learned.weights import NetworkWeights
from bhpt.beliefs.predictor import doubling_horizons
from bhpt.beliefs.scale import starting_level
from bhpt.domain import BoolArray, FloatArray, IntArray, Slot, View

_FEW = 8  # numbers an arm that are compared with all bins, not searched for in them
_LOW = np.array([0.0, *EDGES])  # of each bin
_COMMON = 0.17  # of two arms' errors: measured on tables that a network had not seen
_HIGH = np.array([0.0, *EDGES[1:], 2 * EDGES[-1]])  # the first bin stands for no improvement
_LEAST = 1e-12  # a chance that is divided by
_NONE = np.eye(1, len(_LOW))  # chances of an arm that gains nothing, as one that is not trained on
_LOG_LOW = np.log(_LOW[1:])
_LOG_WIDTH = np.log(_HIGH[1:]) - _LOG_LOW


@dataclass(frozen=True, eq=False)
class Histogram:
    """Chances of further improvement.

    Attributes:
        arms: Arms looked at, [R].
        chances: Of each bin, [R, bins].
        now: Lowest loss of each arm so far, ℓ_0 where there is none, [R].
        scale: S, as a loss; 0 if nothing has improved yet, and then nothing is predicted.
        floor: No loss is lower, as far as what was seen tells: minus infinity if it does not.
    """

    arms: IntArray
    chances: FloatArray
    now: FloatArray
    scale: float
    floor: float = -np.inf

    def possible(self) -> "Histogram":
        """The same, given that no arm ends below the floor."""
        if self.floor == -np.inf or not self.scale > 0:
            return self
        most = np.log(np.maximum(self._most, _LEAST))
        reach = (most[:, None] - _LOG_LOW) / _LOG_WIDTH
        kept = self.chances.copy()
        kept[:, 1:] *= np.clip(reach, 0.0, 1.0)
        whole = kept.sum(axis=1, keepdims=True)
        return replace(self, chances=np.where(whole > 0, kept / np.maximum(whole, _LEAST), _NONE))

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles of the lowest loss at the horizon, [Q, R]."""
        asked = np.repeat(np.asarray(probabilities, float)[:, None], len(self.arms), axis=1)
        return self.at(asked, np.arange(len(self.arms)))

    def at(self, probabilities: FloatArray, places: IntArray) -> FloatArray:
        """Quantiles of the lowest loss at the horizon, of arms by their places, [S, A]."""
        chances = self.chances[places]
        below = np.cumsum(chances, axis=1)
        above = 1 - probabilities
        upper = np.minimum(_bins_below(below, above), chances.shape[1] - 1)
        each = np.arange(len(places))
        part = 1 - (below[each, upper] - above) / np.maximum(chances[each, upper], _LEAST)
        part = np.clip(part, 0.0, 1.0)
        low, high, most = _LOW[upper], _HIGH[upper], self._most[places]
        gained = _between(low, high, part)
        if self.floor > -np.inf:
            to_floor = high > most
            gained = np.where(to_floor, most - (most - low) * (1 - part) ** 2, gained)
        return np.maximum(self.now[places] - self.scale * gained, self.floor)

    def quantile(self, place: int, probability: float) -> float:
        """The same of one arm and one probability, without arrays of one number."""
        chances = self.chances[place]
        below, above = np.cumsum(chances), 1 - probability
        upper = min(int(np.searchsorted(below, above)), len(chances) - 1)
        part = 1 - (float(below[upper]) - above) / max(float(chances[upper]), _LEAST)
        gained = 0.0
        if upper:  # the first bin is a point
            part = min(max(part, 0.0), 1.0)
            low, high, most = map(float, (_LOW[upper], _HIGH[upper], self._most[place]))
            to_floor = high > most
            gained = (
                most - (most - low) * (1 - part) ** 2 if to_floor else low * (high / low) ** part
            )
        return max(float(self.now[place]) - self.scale * gained, self.floor)

    def mean(self) -> FloatArray:
        """Expected lowest loss at the horizon, [R]."""
        return self._mean

    def deviation(self) -> FloatArray:
        """Its standard deviation, [R]."""
        apart = self._ends - self._mean[:, None]
        return np.asarray(np.sqrt((self.chances * apart**2).sum(axis=1)))

    def mean_at_most(self, loss: float) -> FloatArray:
        """Expected lower one of this loss and the lowest loss at the horizon, [R]."""
        return np.asarray((self.chances * np.minimum(self._ends, loss)).sum(axis=1))

    @cached_property
    def _mean(self) -> FloatArray:
        return np.asarray((self.chances * self._ends).sum(axis=1))

    @cached_property
    def _ends(self) -> FloatArray:
        """The loss that the middle of each bin stands for, [R, bins]."""
        middle = np.broadcast_to(_MIDDLE, self.chances.shape)
        if self.floor > -np.inf:
            most = self._most[:, None]
            middle = np.where(most < _HIGH, most - (most - _LOW) / 3, middle)
        return np.asarray(np.maximum(self.now[:, None] - self.scale * middle, self.floor))

    @cached_property
    def _most(self) -> FloatArray:
        """The improvement that takes each arm to the floor, in units of S, [R]."""
        if not self.scale > 0:
            return np.full(len(self.now), np.inf)
        return np.asarray((self.now - self.floor) / self.scale)


def _bins_below(below: FloatArray, above: FloatArray) -> IntArray:
    """How many of the bins of each arm end before a number, [S, A].

    Args:
        below: Cumulative chances of the bins, [A, bins].
        above: Numbers between 0 and 1, [S, A].
    """
    if len(above) <= _FEW:
        reached = below >= above[:, :, None]
        found: IntArray = reached.argmax(axis=2)
        found[~reached[:, :, -1]] = below.shape[1]
        return found
    columns = [np.searchsorted(row, above[:, place]) for place, row in enumerate(below)]
    return np.stack(columns, axis=1) if columns else np.zeros(above.shape, np.int64)


def _between(low: FloatArray, high: FloatArray, part: FloatArray) -> FloatArray:
    """A point within a bin, even in the logarithm; the first bin is a point."""
    inside = np.maximum(low, 1e-12) * (np.maximum(high, 1e-12) / np.maximum(low, 1e-12)) ** part
    return np.where(high > 0, inside, 0.0)


_MIDDLE = _between(_LOW, _HIGH, np.full(len(_LOW), 0.5))


@dataclass(frozen=True, eq=False)
class PredictorInputs:
    """The inputs of the network that follow from a view, its horizons aside.

    Attributes:
        view: The view, without units in flight.
        rows: Arms looked at, [R].
        moment: Their state.
        shape: How their configurations lie.
    """

    view: View
    rows: IntArray
    moment: Moment
    shape: Geometry

    @cached_property
    def past(self) -> Past:
        """What their curves have shown."""
        return seen_past(self.view, self.moment, self.shape)

    @cached_property
    def gained(self) -> FloatArray:
        """Improvement of each arm looked at so far, [R]."""
        found: FloatArray = self.moment.q[np.arange(len(self.moment.n)), self.moment.n]
        return found

    @property
    def scale(self) -> float:
        """S, as a loss; 0 if nothing has improved yet."""
        return float(self.gained.max(initial=0.0))

    @property
    def horizon(self) -> IntArray:
        """Units that each arm looked at can still run, [R]."""
        return self.view.horizon[self.rows]


class Layers(NamedTuple):
    """The network as far as it looks at all arms together.

    Attributes:
        horizon: Units that each arm is trained for, [R].
        hidden: Hidden units of each arm, [R, H].
        context: What all arms together are like, [H].
    """

    horizon: IntArray
    hidden: FloatArray
    context: FloatArray


@dataclass(frozen=True)
class LearnedPredictor:
    """Predicts ends with a network that was trained on many curves."""

    weights: NetworkWeights
    scale_free: ClassVar[bool] = True

    def predict(self, view: View) -> "HistogramEnds":
        """The ends of all arms within their horizons; unknown before anything has improved.

        A decision asks several times about the same view, so the last answer is kept.
        """
        slot: Slot[HistogramEnds] = Slot("ends", self.weights)
        return view.memory.recall(slot, (view,), lambda: self._predicted(view))

    def _predicted(self, view: View) -> "HistogramEnds":
        rest = at_rest(view)
        rows = looked_at(view, self.weights)
        settled = last_choice(view).visited
        inputs = PredictorInputs(rest, rows, *observe(rest, rows, self.weights, settled))
        return HistogramEnds(view, self, inputs, view.horizon)

    def histogram(self, inputs: PredictorInputs, horizon: IntArray) -> Histogram:
        """Chances of further improvement of each arm looked at within a horizon in units, [R]."""
        layers = self.layers(inputs, horizon) if inputs.scale else None
        return self.read_off(inputs, layers, slice(None))

    def layers(self, inputs: PredictorInputs, horizon: IntArray) -> Layers:
        """The network as far as it looks at all arms together, for a horizon in units, [R]."""
        moment = inputs.moment
        if not np.array_equal(horizon, inputs.horizon):
            bought = np.where(horizon == inputs.horizon, moment.r, horizon)
            moment = replace(moment, r=bought)
        present = seen_present(inputs.view, moment, inputs.past)
        arms, study = features(np, moment, inputs.shape, inputs.past, present)
        made = trunk(
            np, self.weights, arms.astype(np.float32), study.astype(np.float32), moment.exists
        )
        return Layers(horizon, *made)

    def read_off(self, inputs: PredictorInputs, layers: Layers | None, places: slice) -> Histogram:
        """Chances of further improvement of some arms looked at.

        Args:
            inputs: Of the network.
            layers: What it makes of them; None before anything has improved.
            places: Which of the arms.
        """
        rows, view = inputs.rows[places], inputs.view
        now = starting_level(view) - inputs.gained[places]
        if layers is None:
            return Histogram(rows, np.zeros((len(rows), len(_LOW))), now, 0.0)
        out = outputs(np, self.weights, layers.hidden[places], layers.context)
        raw = histogram(self.weights, out)
        chances: FloatArray = np.exp(raw - raw.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        chances = less_likely(chances, rises(view, rows))
        chances[layers.horizon[places] == 0] = _NONE
        return Histogram(rows, chances, now, inputs.scale, _floor(view)).possible()


def _floor(view: View) -> float:
    """The loss that no end is below: 0, -1 of a share that is maximised, or minus infinity.

    Values up to 100 may be percentages, or returns that have not got further yet.
    """
    lowest = view.curves.lowest_possible
    return lowest if lowest >= -1 else -np.inf


@dataclass(frozen=True, eq=False)
class HistogramEnds:
    """The ends of all arms of a view, NaN for arms that are not looked at.

    Attributes:
        view: The moment.
        predictor: Which predicts them.
        inputs: Of its network.
        horizon: Units that each arm is trained for, [K].
    """

    view: View
    predictor: LearnedPredictor
    inputs: PredictorInputs
    horizon: IntArray

    def mean(self) -> FloatArray:
        """E[e_k], [K]."""
        return self._by_arm(self.histogram.mean())

    def deviation(self) -> FloatArray:
        """Standard deviation of e_k, [K]."""
        return self._by_arm(self.histogram.deviation())

    def mean_at_most(self, loss: float) -> FloatArray:
        """E[min(e_k, loss)], [K]."""
        return self._by_arm(self.histogram.mean_at_most(loss))

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles of e_k, [Q, K]."""
        found = self.histogram.quantiles(probabilities)
        return np.stack([self._by_arm(row) for row in found])

    def quantile_of(self, arm: int, probability: float) -> float:
        """A quantile of e_k of one arm: the same as `quantiles`, up to rounding, in less time."""
        rows = self.inputs.rows
        place = int(np.searchsorted(rows, arm))
        if self._layers is None or place == len(rows) or rows[place] != arm:
            return math.nan
        read = self.predictor.read_off(self.inputs, self._layers, slice(place, place + 1))
        return read.quantile(0, probability)

    def draws(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of e_k for some arms, [S, A]."""
        places, known = self._places(arms)
        drawn = np.full((size, len(arms)), np.nan)
        drawn[:, known] = self.histogram.at(_uniform(size, len(arms), rng)[:, known], places)
        return drawn

    def paths(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of how the lowest loss of some arms falls as they train, [S, A, T + 1]."""
        places, known = self._places(arms)
        uniform = _uniform(size, len(arms), rng)[:, known]
        ladder = doubling_horizons(self.view.full)
        rungs = np.stack([self._reached(units, uniform, places) for units in ladder], axis=2)
        rungs = np.minimum.accumulate(rungs, axis=2)
        drawn = np.full((size, len(arms), self.view.curves.epochs + 1), np.nan)
        for column, place in zip(np.flatnonzero(known), range(len(places)), strict=True):
            count = int(self.view.curves.count_by_arm[arms[column]])
            drawn[:, column] = self._path(rungs[:, place], ladder, count)
        return drawn

    def within(self, horizon: IntArray) -> "HistogramEnds":
        """The same view, with other horizons in units, [K]."""
        return replace(self, horizon=horizon)

    @cached_property
    def histogram(self) -> Histogram:
        """Chances of further improvement of the arms looked at."""
        return self.predictor.read_off(self.inputs, self._layers, slice(None))

    @cached_property
    def _layers(self) -> Layers | None:
        """The network as far as it looks at all arms together; None before any improvement."""
        if not self.inputs.scale:
            return None
        return self.predictor.layers(self.inputs, self.horizon[self.inputs.rows])

    def _by_arm(self, values: FloatArray) -> FloatArray:
        """Values of the arms looked at, [R], as those of all arms, NaN for the others, [K]."""
        found = np.full(self.view.arms, np.nan)
        if self.histogram.scale > 0:
            found[self.inputs.rows] = values
        return found

    def _places(self, arms: IntArray) -> tuple[IntArray, BoolArray]:
        """Places of those of the arms that are known, and which these are, [A]."""
        rows = self.inputs.rows
        if not self.histogram.scale:
            return np.zeros(0, np.int64), np.zeros(len(arms), bool)
        places = np.minimum(np.searchsorted(rows, arms), len(rows) - 1)
        known: BoolArray = rows[places] == arms
        return places[known], known

    def _reached(self, units: int, uniform: FloatArray, places: IntArray) -> FloatArray:
        """The lowest losses of arms after so many further units, [S, A]."""
        horizon = np.minimum(units, self.view.remaining[self.inputs.rows])
        return self.predictor.histogram(self.inputs, horizon).at(uniform, places)

    def _path(self, rungs: FloatArray, ladder: IntArray, count: int) -> FloatArray:
        """The path of one arm, from its losses at some horizons, [S, T + 1].

        Between two horizons it falls evenly in the logarithm of the units.
        """
        epochs = np.arange(self.view.curves.epochs + 1)
        further = np.log1p(np.maximum(epochs - count, 0) / self.view.unit)
        at = np.log1p(ladder)
        upper = np.clip(np.searchsorted(at, further), 1, len(at) - 1)
        part = (further - at[upper - 1]) / (at[upper] - at[upper - 1])
        low, high = rungs[:, upper - 1], rungs[:, upper]
        path: FloatArray = low + (high - low) * np.clip(part, 0.0, 1.0)
        return path


def _uniform(size: int, arms: int, rng: np.random.Generator) -> FloatArray:
    """u, uniform for every arm and alike for all of them in one draw, [S, A]."""
    common = np.sqrt(_COMMON) * rng.standard_normal((size, 1))
    own = np.sqrt(1 - _COMMON) * rng.standard_normal((size, arms))
    return normal_chance(common + own)


def normal_chance(values: FloatArray) -> FloatArray:
    """The chance that a standard normal number is lower, of each value.

    Few are asked for, and SciPy's takes longer to import than these take.
    """
    found = [0.5 * math.erfc(-math.sqrt(0.5) * value) for value in values.ravel().tolist()]
    return np.array(found).reshape(values.shape)
