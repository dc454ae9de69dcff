"""From losses as reported to the values that a Gaussian can describe, and back.

Real losses are not Gaussian: they spike, diverge, become NaN, and improve by factors. A scale
turns the observed losses of a study into values whose untrained level is known (0 for the log
scale, 1 for the linear one), and turns predictions back into losses for people.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bhpt.domain import Curves, FloatArray, Misuse, Slot, View
from bhpt.domain.curves import EXPLODED

ScaleName = Literal["identity", "linear", "log"]
_LOWEST_LOG = float(np.log(1e-6))  # a loss a million times below the untrained one is zero
_FAR = 10.0  # times |ℓ_0| above it: a curve that starts there has failed
_LINEAR_CAP = 2.0  # twice the untrained loss is as bad as it gets
_LEVEL: Slot[float] = Slot("starting level", whole=True)


@dataclass(frozen=True, eq=False)
class Scaled:
    """Curves in the units of the belief.

    Attributes:
        values: Scaled curves up to the longest, zero where not observed, [V, n].
        start: The scaled ℓ_0.
        best: ζ, the best scaled value so far; infinite before the first.
        zero: Loss that scales to the bottom (linear 0, log -∞).
        height: Loss between `zero` and ℓ_0.
        log: Whether the scale is logarithmic.
    """

    values: FloatArray
    start: float
    best: float
    zero: float
    height: float
    log: bool

    def loss(self, value: FloatArray) -> FloatArray:
        """The loss that a scaled value stands for."""
        relative = np.exp(value) if self.log else value
        return self.zero + self.height * relative

    def spread(self, value: FloatArray, deviation: FloatArray) -> FloatArray:
        """The standard deviation, in losses, that a scaled one stands for (to first order)."""
        return self.height * deviation * (np.exp(value) if self.log else 1.0)


@dataclass(frozen=True)
class Scale:
    """How losses are scaled.

    Attributes:
        name: "identity" (as reported), "linear" (relative to the untrained loss) or "log" (its
            logarithm).
        running: Whether the curve is replaced by its best value so far, which is what a study
            keeps; spikes and divergence vanish.
    """

    name: ScaleName = "log"
    running: bool = True

    def __post_init__(self) -> None:
        """Refuse unknown names."""
        if self.name not in ("identity", "linear", "log"):
            raise Misuse(f"unknown scale {self.name!r}: use identity, linear or log")

    def apply(self, curves: Curves, untrained: float | None) -> Scaled:
        """Scale what has been observed."""
        start = untrained_loss(curves, untrained)
        seen = curves.observed
        losses = curves.losses[:, : curves.longest]
        usable = seen & (np.abs(losses) < EXPLODED)
        zero, height = self._frame(start, float(losses.min(initial=np.inf, where=usable)))
        with np.errstate(over="ignore"):  # beside a tiny ℓ_0 anything is as bad as it gets
            relative = (np.where(usable, losses, start) - zero) / height
        top = self._ceiling(relative, start)
        relative[seen & ~usable] = top
        np.minimum(relative, top, out=relative)
        if self.running:
            np.minimum.accumulate(relative, axis=1, out=relative)
        log = self.name == "log"
        if log:
            with np.errstate(divide="ignore", invalid="ignore"):
                relative = np.log(relative)
            relative[~(relative > _LOWEST_LOG)] = _LOWEST_LOG
        best = float(relative[seen].min()) if seen.any() else float("inf")
        level = (start - zero) / height
        values = np.where(seen, relative, 0.0)
        return Scaled(values, float(np.log(level)) if log else level, best, zero, height, log)

    def _ceiling(self, relative: FloatArray, start: float) -> float:
        """The worst value that is told apart; NaN and infinity count as this."""
        if self.name == "identity":
            return float(np.max(relative, initial=start))
        return 1.0 if self.running else _LINEAR_CAP

    def _frame(self, start: float, best: float) -> tuple[float, float]:
        """Zero and height of the scale.

        Losses that can be negative have no natural zero: it is then put as far below the best
        loss as that lies below the untrained one.
        """
        if self.name == "identity":
            return 0.0, 1.0
        if start > 0 and not best < 0:
            return 0.0, start
        drop = max(start - best, 0.0) if np.isfinite(best) else 0.0
        drop = drop or max(abs(start), 1.0)
        return start - 2 * drop, 2 * drop


def untrained_loss(curves: Curves, known: float | None) -> float:
    """ℓ_0, or a guess of it where nobody reported it."""
    return curves.untrained if known is None else known


def starting_level(view: View) -> float:
    """The loss from which the improvements of a study are counted.

    Usually ℓ_0. Where most curves start above it (ℓ_0 is then that of a trivial model, which the
    first units do not reach), it is the middle one of the losses after an arm's first unit: what
    is gained on the way down to ℓ_0 tells arms apart, too. An arm that has failed, or is very far
    above ℓ_0, counts as one at ℓ_0 here.
    """
    curves, untrained, unit = view.curves, view.untrained, view.unit
    if untrained is None or not len(curves.visited):
        return untrained_loss(curves, untrained)
    first_epochs = int(np.minimum(curves.counts, unit).sum())  # of a record, they tell which
    inputs = (curves.record, len(curves.visited), first_epochs, untrained, unit)
    return view.memory.recall(_LEVEL, inputs, lambda: level_of_first_units(curves, untrained, unit))


def level_of_first_units(curves: Curves, untrained: float | None, unit: int) -> float:
    """`starting_level` of some curves, whose first unit has so many epochs."""
    start = untrained_loss(curves, untrained)
    if untrained is None or not len(curves.visited):
        return start
    firsts = curves.losses[:, :unit]
    seen = np.arange(firsts.shape[1]) < curves.counts[:, None]
    lowest = np.where(seen & np.isfinite(firsts), firsts, np.inf).min(axis=1)
    shown = np.where(lowest < start + _FAR * abs(start), lowest, start)
    middle = (len(shown) - 1) // 2
    return max(start, float(np.partition(shown, middle)[middle]))
