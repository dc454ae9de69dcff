"""How often 90% intervals of the belief with shapes hold: `python -m benchmarks.intervals FOLDER`.

FOLDER has tables as `bhpt bench --data` takes them. A random half of 50 arms of each has been
trained for 1, 2 and 4 units, and the ends of those arms are predicted; units are those of the table
and four times as long. Prints the mean over tables of the part of the ends inside, and its standard
error.
"""

from pathlib import Path

import numpy as np

from benchmarks.folder_tables import folder_parser, tables_asked
from bhpt.bench.calibration import score
from bhpt.bench.catalogue import load
from bhpt.domain import FloatArray
from bhpt.policies.registry import shapes_belief

UNITS = (1, 2, 4)
ARMS = 50


def covered(folder: Path, name: str, longer: int, seed: int) -> FloatArray:
    """Part of the ends inside after each number of units, [3]; NaN where a training is over."""
    task = load(name, seed, folder, ARMS)
    if longer > 1:
        task = load(f"{name}@{longer * task.unit}", seed, folder, ARMS)
    found = [
        score(task, shapes_belief(), seed, units * task.unit / task.epochs).coverage
        if units * task.unit < task.epochs
        else np.nan
        for units in UNITS
    ]
    return np.array(found)


def main() -> None:
    """Print a line for each length of units."""
    parser = folder_parser("intervals", __doc__)
    parser.add_argument("--seed", type=int, default=0, help="which arms, and which half of them")
    options = parser.parse_args()
    names = tables_asked(options)
    for longer in (1, 4):
        rows = np.stack([covered(options.folder, name, longer, options.seed) for name in names])
        after = ", ".join(filter(None, map(described, UNITS, rows.T)))
        print(f"units {longer} times those of the tables, after {after}")


def described(units: int, covered: FloatArray) -> str:
    """Mean over the tables whose training goes on after so many units; nothing if none does."""
    inside = covered[~np.isnan(covered)]
    if not len(inside):
        return ""
    error = np.std(inside) / np.sqrt(len(inside))
    return f"{units}: {np.mean(inside):.3f} ± {error:.3f} ({len(inside)} tables)"


if __name__ == "__main__":
    main()
