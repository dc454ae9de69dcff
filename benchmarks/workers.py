"""Several workers on jobs left out of training: under one deadline, or in step at equal units.

`python -m benchmarks.workers --data FOLDER --networks FOLDERS --out FILE.csv` tunes tables of
curves with the whole driver on a virtual clock, whose length is that of twelve epochs of 60 s,
whatever the number of workers. Under a deadline an epoch of an arm takes between 24 and 150
seconds, drawn for each arm. In step all epochs take 60 s, so that the workers report together, and
the budget is twelve epochs for each of them. Each row is one study: its regret beside the best
that one arm can reach in that time, where it comes from, and for which part of the time its
workers trained. Rows that are there are not run again. Where there are as many workers as arms
nothing is decided: such studies are left out.
"""

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import astuple, dataclass, fields
from functools import partial
from itertools import zip_longest
from pathlib import Path
from zlib import crc32

import numpy as np

from bhpt.bench.baselines.registry import make_rule
from bhpt.bench.catalogue import load
from bhpt.bench.left_out_kinds import fold_for, tables_by_kind, with_fold
from bhpt.bench.paper.evidence import MeanInterval, interval
from bhpt.bench.table import append_rows, read_rows, start_table
from bhpt.bench.tasks import Task
from bhpt.bench.workers import workers as processes
from bhpt.domain import FloatArray
from bhpt.executors import Executor
from bhpt.executors.simulated import SimulatedExecutor
from bhpt.tuning import tune

_EPOCH_S = 60.0
_SPREAD = 2.5  # the dearest arm costs so many times the usual one, the cheapest its inverse
_EPOCHS = 12  # that the usual arm has time for
_TIME_S = _EPOCHS * _EPOCH_S
_ROUNDING = 1e-9  # an epoch that ends with the time is inside

SETTINGS = ("deadline", "step")


