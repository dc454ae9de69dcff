"""Looking at a bounded number of arms where a study has tried very many.

What a Gaussian process costs grows with the arms that it is conditioned on. Above `MOST_TRIED` of
them it is shown the study as if it had some arms alone: those that the networks would look at
(`learned.looked_at`). Below, nothing changes.

Notation:
    K  arms, R  arms looked at, A  some of them, Q  quantiles, S  draws, T  epochs
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.learned.looked_at import looked_at
from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.domain import FloatArray, IntArray, Memory, Slot, View

MOST_TRIED = 200
"""Arms: a study that has tried no more is looked at as a whole."""


@dataclass(frozen=True, eq=False)
class Part:
    """Some arms of a view.

    Attributes:
        whole: The view.
        arms: Which arms, in order, [R].
        view: The view of these alone.
    """

    whole: View
    arms: IntArray
    view: View

    def spread(self, values: FloatArray, fill: float = np.nan) -> FloatArray:
        """Values of these arms, [.., R], as those of all, `fill` for the others, [.., K]."""
        found = np.full((*values.shape[:-1], self.whole.arms), fill)
        found[..., self.arms] = values
        return found


def part_of(view: View) -> Part | None:
    """The arms to look at; None for all of them."""
    if len(view.curves.visited) <= MOST_TRIED:
        return None
    slot: Slot[Part] = Slot("part of the arms")
    return view.memory.recall(slot, (view,), lambda: _part(view))


def _part(view: View) -> Part:
    arms = looked_at(view)
    memory: Slot[Memory] = Slot("memory of some arms")
    return Part(view, arms, view.only(arms, view.memory.recall(memory, (), Memory)))


@dataclass(frozen=True)
class NarrowedPredictor:
    """A predictor that is shown a bounded number of arms; nothing is predicted of the others.

    Attributes:
        predictor: Predicts.
    """

    predictor: Predictor

    def predict(self, view: View) -> Ends:
        """The ends of all arms, NaN for those that are not looked at."""
        part = part_of(view)
        if part is None:
            return self.predictor.predict(view)
        return PartEnds(part, self.predictor.predict(part.view))


@dataclass(frozen=True, eq=False)
class PartEnds:
    """The ends of some arms of a view, NaN for the others.

    Attributes:
        part: Which arms.
        ends: Theirs.
    """

    part: Part
    ends: Ends

    def mean(self) -> FloatArray:
        """E[e_k], [K]."""
        return self.part.spread(self.ends.mean())

    def deviation(self) -> FloatArray:
        """Standard deviation of e_k, [K]."""
        return self.part.spread(self.ends.deviation())

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        """Quantiles of e_k, [Q, K]."""
        return self.part.spread(self.ends.quantiles(probabilities))

    def mean_at_most(self, loss: float) -> FloatArray:
        """E[min(e_k, loss)], [K]."""
        return self.part.spread(self.ends.mean_at_most(loss))

    def draws(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of e_k for some arms, [S, A]."""
        known = np.isin(arms, self.part.arms)
        drawn = np.full((size, len(arms)), np.nan)
        drawn[:, known] = self.ends.draws(self._places(arms[known]), size, rng)
        return drawn

    def paths(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of how the lowest loss of some arms falls as they train, [S, A, T + 1]."""
        known = np.isin(arms, self.part.arms)
        drawn = np.full((size, len(arms), self.part.whole.curves.epochs + 1), np.nan)
        drawn[:, known] = self.ends.paths(self._places(arms[known]), size, rng)
        return drawn

    def within(self, horizon: IntArray) -> "PartEnds":
        """The same view, with other horizons in units, [K]."""
        return PartEnds(self.part, self.ends.within(horizon[self.part.arms]))

    def _places(self, arms: IntArray) -> IntArray:
        return np.searchsorted(self.part.arms, arms)
