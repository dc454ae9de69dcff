"""Losses as the factors by which they fall, where it is known how low a loss can be.

A predictor that knows losses by their improvements alone is told these in units of the best one so
far. Of a loss that has fallen from 1 to 0.05 all that can still come is a twentieth of that unit,
and it sees next to nothing. In logarithms of the distance to the lowest possible loss every halving
counts alike, wherever it is. So worlds are drawn of these logarithms.

Notation:
    z  the lowest possible loss, b  the best one so far, ℓ  a loss
    x = log((ℓ - z) / (b - z)) - D,  ℓ = z + (b - z) exp(x + D)
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from bhpt.beliefs.scale import starting_level
from bhpt.domain import FloatArray, View

_DEEP = 1e3  # D: numbers so low are taken for neither shares nor percentages
_MOST = 709.0  # the exponential of more is infinite
_UNIT = -1.0  # the lowest possible loss of a share; lower ones may be returns that go further


@dataclass(frozen=True, slots=True)
class Factors:
    """From losses to logarithms of factors, and back.

    Attributes:
        floor: z.
        best: b, above the floor.
    """

    floor: float
    best: float

    @classmethod
    def of(cls, view: View) -> "Factors | None":
        """Those of a study; None where it is not known how low a loss can be, or one is there."""
        floor, best = view.curves.lowest_possible, view.curves.best
        if floor < _UNIT or not floor < best < np.inf:
            return None
        return cls(floor, best)

    def logs(self, losses: FloatArray) -> FloatArray:
        """Logarithms of some losses, at least the best; what is not finite stays as it is."""
        apart = np.log(np.maximum(losses, self.best) - self.floor) - self._height
        return np.where(np.isfinite(losses), apart - _DEEP, losses)

    def losses(self, logs: FloatArray) -> FloatArray:
        """Losses of some logarithms; none is infinite."""
        found: FloatArray = self.floor + np.exp(np.minimum(logs + _DEEP + self._height, _MOST))
        return found

    @property
    def _height(self) -> float:
        return math.log(self.best - self.floor)

    def seen(self, view: View) -> View:
        """The study with logarithms in place of losses.

        Only numbers that were observed are looked at: others in the same rows may change later.
        """
        curves = view.curves
        losses = np.full(curves.losses.shape, self.best)
        shown = losses[:, : curves.longest]
        shown[curves.observed] = curves.losses[:, : curves.longest][curves.observed]
        start = np.array(max(starting_level(view), self.best))
        return replace(
            view,
            curves=replace(curves, losses=self.logs(losses)),
            untrained=float(self.logs(start)),
            memory=view.memory.within("factors"),
        )
