"""The pool of curves that the policy is trained on, packed into one file.

Every task becomes improvements by unit: 0 untrained, best so far, divided by the best of the
table. The pool holds all arms of all tasks one below the other.
"""

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.policy.worlds import world
from bhpt.bench.catalogue import in_folder, load
from bhpt.bench.synthetic import synthetic
from bhpt.bench.tasks import PACKAGED, Task
from bhpt.domain import FloatArray, Misuse
from bhpt.spaces import ROLES

UNITS = 52  # the longest training in the pool
FEATURES = 16  # columns of configurations that are kept
# how often a study is drawn from each suite
WEIGHTS = {
    "lcbench": 0.26,
    "taskset": 0.18,
    "tables": 0.08,
    "nets": 0.26,
    "drawn": 0.08,
    "worlds": 0.14,
}


@dataclass(frozen=True, eq=False)
class Source:
    """One task of the pool.

    Attributes:
        suite: Where it comes from, one of `WEIGHTS`.
        name: What it is called, also where it is left out of training.
        improvements: After each unit, best so far, at most 1, [K, T + 1].
        features: Encoded configurations, [K, D].
        meanings: What their names mean, [K, M]; None where nothing has a name.
    """

    suite: str
    name: str
    improvements: FloatArray
    features: FloatArray
    meanings: FloatArray | None = None


def by_unit(task: Task) -> FloatArray:
    """Improvements after each unit, [K, T + 1]; losses above the untrained one improve nothing."""
    losses = np.where(np.isfinite(task.losses), task.losses, task.untrained)
    gained = np.maximum.accumulate(np.maximum(task.untrained - losses, 0.0), axis=1)
    ends = np.minimum(np.arange(task.unit, task.epochs + task.unit, task.unit), task.epochs) - 1
    table = np.concatenate([np.zeros((task.arms, 1)), gained[:, ends]], axis=1)
    return np.asarray(table / (table.max() or 1.0))


def sources(
    data: Path, drawn: int, worlds: int, nets: Path | None = None, seed: int = 0
) -> Iterator[Source]:
    """All tasks: what the folders hold, the packaged tables, sets drawn, worlds invented."""
    named = [("tables", name) for name in PACKAGED]
    named += [("lcbench", f"lcbench:{i}") for i in range(18)]
    named += [("taskset", f"taskset:{i}") for i in range(6)]
    for suite, name in named:
        task = load(name, 0, data)
        yield Source(suite, name, by_unit(task), task.features, task.meanings)
    for name in in_folder(nets):
        task = load(name, 0, nets)
        yield Source("nets", name, by_unit(task), task.features, task.meanings)
    for at in range(drawn):  # the sets with small numbers are those that benchmarks run
        task = synthetic(10_000 + at, anchored=at % 4 > 0)
        yield Source("drawn", f"drawn:{at}", by_unit(task), task.features)
    rng = np.random.default_rng(seed)
    for at in range(worlds):
        yield Source("worlds", f"worlds:{at}", *world(rng, 128, int(rng.integers(9, UNITS + 1))))


def pack(tasks: Iterable[Source], out: Path) -> None:
    """Write the pool.

    The file holds `curves` [rows, UNITS + 1] in 65535ths, `features` [rows, FEATURES], `meanings`
    [rows, roles], and for each task a row of `table`, (first row, rows, units, columns used), and
    of `names`, (suite, name).

    Raises:
        Misuse: A task is longer than the pool is wide.
    """
    curves, features, known, table, names = [], [], [], [], []
    start = 0
    for source in tasks:
        rows, width = source.improvements.shape
        if width - 1 > UNITS:
            raise Misuse(f"{source.name} has {width - 1} units, the pool has room for {UNITS}")
        at = np.minimum(np.arange(UNITS + 1), width - 1)
        curves.append(np.rint(source.improvements[:, at] * 65535).astype(np.uint16))
        padded = np.zeros((rows, FEATURES), np.float16)
        used = min(FEATURES, source.features.shape[1])
        padded[:, :used] = source.features[:, :used]
        features.append(padded)
        unknown = np.full((rows, len(ROLES)), np.nan)
        known.append((unknown if source.meanings is None else source.meanings).astype(np.float32))
        table.append((start, rows, width - 1, used))
        names.append((source.suite, source.name))
        start += rows
    np.savez_compressed(
        out,
        curves=np.concatenate(curves),
        features=np.concatenate(features),
        meanings=np.concatenate(known),
        table=np.array(table),
        names=np.array(names),
    )


def main() -> None:
    """Pack the pool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of LCBench and TaskSet")
    parser.add_argument("--out", type=Path, required=True, help="file of the pool, .npz")
    parser.add_argument(
        "--nets", type=Path, help="folder of tables that benchmarks.policy.nets made"
    )
    parser.add_argument("--drawn", type=int, default=120, help="sets drawn from Freeze-Thaw")
    parser.add_argument("--worlds", type=int, default=1500, help="worlds invented")
    options = parser.parse_args()
    pack(sources(options.data, options.drawn, options.worlds, options.nets), options.out)


if __name__ == "__main__":
    main()
