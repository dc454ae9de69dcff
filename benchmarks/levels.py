"""Whether ends follow levels or falls, truly and as believed: `python -m benchmarks.levels FOLDER`.

FOLDER has tables as `bhpt bench --data` takes them. All arms of a table have been trained for four
units, and the belief with shapes predicts their ends from these, arms apart. In every table both
the ends and the predicted ones are regressed on the level reached and on what the last two units
brought, in logarithms, over the arms that learn. Prints the quartiles of the coefficients over
tables, and the correlation of ranks with the ends that predictions and levels have.
"""

import numpy as np
from scipy.stats import spearmanr

from benchmarks.folder_tables import folder_parser, tables_asked
from bhpt.beliefs.freeze_thaw.hypers import Structure
from bhpt.beliefs.shapes.belief import ShapeBelief
from bhpt.bench.catalogue import load
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, FloatArray

UNITS = 4
FEWEST = 15  # arms that learn
LEARNS = -0.1  # an end above this, relative to an untrained model, is of an arm that does not


def told(task: Task) -> FloatArray | None:
    """Coefficients of level and fall for ends and predictions, ranks of both, [6]; None if few.

    Losses that begin at or below zero have no logarithms relative to where they begin: none either.
    """
    if task.untrained <= 0:
        return None
    losses = np.where(np.isfinite(task.losses), task.losses, task.untrained)
    lowest = np.minimum.accumulate(np.minimum(losses, task.untrained), axis=1)
    seen, half = UNITS * task.unit, UNITS // 2 * task.unit
    values = np.log(np.maximum(lowest, 1e-9) / task.untrained)
    learns = values[:, -1] < LEARNS
    if 2 * seen > task.epochs or learns.sum() < FEWEST:
        return None
    ends, level = values[learns, -1], values[learns, seen - 1]
    causes = np.stack([level, level - values[learns, half - 1]], axis=1)
    if np.ptp(causes[:, 1]) == 0:
        return None
    believed = np.log(np.maximum(predicted(task, lowest[:, :seen])[learns], 1e-9))
    ranks = [spearmanr(guess, ends).statistic for guess in (believed, level)]
    return np.concatenate([slopes(causes, ends), slopes(causes, believed), ranks])


def predicted(task: Task, seen: FloatArray) -> FloatArray:
    """Medians of the predicted ends of all arms, [K]."""
    view = task.view(Curves.of(list(seen), task.epochs), task.epochs * task.arms, seed=0)
    median: FloatArray = ShapeBelief(Structure("none")).predict(view).quantiles((0.5,))[0]
    return median


def slopes(causes: FloatArray, effect: FloatArray) -> FloatArray:
    """Coefficients of a linear regression, [2]."""
    centred = causes - causes.mean(axis=0)
    found: FloatArray = np.linalg.lstsq(centred, effect - effect.mean(), rcond=None)[0]
    return found


def main() -> None:
    """Print a line for the ends, one for the predictions, and the ranks."""
    parser = folder_parser("levels", __doc__)
    options = parser.parse_args()
    names = tables_asked(options)
    rows = [row for name in names if (row := told(load(name, 0, options.folder))) is not None]
    found = np.array(rows)
    for at, what in ((0, "ends"), (2, "predicted ends")):
        level, fall = (np.quantile(found[:, at + i], (0.25, 0.5, 0.75)) for i in (0, 1))
        print(f"{what}: level {described(level)}, fall {described(fall)} ({len(found)} tables)")
    believed, raw = np.nanmean(found[:, 4:], axis=0)  # of ends that are all the same there is none
    print(f"ranks: predictions {believed:.2f}, levels {raw:.2f}")


def described(quartiles: FloatArray) -> str:
    """Median and quartiles."""
    low, middle, high = quartiles
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    main()
