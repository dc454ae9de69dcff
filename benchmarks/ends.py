"""How the ends of arms spread, and whether upwards: `python -m benchmarks.ends FOLDER`.

FOLDER has tables as `bhpt bench --data` takes them. The end of an arm is the logarithm of its
lowest loss relative to where curves start, as the belief with shapes takes it; arms that learn
nothing are left out, for which that belief has a prior of their own. Prints the skewness of the
ends over tables, and what a prior of two parts, (1 - p) N(m, s²) + p N(m + a s, (b s)²) with m
and s of the table, gains over N(m, s²) on them.
"""

from itertools import product

import numpy as np
from scipy.optimize import minimize

from benchmarks.folder_tables import folder_parser, tables_asked
from bhpt.bench.catalogue import load
from bhpt.bench.paper.evidence import interval
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray

ARMS = 50
FEWEST = 15  # arms that learn: fewer say nothing of how ends spread
LEARNS = -0.02  # an end above this is of an arm that learns nothing
PARTS = tuple(product((0.2, 0.4, 0.6), ((1.0, 1.5), (2.0, 2.0), (3.0, 2.0), (0.0, 3.0))))


def ends_of(task: Task) -> FloatArray:
    """Logarithms of the lowest losses of arms that learn, relative to the start, [A]."""
    losses = np.where(np.isfinite(task.losses), task.losses, np.inf)
    lowest, first = losses.min(axis=1), float(np.median(losses[:, 0]))
    start = max(task.untrained, first) if np.isfinite(first) else task.untrained
    ends = np.log(lowest[(lowest > 0) & np.isfinite(lowest)] / start)
    learning: FloatArray = ends[ends < LEARNS]
    return learning


def skewness(ends: FloatArray) -> float:
    """Third moment in units of the deviation: positive if ends spread upwards."""
    apart = ends - ends.mean()
    return float(np.mean(apart**3) / np.mean(apart**2) ** 1.5)


def fitted(ends: FloatArray, part: float = 0.0, up: float = 0.0, wide: float = 1.0) -> float:
    """Highest log likelihood over m and s, (2π)^½ left out."""

    def cost(theta: FloatArray) -> float:
        mean, deviation = theta[0], np.exp(np.clip(theta[1], -8.0, 8.0))
        low = np.exp(-0.5 * ((ends - mean) / deviation) ** 2)
        apart = (ends - mean - up * deviation) / (wide * deviation)
        both = (1 - part) * low + part / wide * np.exp(-0.5 * apart**2)
        return float(len(ends) * np.log(deviation) - np.log(np.maximum(both, 1e-300)).sum())

    spread = float(np.log(ends.std()))
    starts = product(np.quantile(ends, (0.1, 0.25, 0.5)), (spread, spread - 0.7, spread - 1.4))
    return -min(float(minimize(cost, start, method="Nelder-Mead").fun) for start in starts)


def main() -> None:
    """Print skewness, and a line for each prior of two parts."""
    parser = folder_parser("ends", __doc__)
    options = parser.parse_args()
    names = tables_asked(options)
    found = [ends_of(load(name, 0, options.folder, ARMS)) for name in names]
    found = [ends for ends in found if len(ends) >= FEWEST and ends.std() > 0]
    skewed = interval(np.array(list(map(skewness, found))))
    print(f"skewness of {len(found)} tables {skewed.text()}")
    plain = np.array([fitted(ends) for ends in found])
    for part, (up, wide) in PARTS:
        gain = np.array([fitted(ends, part, up, wide) for ends in found]) - plain
        nats = f"{interval(gain).text(2, signed=True)} nats a table"
        print(f"p = {part}, a = {up}, b = {wide}: {nats}, better on {(gain > 0).sum()}")


if __name__ == "__main__":
    main()
