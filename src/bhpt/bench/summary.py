"""Means of a benchmark, for people."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from bhpt.bench.table import ResultRow


@dataclass(frozen=True)
class Cell:
    """Mean of a metric over the seeds, with its standard error."""

    mean: float
    error: float
    runs: int


def cells(rows: list[ResultRow], metric: str) -> dict[tuple[str, str, int], Cell]:
    """Mean of `metric` by (task, policy, budget)."""
    grouped: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for row in rows:
        key = (row.run.task, row.run.policy, row.run.budget)
        grouped[key].append(float(getattr(row.score, metric)))
    return {key: _cell(np.array(values)) for key, values in grouped.items()}


def _cell(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> Cell:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return Cell(float(values.mean()), float(error), len(values))