@dataclass(frozen=True)
class Cell:
    """One study to run."""

    kind: str
    task: str
    policy: str
    workers: int
    setting: str
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What came of it.

    Attributes:
        regret: 0 for the best that one arm can reach in the time, 1 for an untrained model.
        busy: Part of the workers' time in which they trained.
        epochs: Trained.
        untried: The part of the regret that would be left if every arm that was tried had been
            trained from the start to the end: better arms were never tried.
        late: The part that there would be beside it if every arm had been trained on from its
            first epoch to the end: better arms were begun too late. What is left of the regret is
            of arms that were begun in time and not trained on.
    """

    regret: float
    busy: float
    epochs: int
    untried: float
    late: float

    @property
    def dropped(self) -> float:
        """The part of the regret that is of arms begun in time and not trained on."""
        return self.regret - self.untried - self.late


_COLUMNS = [one.name for one in (*fields(Cell), *fields(Outcome))]


def untrained(_config: object) -> Iterator[float]:
    """The trainer of a study whose losses come from a table."""
    yield from ()


def epoch_seconds(arms: int, cell: Cell) -> FloatArray:
    """What an epoch of each arm takes, [K]."""
    if cell.setting == "step":
        return np.full(arms, _EPOCH_S)
    spread = math.log(_SPREAD)
    drawn = np.random.default_rng(cell.seed).uniform(-spread, spread, arms)
    return np.asarray(_EPOCH_S * np.exp(drawn))


def reachable(task: Task, seconds: FloatArray, begun: FloatArray | float = 0.0) -> float:
    """The lowest loss of any arm that is trained to the end of the time without a pause.

    Args:
        task: The table.
        seconds: Of an epoch of each arm, [K].
        begun: When each arm is begun, infinite if never, [K] or one number for all.
    """
    time_s = np.maximum(_TIME_S - begun, 0.0)
    epochs = np.minimum(np.floor(time_s / seconds + _ROUNDING), task.losses.shape[1])
    within = np.arange(task.losses.shape[1]) < epochs[:, None]
    usable = np.where(within & np.isfinite(task.losses), task.losses, np.inf)
    return min(float(usable.min()), task.untrained)


def run(task: Task, policy: str, cell: Cell) -> Outcome:
    """Tune a table against the virtual clock."""
    seconds = epoch_seconds(task.arms, cell)
    trained: set[tuple[int, int]] = set()
    begun = np.full(task.arms, np.inf)

    def loss(arm: int, epoch: int) -> float:
        trained.add((arm, epoch))
        begun[arm] = min(begun[arm], executor.now() - seconds[arm])
        return float(task.losses[arm, epoch - 1])

    executor = SimulatedExecutor(
        loss, lambda arm, _: float(seconds[arm]), slots=cell.workers, freezes=False
    )

    def make(*_: object) -> Executor:
        return executor

    in_step = f"{_EPOCHS * cell.workers} epochs"
    with tempfile.TemporaryDirectory() as folder:
        result = tune(
            untrained, list(task.configs), in_step if cell.setting == "step" else f"{_TIME_S}s",
            cell.workers, Path(folder) / "study.db", cell.seed, policy=make_rule(policy),
            max_epochs=task.losses.shape[1], unit=1, executor=make, note=lambda _: None,
        )  # fmt: skip
    lowest = reachable(task, seconds)

    def regret(found: float | None) -> float:
        loss = task.untrained if found is None else min(found, task.untrained)
        return max(0.0, (loss - lowest) / max(task.untrained - lowest, 1e-12))

    tried = regret(reachable(task, seconds, np.where(np.isfinite(begun), 0.0, np.inf)))
    in_time = regret(reachable(task, seconds, begun))
    busy = sum(float(seconds[arm]) for arm, _ in trained) / (cell.workers * _TIME_S)
    return Outcome(regret(result.best_loss), busy, len(trained), tried, in_time - tried)


def rows_of(file: Path) -> dict[Cell, Outcome]:
    """What a file has already; it is started if it is not there."""
    start_table(file, _COLUMNS)
    return dict(read_rows(file, _COLUMNS, _row))


def _row(cells: dict[str, str]) -> tuple[Cell, Outcome]:
    workers, seed = int(cells["workers"]), int(cells["seed"])
    cell = Cell(cells["kind"], cells["task"], cells["policy"], workers, cells["setting"], seed)
    untried, late = float(cells["untried"]), float(cells["late"])
    busy, epochs = float(cells["busy"]), int(cells["epochs"])
    return cell, Outcome(float(cells["regret"]), busy, epochs, untried, late)


@dataclass(frozen=True)
class Compared:
    """Two policies on the tables of a kind that both were run on.

    Attributes:
        first: Mean regret of the first.
        second: Mean regret of the second.
        apart: The first's regret less the second's, table by table.
    """

    first: float
    second: float
    apart: MeanInterval


def compared(pairs: Sequence[tuple[float, float]]) -> Compared:
    """Two policies by their regrets on the same tables, at least one."""
    both = np.array(pairs)
    first, second = both.mean(axis=0)
    return Compared(float(first), float(second), interval(both[:, 0] - both[:, 1]))


def regrets(
    rows: dict[Cell, Outcome], setting: str, workers: int, policies: tuple[str, str]
) -> dict[str, list[tuple[float, float]]]:
    """By kind, the regrets of two policies on each table that both were run on, seeds averaged."""
    found: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for cell, outcome in rows.items():
        if (cell.setting, cell.workers) == (setting, workers):
            of_table = found.setdefault((cell.kind, cell.task), {})
            of_table.setdefault(cell.policy, {})[cell.seed] = outcome.regret
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for (kind, _), of_table in sorted(found.items()):
        one, other = (of_table.get(policy, {}) for policy in policies)
        seeds = one.keys() & other.keys()
        if seeds:
            pair = (_mean([one[s] for s in seeds]), _mean([other[s] for s in seeds]))
            by_kind.setdefault(kind, []).append(pair)
    return by_kind


def table(rows: dict[Cell, Outcome], policies: tuple[str, str]) -> Iterator[str]:
    """Lines of Markdown: two policies by kind, setting and number of workers.

    A star marks where the first is surely behind (95%, table by table), a plus where it is surely
    ahead.
    """
    columns = sorted({(cell.setting, cell.workers) for cell in rows})
    by_kind = [
        {kind: compared(pairs) for kind, pairs in regrets(rows, *at, policies).items()}
        for at in columns
    ]
    yield _line([f"`{policies[0]}` / `{policies[1]}`", *(f"{s}, {n}" for s, n in columns)])
    yield _line(["---"] * (len(columns) + 1))
    for kind in sorted({kind for column in by_kind for kind in column}):
        yield _line([kind, *(_pair(column.get(kind)) for column in by_kind)])
    yield _line(["mean of kinds", *map(_overall, by_kind)])
    for words, counts in _COUNTS.items():
        yield _line([words, *(_counted(column, counts) for column in by_kind)])
    for words, part in _PARTS.items():
        shares = [[_part(rows, *at, policy, part) for policy in policies] for at in columns]
        yield _line([words, *(" / ".join(pair) for pair in shares)])
    yield _line(["workers busy", *(_busy(rows, *at, policies[0]) for at in columns)])


_COUNTS: dict[str, Callable[[MeanInterval], bool]] = {
    "kinds with a higher mean": lambda apart: apart.mean > 0,
    "kinds surely behind": lambda apart: apart.above,
    "kinds surely ahead": lambda apart: apart.below,
}

_PARTS: dict[str, Callable[[Outcome], float]] = {
    "regret of arms never tried": lambda outcome: outcome.untried,
    "of arms begun too late": lambda outcome: outcome.late,
    "of arms not trained on": lambda outcome: outcome.dropped,
}


def _part(
    rows: dict[Cell, Outcome],
    setting: str,
    workers: int,
    policy: str,
    part: Callable[[Outcome], float],
) -> str:
    """The mean of a part of the regret over the studies of each kind, then over kinds."""
    by_kind: dict[str, list[float]] = {}
    for cell, outcome in rows.items():
        if (cell.setting, cell.workers, cell.policy) == (setting, workers, policy):
            by_kind.setdefault(cell.kind, []).append(part(outcome))
    return _short(_mean([_mean(of_kind) for of_kind in by_kind.values()])) if by_kind else "-"


def _line(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _pair(one: Compared | None) -> str:
    if one is None:
        return "-"
    sign = "*" if one.apart.above else "+" if one.apart.below else ""
    return f"{_short(one.first)} / {_short(one.second)}{sign}"


def _overall(kinds: dict[str, Compared]) -> str:
    if not kinds:
        return "-"
    first = _mean([one.first for one in kinds.values()])
    return f"{_short(first)} / {_short(_mean([one.second for one in kinds.values()]))}"


def _counted(kinds: dict[str, Compared], counts: Callable[[MeanInterval], bool]) -> str:
    return f"{sum(counts(one.apart) for one in kinds.values())} of {len(kinds)}"


def _short(regret: float) -> str:
    return f"{regret:.3f}".removeprefix("0")


def _mean(numbers: Sequence[float]) -> float:
    return float(np.mean(numbers))


def _busy(rows: dict[Cell, Outcome], setting: str, workers: int, policy: str) -> str:
    """The part of the time in which workers trained, in per cent."""
    shares = [
        outcome.busy
        for cell, outcome in rows.items()
        if (cell.setting, cell.workers, cell.policy) == (setting, workers, policy)
    ]
    return f"{100 * _mean(shares):.0f}%" if shares else "-"


def cells(
    tasks: Sequence[Task],
    seeds: int,
    counts: Sequence[int],
    settings: Sequence[str],
    policies: Sequence[str],
) -> list[Cell]:
    """Every study: each table with each policy, setting and number of workers below its arms.

    Tables have seeds of their own, which do not depend on what else is run.
    """
    return [
        Cell(task.kind, task.name, policy, workers, setting, seed)
        for task in tasks
        for seed in _seeds(task, seeds)
        for setting in settings
        for workers in counts
        if workers < task.arms
        for policy in policies
    ]


def _seeds(task: Task, count: int) -> range:
    first = crc32(task.name.encode()) % 1000
    return range(first, first + count)


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
    root.add_argument("--policies", default="default,asha", help="compares first and last")
    root.add_argument("--workers", default="4,16,64")
    root.add_argument("--settings", default=",".join(SETTINGS))
    root.add_argument("--jobs", type=int, default=1, help="studies at the same time")
    root.add_argument("--seconds", type=float, default=math.inf, help="no row is kept after")
    return root


def names(asked: argparse.Namespace) -> list[str]:
    """Which tables: the first of each kind, then the second of each, and so on."""
    if asked.tasks:
        return list(asked.tasks.split(","))
    by_kind = tables_by_kind(asked.data, asked.tables, seed=1)
    kinds = asked.kinds.split(",") if asked.kinds else list(by_kind)
    return [name for row in zip_longest(*(by_kind[kind] for kind in kinds)) for name in row if name]


def run_cell(cell: Cell, data: Path, arms: int | None, folds: Sequence[Path]) -> Outcome:
    """Tune the table of a cell with the networks that have not seen it."""
    policy = with_fold(cell.policy, fold_for(cell.task, cell.kind, folds))
    return run(load(cell.task, 0, data, arms), policy, cell)


def run_missing(wanted: Sequence[Cell], asked: argparse.Namespace) -> dict[Cell, Outcome]:
    """All rows, once those that are wanted and missing have been run and kept."""
    folds = [Path(fold) for fold in asked.networks.split(",")]
    rows = rows_of(asked.out)
    missing = [cell for cell in wanted if cell not in rows]
    until = time.monotonic() + asked.seconds
    work = partial(run_cell, data=asked.data, arms=asked.arms, folds=folds)
    with processes(asked.jobs) as pool:
        running = {pool.submit(work, cell): cell for cell in missing}
        for number, done in enumerate(as_completed(running), 1):
            cell = running[done]
            rows[cell] = done.result()
            append_rows(asked.out, [(*astuple(cell), *astuple(rows[cell]))])
            print(f"{number}/{len(missing)} {cell.task} {cell.policy} x {cell.workers}", flush=True)
            if time.monotonic() > until:
                break
    return rows


def main() -> None:
    """Run what is missing, then print the table of all rows in the file."""
    asked = parser().parse_args()
    tasks = [load(name, 0, asked.data, asked.arms) for name in names(asked)]
    counts = [int(count) for count in asked.workers.split(",")]
    policies = asked.policies.split(",")
    wanted = cells(tasks, asked.seeds, counts, asked.settings.split(","), policies)
    rows = run_missing(wanted, asked)
    print("\n".join(table(rows, (policies[0], policies[-1]))))


if __name__ == "__main__":
    main()
