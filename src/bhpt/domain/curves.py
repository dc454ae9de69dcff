"""Learning curves: what has been observed, in the order in which it was.

Notation:
    K  arms, T  epochs of the common grid, V  visited arms, N  reported units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bhpt.domain.arrays import BoolArray, FloatArray, IntArray
from bhpt.domain.errors import Misuse


@dataclass(frozen=True, eq=False)
class Curves:
    """All losses seen so far. Only visited arms have a row, so a million candidates are cheap.

    Attributes:
        arms: K, how many arms there are.
        epochs: T, the last epoch that any arm may reach.
        visited: Arm of each row, in order of first visit, [V].
        losses: Row v holds the losses of epochs 1..n_v; what follows is unused, [V, T].
        counts: n_v, observed epochs of each row, [V].
        reports: Row and number of epochs of every unit, in the order reported, [N, 2].
    """

    arms: int
    epochs: int
    visited: IntArray
    losses: FloatArray
    counts: IntArray
    reports: IntArray

    @classmethod
    def empty(cls, arms: int, epochs: int) -> "Curves":
        """Nothing observed yet."""
        if arms < 1 or epochs < 1:
            raise Misuse(f"curves need at least one arm and one epoch, not {arms} and {epochs}")
        return cls(
            arms=arms,
            epochs=epochs,
            visited=np.zeros(0, np.int64),
            losses=np.zeros((0, epochs)),
            counts=np.zeros(0, np.int64),
            reports=np.zeros((0, 2), np.int64),
        )

    @classmethod
    def of(cls, curves: Sequence[Sequence[float]], epochs: int) -> "Curves":
        """One report an arm, in arm order; an empty sequence leaves its arm unvisited."""
        made = cls.empty(len(curves), epochs)
        for arm, curve in enumerate(curves):
            if len(curve):
                made = made.extend(arm, np.asarray(curve, float))
        return made

    @cached_property
    def row_of(self) -> dict[int, int]:
        """Row of each visited arm."""
        return {int(arm): row for row, arm in enumerate(self.visited)}

    @cached_property
    def count_by_arm(self) -> IntArray:
        """Observed epochs of every arm, visited or not, [K]."""
        counts = np.zeros(self.arms, np.int64)
        counts[self.visited] = self.counts
        return counts

    @cached_property
    def longest(self) -> int:
        """The most epochs that any arm has been observed for."""
        return int(self.counts.max(initial=0))

    @cached_property
    def observed(self) -> BoolArray:
        """Where the first `longest` columns of `losses` hold an observation, [V, longest]."""
        mask: BoolArray = np.arange(self.longest)[None, :] < self.counts[:, None]
        return mask

    @cached_property
    def best_by_row(self) -> FloatArray:
        """The lowest finite loss of every row, infinity where there is none, [V]."""
        losses = self.losses[:, : self.longest]
        usable = self.observed & np.isfinite(losses)
        best: FloatArray = losses.min(axis=1, initial=np.inf, where=usable)
        return best

    @cached_property
    def best_by_arm(self) -> FloatArray:
        """The lowest finite loss of every arm, infinity where there is none, [K]."""
        best = np.full(self.arms, np.inf)
        best[self.visited] = self.best_by_row
        return best

    @cached_property
    def best(self) -> float:
        """The lowest finite loss seen, infinity before there is one."""
        return float(self.best_by_row.min(initial=np.inf))

    def of_arm(self, arm: int) -> FloatArray:
        """The observed losses of one arm, [n]."""
        row = self.row_of.get(arm)
        if row is None:
            return np.zeros(0)
        return self.losses[row, : self.counts[row]]

    def extend(self, arm: int, losses: FloatArray) -> "Curves":
        """The curves with one more unit of `arm` reported."""
        if not 0 <= arm < self.arms:
            raise Misuse(f"arm {arm} is not one of the {self.arms} arms")
        row = self.row_of.get(arm, len(self.visited))
        new = row == len(self.visited)
        start = 0 if new else int(self.counts[row])
        stop = start + len(losses)
        if not len(losses) or stop > self.epochs:
            raise Misuse(
                f"arm {arm} reports {len(losses)} epochs after {start} of at most {self.epochs}"
            )
        grown = np.zeros((len(self.visited) + new, self.epochs))
        grown[: len(self.visited)] = self.losses
        grown[row, start:stop] = losses
        counts = np.append(self.counts, 0) if new else self.counts.copy()
        counts[row] = stop
        return Curves(
            arms=self.arms,
            epochs=self.epochs,
            visited=np.append(self.visited, arm) if new else self.visited,
            losses=grown,
            counts=counts,
            reports=np.vstack([self.reports, [[row, len(losses)]]]),
        )

    def first(self, reports: int) -> "Curves":
        """The curves as they were after the first `reports` units."""
        if reports >= len(self.reports):
            return self
        kept = self.reports[:reports]
        rows = int(kept[:, 0].max()) + 1 if reports else 0
        counts = np.bincount(kept[:, 0], weights=kept[:, 1], minlength=rows).astype(np.int64)
        return Curves(
            arms=self.arms,
            epochs=self.epochs,
            visited=self.visited[:rows],
            losses=self.losses[:rows],
            counts=counts,
            reports=kept,
        )
