"""What looks at other arms promise and bring: `python -m benchmarks.looks FOLDER`.

FOLDER has tables as `bhpt bench --data` takes them. One arm of each, drawn at random, has had one
unit of a budget. k others get one unit each, and what is left goes to the arm that is lowest then.
Prints the mean regret of that for each k over tables and first arms: as the belief with shapes
predicts it, by joint draws of whole curves, and as the tables have it; regret of either is relative
to the best arm of the table.
"""

import numpy as np

from benchmarks.folder_tables import folder_parser, tables_asked
from benchmarks.policy.options import listed
from bhpt.bench.catalogue import load
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, FloatArray, IntArray
from bhpt.policies.registry import shapes_belief

LOOKS = (0, 1, 2, 3)
_DRAWS = 400
_SETS = 60  # sets of other arms that the tables are asked about


def after_looks(paths: FloatArray, unit: int, budget: int, looks: int) -> FloatArray:
    """Lowest loss of a budget of which an arm has had a unit, with looks at others, [S].

    Args:
        paths: Lowest loss after each epoch, the arm with a unit first, [S, A, T + 1].
        unit: Epochs of a unit.
        budget: Units, that of the first arm included.
        looks: How many of the others get one unit.
    """
    now: FloatArray = paths[:, : looks + 1, unit]
    last = min((budget - looks) * unit, paths.shape[2] - 1)
    rest: FloatArray = paths[np.arange(len(paths)), now.argmin(axis=1), last]
    lowest: FloatArray = np.minimum(rest, now.min(axis=1))
    return lowest


def real_paths(task: Task, arms: IntArray) -> FloatArray:
    """How the lowest loss of some arms falls in the table, [.., T + 1]."""
    losses = np.where(np.isfinite(task.losses), task.losses, task.untrained)
    start = np.full((task.arms, 1), task.untrained)
    falling: FloatArray = np.minimum.accumulate(np.hstack([start, losses]), axis=1)
    return falling[arms]


def regrets(task: Task, budget: int, seed: int) -> FloatArray:
    """Regret predicted and regret found for each number of looks, [2, L]."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(task.arms)
    first, most = order[:1], max(LOOKS)
    nothing, tried = Curves.empty(task.arms, task.epochs), int(first[0])
    curves = nothing.extend(tried, task.next_unit(nothing, tried))
    view = task.view(curves, budget - 1, seed)
    drawn = shapes_belief().predict(view).paths(order[: most + 1], _DRAWS, rng)
    others = [rng.permutation(order[1:])[:most] for _ in range(_SETS)]
    found = real_paths(task, np.stack([np.append(first, some) for some in others]))
    best = real_paths(task, np.arange(task.arms))[:, : budget * task.unit + 1].min()
    room = max(task.untrained - float(best), np.finfo(float).tiny)
    reached = [
        [after_looks(paths, task.unit, budget, k).mean() for k in LOOKS] for paths in (drawn, found)
    ]
    relative: FloatArray = (np.array(reached) - best) / room
    return relative


def main() -> None:
    """Print a line for each length of units and budget."""
    parser = folder_parser("looks", __doc__)
    parser.add_argument("--budgets", type=listed, default=("5", "10", "20"), help="with commas")
    parser.add_argument("--seeds", type=int, default=4, help="first arms of each table")
    options = parser.parse_args()
    names = tables_asked(options)
    for budget in map(int, options.budgets):
        found = [
            regrets(load(name, seed, options.folder), budget, seed)
            for name in names
            for seed in range(options.seeds)
        ]
        predicted, real = (" ".join(f"{x:.3f}" for x in row) for row in np.mean(found, axis=0))
        looks = ", ".join(map(str, LOOKS))
        print(f"B = {budget}, {looks} looks: predicted {predicted}, found {real}")


if __name__ == "__main__":
    main()
