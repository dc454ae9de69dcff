"""The pool of curves that the policy is trained on, packed into one file.

Every task becomes improvements by unit: 0 untrained, best so far, divided by the best of the
table. The pool holds all arms of all tasks one below the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.policy.worlds import world
from bhpt.bench.catalogue import load
from bhpt.bench.synthetic import synthetic
from bhpt.bench.tasks import PACKAGED, Task
from bhpt.domain import FloatArray

UNITS = 52  # the longest training in the pool
FEATURES = 16
WEIGHTS = {"lcbench": 0.36, "taskset": 0.22, "tables": 0.16, "drawn": 0.08, "worlds": 0.18}


@dataclass(frozen=True, eq=False)
class Source:
    """One task of the pool."""

    suite: str
    name: str
    improvements: FloatArray
    features: FloatArray


def by_unit(task: Task) -> FloatArray:
    """Improvements after each unit, [K, T + 1]; losses above the untrained one improve nothing."""
    losses = np.where(np.isfinite(task.losses), task.losses, task.untrained)
    gained = np.maximum.accumulate(np.maximum(task.untrained - losses, 0.0), axis=1)
    ends = np.minimum(np.arange(task.unit, task.epochs + task.unit, task.unit), task.epochs) - 1
    table = np.concatenate([np.zeros((task.arms, 1)), gained[:, ends]], axis=1)
    return np.asarray(table / table.max())


def sources(data: Path, drawn: int, worlds: int, seed: int = 0) -> Iterator[Source]:
    """All tasks: what the folder holds, the packaged tables, sets drawn, worlds invented."""
    named = [("tables", name) for name in PACKAGED]
    named += [("lcbench", f"lcbench:{i}") for i in range(18)]
    named += [("taskset", f"taskset:{i}") for i in range(6)]
    for suite, name in named:
        task = load(name, 0, data)
        yield Source(suite, name, by_unit(task), task.features)
    for at in range(drawn):  # the sets with small numbers are those that benchmarks run
        task = synthetic(10_000 + at, anchored=at % 4 > 0)
        yield Source("drawn", f"drawn:{at}", by_unit(task), task.features)
    rng = np.random.default_rng(seed)
    for at in range(worlds):
        yield Source("worlds", f"worlds:{at}", *world(rng, 128, int(rng.integers(9, UNITS + 1))))


def pack(data: Path, out: Path, drawn: int = 200, worlds: int = 1500) -> None:
    """Write the pool."""
    curves, features, table, names = [], [], [], []
    start = 0
    for source in sources(data, drawn, worlds):
        rows, width = source.improvements.shape
        at = np.minimum(np.arange(UNITS + 1), width - 1)
        curves.append(np.rint(source.improvements[:, at] * 65535).astype(np.uint16))
        padded = np.zeros((rows, FEATURES), np.float16)
        used = min(FEATURES, source.features.shape[1])
        padded[:, :used] = source.features[:, :used]
        features.append(padded)
        table.append((start, rows, width - 1, used))
        names.append((source.suite, source.name))
        start += rows
    np.savez_compressed(
        out,
        curves=np.concatenate(curves),
        features=np.concatenate(features),
        table=np.array(table),
        names=np.array(names),
    )
