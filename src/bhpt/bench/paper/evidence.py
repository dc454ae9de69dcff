"""Means and differences with intervals, on which the verdicts on claims rest.

Policies had the same sets with the same seeds, so they are compared seed by seed. Intervals are 95%
of Student's t over the seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from bhpt.bench.table import ResultRow
from bhpt.domain import FloatArray

_LEVEL = 0.975
_FEWEST = 3  # fewer seeds give no interval


@dataclass(frozen=True)
class MeanInterval:
    """A mean over seeds and its 95% interval; infinitely wide for one or two of them."""

    mean: float
    low: float
    high: float
    seeds: int

    @property
    def below(self) -> bool:
        """Surely below zero."""
        return self.high < 0

    @property
    def above(self) -> bool:
        """Surely above zero."""
        return self.low > 0

    def text(self, digits: int = 3, *, signed: bool = False) -> str:
        """The mean with half the width of its interval; a difference has a sign."""
        half = (self.high - self.low) / 2
        spread = f" ± {half:.{digits}f}" if np.isfinite(half) else ""
        return f"{self.mean:{'+' if signed else ''}z.{digits}f}{spread}".replace("-", "−")


def interval(values: FloatArray) -> MeanInterval:
    """Mean of values over seeds."""
    count = len(values)
    mean = float(np.mean(values)) if count else float("nan")
    if count < _FEWEST:
        return MeanInterval(mean, -np.inf, np.inf, count)
    half = float(student.ppf(_LEVEL, count - 1) * np.std(values, ddof=1) / np.sqrt(count))
    return MeanInterval(mean, mean - half, mean + half, count)


class PaperEvidence:
    """All rows of an evaluation, indexed for queries."""

    def __init__(self, rows: Sequence[ResultRow]) -> None:
        """Index the rows."""
        self._by_cell: dict[tuple[str, str, int], dict[int, ResultRow]] = {}
        for row in rows:
            cell = (row.run.task, row.run.policy, row.run.budget)
            self._by_cell.setdefault(cell, {})[row.run.seed] = row

    def has(self, task: str, policy: str) -> bool:
        """Whether a policy ran on a task."""
        return any(t == task and p == policy for t, p, _ in self._by_cell)

    def budgets(self, task: str, *policies: str) -> list[int]:
        """Budgets at which all of the policies ran on a task."""
        found = [{b for t, p, b in self._by_cell if t == task and p == name} for name in policies]
        return sorted(set.intersection(*found)) if found else []

    def mean(self, task: str, policy: str, budget: int, metric: str = "regret") -> MeanInterval:
        """A metric over seeds."""
        rows = self._by_cell[task, policy, budget]
        return interval(np.array([float(getattr(r.score, metric)) for r in rows.values()]))

    def values(self, task: str, policy: str, budget: int) -> FloatArray:
        """Regrets over seeds, in the order of the seeds."""
        rows = self._by_cell[task, policy, budget]
        return np.array([rows[seed].score.regret for seed in sorted(rows)])

    def difference(self, task: str, one: str, other: str, budget: int) -> MeanInterval:
        """The regret of one policy less that of another, seed by seed."""
        return self._paired((task, one, budget), (task, other, budget))

    def step(self, task: str, policy: str, small: int, large: int) -> MeanInterval:
        """The regret of a policy with a larger budget less that with a smaller, seed by seed."""
        return self._paired((task, policy, large), (task, policy, small))

    def _paired(self, one: tuple[str, str, int], other: tuple[str, str, int]) -> MeanInterval:
        """The regret of one cell less that of another, over the seeds that both have."""
        left, right = self._by_cell[one], self._by_cell[other]
        gaps = [
            left[seed].score.regret - right[seed].score.regret
            for seed in sorted(set(left) & set(right))
        ]
        return interval(np.array(gaps))
