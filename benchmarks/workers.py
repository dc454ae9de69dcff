"""Several workers, units of unequal cost, one deadline, on jobs left out of training.

`python -m benchmarks.workers --data FOLDER --networks FOLDERS --out FILE.csv` tunes tables of
curves with the whole driver on a virtual clock: an epoch of an arm takes between 24 and 150
seconds, drawn for each arm, and the deadline is that of twelve epochs of 60 s, whatever the number
of workers. Each row is one study: its regret beside the best that the deadline allows one arm to
reach, and for which part of the time its workers trained. Rows that are there are not run again.
Where there are as many workers as arms nothing is decided: such studies are left out.
"""

import argparse
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import numpy as np

from bhpt.bench.baselines.registry import make_policy
from bhpt.bench.catalogue import load
from bhpt.bench.left_out_kinds import fold_for, tables_by_kind, with_fold
from bhpt.bench.table import append_rows, read_rows, start_table
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray
from bhpt.executors import Executor
from bhpt.executors.simulated import SimulatedExecutor
from bhpt.tuning import tune

_EPOCH_S = 60.0
_SPREAD = 2.5  # the dearest arm costs so many times the usual one, the cheapest its inverse
_DEADLINE_S = 12 * _EPOCH_S


@dataclass(frozen=True)
class Cell:
    """One study to run."""

    kind: str
    task: str
    policy: str
    workers: int
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        regret: 0 for the best that one arm can reach within the deadline, 1 for an untrained model.
        busy: Part of the workers' time in which they trained.
        epochs: Trained.
    """

    regret: float
    busy: float
    epochs: int


_COLUMNS = [one.name for one in (*fields(Cell), *fields(Outcome))]


def untrained(_config: object) -> Iterator[float]:
    """The trainer of a study whose losses come from a table."""
    yield from ()


def epoch_seconds(arms: int, seed: int) -> FloatArray:
    """What an epoch of each arm takes, [K]."""
    spread = math.log(_SPREAD)
    drawn = np.random.default_rng(seed).uniform(-spread, spread, arms)
    return np.asarray(_EPOCH_S * np.exp(drawn))


def reachable(task: Task, seconds: FloatArray) -> float:
    """The lowest loss of any arm that is trained from the start to the deadline."""
    epochs = np.minimum((_DEADLINE_S // seconds).astype(int), task.losses.shape[1])
    within = np.arange(task.losses.shape[1]) < epochs[:, None]
    usable = np.where(within & np.isfinite(task.losses), task.losses, np.inf)
    return min(float(usable.min()), task.untrained)


def run(task: Task, policy: str, cell: Cell) -> Outcome:
    """Tune a table against the virtual clock."""
    seconds = epoch_seconds(task.arms, cell.seed)
    trained: set[tuple[int, int]] = set()

    def loss(arm: int, epoch: int) -> float:
        trained.add((arm, epoch))
        return float(task.losses[arm, epoch - 1])

    def make(*_: object) -> Executor:
        return SimulatedExecutor(
            loss, lambda arm, _: float(seconds[arm]), slots=cell.workers, freezes=False
        )

    with tempfile.TemporaryDirectory() as folder:
        result = tune(
            untrained, list(task.configs), f"{_DEADLINE_S}s", cell.workers,
            Path(folder) / "study.db", cell.seed, policy=make_policy(policy),
            max_epochs=task.losses.shape[1], unit=1, executor=make, note=lambda _: None,
        )  # fmt: skip
    lowest = reachable(task, seconds)
    found = task.untrained if result.best_loss is None else min(result.best_loss, task.untrained)
    regret = (found - lowest) / max(task.untrained - lowest, 1e-12)
    busy = sum(float(seconds[arm]) for arm, _ in trained) / (cell.workers * _DEADLINE_S)
    return Outcome(max(0.0, regret), busy, len(trained))


def rows_of(file: Path) -> dict[Cell, Outcome]:
    """What a file has already; it is started if it is not there."""
    start_table(file, _COLUMNS)
    return dict(read_rows(file, _COLUMNS, _row))


def _row(cells: dict[str, str]) -> tuple[Cell, Outcome]:
    workers, seed = int(cells["workers"]), int(cells["seed"])
    cell = Cell(cells["kind"], cells["task"], cells["policy"], workers, seed)
    return cell, Outcome(float(cells["regret"]), float(cells["busy"]), int(cells["epochs"]))


def table(rows: dict[Cell, Outcome]) -> Iterator[str]:
    """Lines: mean regret over all, kind by kind, and the use of workers; - where none ran."""
    columns = sorted({(cell.workers, cell.policy) for cell in rows})
    yield f"{'':24}" + "".join(f"{policy + ' x ' + str(n):>16}" for n, policy in columns)
    for title, kind in [("all kinds", ""), *((kind, kind) for kind in _kinds(rows))]:
        regrets = [[rows[cell].regret for cell in _column(rows, *at, kind)] for at in columns]
        yield f"{title:24}" + "".join(f"{_mean(column):>16}" for column in regrets)
    busy = [[rows[cell].busy for cell in _column(rows, *at, "")] for at in columns]
    yield f"{'workers busy':24}" + "".join(f"{_mean(column):>16}" for column in busy)


def _mean(numbers: list[float]) -> str:
    return f"{np.mean(numbers):.3f}" if numbers else "-"


def _kinds(rows: dict[Cell, Outcome]) -> list[str]:
    return sorted({cell.kind for cell in rows})


def _column(rows: dict[Cell, Outcome], workers: int, policy: str, kind: str) -> list[Cell]:
    """The cells of a column, of one kind or of all."""
    return [
        cell
        for cell in rows
        if (cell.workers, cell.policy) == (workers, policy) and kind in ("", cell.kind)
    ]


def cells(
    tasks: Sequence[Task], seeds: int, counts: Sequence[int], policies: Sequence[str]
) -> list[Cell]:
    """Every study: each table with each policy and each number of workers below its arms.

    The tables of a kind have different seeds, counted from 0.
    """
    number: Counter[str] = Counter()
    found = []
    for task in tasks:
        first = number[task.kind]
        number[task.kind] += seeds
        found += [
            Cell(task.kind, task.name, policy, workers, seed)
            for seed in range(first, first + seeds)
            for workers in counts
            if workers < task.arms
            for policy in policies
        ]
    return found


def parser() -> argparse.ArgumentParser:
    """The options."""
    root = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.workers")
    root.add_argument("--data", type=Path, required=True, help="folder of tables")
    root.add_argument("--networks", required=True, help="folders of networks, with commas")
    root.add_argument("--out", type=Path, required=True, help="file for the rows")
    root.add_argument("--tables", type=int, default=2, help="tables of each kind, at most")
    root.add_argument("--kinds", help="kinds, with commas; all if none")
    root.add_argument("--tasks", help="tables by name instead, with commas, such as lcbench:0")
    root.add_argument("--arms", type=int, help="arms of a table, at most")
    root.add_argument("--seeds", type=int, default=1, help="studies of a table")
    root.add_argument("--policies", default="default,asha")
    root.add_argument("--workers", default="4,16,64")
    return root


def names(asked: argparse.Namespace) -> list[str]:
    """Which tables, kind by kind."""
    if asked.tasks:
        return list(asked.tasks.split(","))
    by_kind = tables_by_kind(asked.data, asked.tables, seed=1)
    kinds = asked.kinds.split(",") if asked.kinds else list(by_kind)
    return [name for kind in kinds for name in by_kind[kind]]


def main() -> None:
    """Run what is missing, then print the table of all rows in the file."""
    asked = parser().parse_args()
    folds = [Path(fold) for fold in asked.networks.split(",")]
    tasks = {name: load(name, 0, asked.data, asked.arms) for name in names(asked)}
    counts = [int(count) for count in asked.workers.split(",")]
    rows = rows_of(asked.out)
    wanted = cells(list(tasks.values()), asked.seeds, counts, asked.policies.split(","))
    missing = [cell for cell in wanted if cell not in rows]
    for number, cell in enumerate(missing, 1):
        fold = fold_for(cell.task, cell.kind, folds)
        rows[cell] = run(tasks[cell.task], with_fold(cell.policy, fold), cell)
        append_rows(asked.out, [(*astuple(cell), *astuple(rows[cell]))])
        print(f"{number}/{len(missing)} {cell.task} {cell.policy} x {cell.workers}", flush=True)
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
