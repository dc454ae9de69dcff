"""How far documented defaults reach, and what closeness to them says of how configurations end.

`python -m benchmarks.closeness runs/tables` prints, for each kind of tables in a folder, the share
of hyper-parameters that have a default and the rank correlation of closeness with the best loss.
"""

import sys
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from bhpt.beliefs.experts import closeness_to_defaults
from bhpt.bench.catalogue import in_folder, load
from bhpt.bench.paper.evidence import interval
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray, Misuse
from bhpt.spaces.tokens import column

_FLAT = 1e-12


def tokens(task: Task) -> FloatArray:
    """What is said of each value of each configuration, [K, N, F].

    Raises:
        Misuse: The table says nothing of its configurations.
    """
    if task.tokens is None:
        raise Misuse(f"task {task.name}: no configurations")
    return task.tokens


def agreement(task: Task) -> float:
    """Rank correlation of closeness with how arms end; 0 where one of them is the same for all."""
    finite = np.where(np.isfinite(task.losses), task.losses, np.inf)
    ends = np.minimum(finite.min(axis=1), task.untrained)
    close = closeness_to_defaults(tokens(task))
    if np.ptp(close) < _FLAT or np.ptp(ends) == 0:
        return 0.0
    return float(spearmanr(close, -ends)[0])


def covered(task: Task) -> list[bool]:
    """Which hyper-parameters of a task have a documented default."""
    return [bool(found) for found in tokens(task)[:, :, column("has_default")].max(axis=0)]


def main(folder: Path) -> None:
    kinds: dict[str, list[tuple[float, list[bool]]]] = {}
    for name in in_folder(folder):
        task = load(name, 0, folder)
        kinds.setdefault(task.kind or "unknown", []).append((agreement(task), covered(task)))
    means = []
    every: list[bool] = []
    for kind, found in sorted(kinds.items()):
        means.append(float(np.mean([one for one, _ in found])))
        has = [one for _, parts in found for one in parts]
        every += has
        print(f"{kind:24s} {len(found):4d} tables, {np.mean(has):4.0%} have one: {means[-1]:.2f}")
    print(
        f"all: {np.mean(every):.1%} of {len(every)} with a default; closeness and how arms end "
        f"{interval(np.array(means)).text()} over {len(means)} kinds"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
