"""The pool of curves that the policy is trained on, packed into one file.

Every task becomes improvements by unit: 0 untrained, best so far, divided by the best of the
table. The pool holds all arms of all tasks one below the other.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.policy.folds import kinds_listed
from benchmarks.policy.worlds import world
from bhpt.beliefs.learned.passport import TrainedOn
from bhpt.bench.catalogue import in_folder, load
from bhpt.bench.synthetic import synthetic
from bhpt.bench.tasks import PACKAGED, Task
from bhpt.domain import FloatArray, Misuse
from bhpt.spaces.tokens import COLUMNS, NAME_HASH

UNITS = 52  # the longest training in the pool
LOWEST = -3.0  # improvement in the pool: what is further above ℓ_0 counts as this
FEATURES = 16  # columns of configurations that are kept
ARMS = 2000  # of a task, at most
NAMES = 12  # hyper-parameters of a task that are kept
OF_VALUES = COLUMNS - NAME_HASH  # numbers of a token before the hash of its name
# how often a study is drawn from each suite, relative to the other suites in the pool
WEIGHTS = {
    "lcbench": 0.26,
    "taskset": 0.18,
    "tables": 0.06,
    "nets": 0.2,
    "drawn": 0.05,
    "worlds": 0.1,
    "others": 0.65,
}


@dataclass(frozen=True, eq=False)
class Source:
    """One task of the pool.

    Attributes:
        suite: Where it comes from, one of `WEIGHTS`.
        name: What it is called, also where it is left out of training.
        kind: The kind of training, see `bhpt.bench.kinds`.
        improvements: After each unit, best so far, at most 1, [K, T + 1].
        features: Encoded configurations, [K, D].
        tokens: Tokens of their hyper-parameters, [K, N, F]; None where nothing has a name.
        hyperparameters: Names of these; none where nothing has a name.
    """

    suite: str
    name: str
    kind: str
    improvements: FloatArray
    features: FloatArray
    tokens: FloatArray | None = None
    hyperparameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Labels:
    """What the tasks of a pool are called, in their order.

    Attributes:
        suites: Where each comes from.
        names: Their names.
        kinds: Their kinds.
    """

    suites: tuple[str, ...]
    names: tuple[str, ...]
    kinds: tuple[str, ...]

    def chosen(self, names: Sequence[str], kinds: Sequence[str]) -> tuple[str, ...]:
        """Names of the tasks that are named or are of a named kind, in the order of the pool.

        Args:
            names: Names or patterns of them, such as `lcbench:*`.
            kinds: Kinds.

        Raises:
            Misuse: No task fits one of them: it may be misspelled.
        """
        unknown = [n for n in names if not any(fnmatchcase(task, n) for task in self.names)]
        unknown += [k for k in kinds if k not in self.kinds]
        if unknown:
            raise Misuse(
                f"not in the pool: {', '.join(sorted(unknown))}; "
                f"its kinds are {', '.join(sorted({*self.kinds}))}"
            )
        return tuple(
            task
            for task, kind in zip(self.names, self.kinds, strict=True)
            if kind in kinds or any(fnmatchcase(task, n) for n in names)
        )

    def training(self, left_out: Sequence[str]) -> TrainedOn:
        """What is trained on without these tasks, for a passport."""
        kept = {*left_out}
        inside = [t for t in range(len(self.names)) if self.names[t] not in kept]
        return TrainedOn(
            dict(Counter(self.suites[t] for t in inside)),
            dict(Counter(self.kinds[t] for t in inside)),
            tuple(self.names[t] for t in inside if self.suites[t] not in ("drawn", "worlds")),
            tuple(left_out),
        )

    def shares(self, weights: Mapping[str, float], inside: Sequence[bool]) -> FloatArray:
        """How often a task is drawn, [tasks]; they add up to 1.

        Each suite has its weight, divided among its tasks; those of `others` are divided among
        its kinds first, by the root of how many tasks a kind has, so that a kind with many
        tables does not crowd out one with few.

        Args:
            weights: Of the suites; 0 for one that is not there.
            inside: Tasks that are drawn at all, [tasks].

        Raises:
            Misuse: No task is drawn.
        """
        groups = [
            (suite, kind if suite == "others" else "")
            for suite, kind in zip(self.suites, self.kinds, strict=True)
        ]
        tasks = Counter(g for g, drawn in zip(groups, inside, strict=True) if drawn)
        roots: dict[str, float] = {}
        for (suite, _), count in tasks.items():
            roots[suite] = roots.get(suite, 0.0) + count**0.5
        shares = np.array(
            [
                weights.get(g[0], 0.0) / roots[g[0]] / tasks[g] ** 0.5 if drawn else 0.0
                for g, drawn in zip(groups, inside, strict=True)
            ]
        )
        if not shares.sum() > 0:
            raise Misuse("nothing is left to train on: leave fewer tasks out")
        return np.asarray(shares / shares.sum())


def read_labels(pool: Path) -> Labels:
    """What the tasks of a packed pool are called.

    Raises:
        Misuse: The pool is of an older version.
    """
    with np.load(pool) as arrays:
        if "lowest" not in arrays:
            raise Misuse(f"{pool} is of an older version: pack it anew with benchmarks.policy.pool")
        suites, names = zip(*arrays["names"].tolist(), strict=True)
        return Labels(suites, names, tuple(arrays["kinds"].tolist()))


def by_unit(task: Task) -> FloatArray:
    """Improvements over ℓ_0 after each unit, best so far, [K, T + 1].

    They are parts of the task's best improvement, negative as long as an arm is above ℓ_0, and
    `LOWEST` where it is far above it or has not had a finite loss.
    """
    losses = np.where(np.isfinite(task.losses), task.losses, np.inf)
    gained = np.maximum.accumulate(task.untrained - losses, axis=1)
    ends = np.minimum(np.arange(task.unit, task.epochs + task.unit, task.unit), task.epochs) - 1
    table = np.concatenate([np.zeros((task.arms, 1)), gained[:, ends]], axis=1)
    return np.maximum(table / (table.max() or 1.0), LOWEST)


def sources(
    data: Path,
    drawn: int,
    worlds: int,
    nets: Path | None = None,
    tables: Sequence[Path] = (),
) -> Iterator[Source]:
    """All tasks: what the folders hold, the packaged tables, sets drawn, worlds invented.

    Args:
        data: Folder of LCBench and TaskSet.
        drawn: How many sets are drawn from Freeze-Thaw.
        worlds: How many worlds are invented.
        nets: Folder of tables that `benchmarks.policy.nets` made.
        tables: Folders of other tables, NAME.npz + NAME.json.
    """
    named = [("tables", name) for name in PACKAGED]
    named += [("lcbench", f"lcbench:{i}") for i in range(18)]
    named += [("taskset", f"taskset:{i}") for i in range(6)]
    for suite, name in named:
        yield source(suite, load(name, 0, data))
    for suite, folder in (("nets", nets), *(("others", folder) for folder in tables)):
        for name in in_folder(folder):
            yield source(suite, load(name, 0, folder))
    for at in range(drawn):  # the sets with small numbers are those that benchmarks run
        task = synthetic(10_000 + at, anchored=at % 4 > 0)
        yield Source("drawn", f"drawn:{at}", task.kind, by_unit(task), task.features)
    rng = np.random.default_rng(0)
    for at in range(worlds):
        improved, x = world(rng, 128, int(rng.integers(9, UNITS + 1)))
        yield Source("worlds", f"worlds:{at}", "invented", improved, x)


def source(suite: str, task: Task) -> Source:
    """A table as a task of the pool; in a long training several epochs make a unit.

    Raises:
        Misuse: Its kind is not known.
    """
    if not task.kind:
        raise Misuse(
            f"table {task.name} has no kind: write one into {task.name}.json, "
            'such as "kind": "boosted-trees"'
        )
    if task.epochs > UNITS * task.unit:  # whole, so that schedules end
        task = replace(task, unit=-(-task.epochs // UNITS))
    told = (task.features, task.tokens, task.hyperparameters)
    return Source(suite, task.name, task.kind, by_unit(task), *told)


def packed(improvements: FloatArray) -> NDArray[np.uint16]:
    """Improvements as the pool holds them; `studies.unpacked` is the inverse."""
    part = (improvements - LOWEST) / (1.0 - LOWEST)
    return np.rint(part * 65535).astype(np.uint16)


def pack(tasks: Iterable[Source], out: Path) -> None:
    """Write the pool.

    The file holds `curves` [rows, UNITS + 1] in 65535ths of the way from `LOWEST` to 1, `features`
    [rows, FEATURES], `tokens` [rows, NAMES, OF_VALUES], and for each task a row of `table`, (first
    row, rows, units, columns used), of `names`, (suite, name), of `kinds`, and of
    `hyperparameters`, their names, [NAMES].

    Raises:
        Misuse: A task is longer than the pool is wide, has too many arms, or a name twice.
    """
    curves, features, tokens, table, names, kinds, spoken = [], [], [], [], [], [], []
    start = 0
    for source in tasks:
        rows, width = source.improvements.shape
        if width - 1 > UNITS:
            raise Misuse(f"{source.name} has {width - 1} units, the pool has room for {UNITS}")
        if rows > ARMS:
            raise Misuse(f"{source.name} has {rows} arms, the pool has room for {ARMS}")
        at = np.minimum(np.arange(UNITS + 1), width - 1)
        curves.append(packed(source.improvements[:, at]))
        padded = np.zeros((rows, FEATURES), np.float16)
        used = min(FEATURES, source.features.shape[1])
        padded[:, :used] = source.features[:, :used]
        features.append(padded)
        tokens.append(_tokens(source))
        spoken.append([*source.hyperparameters[:NAMES], *[""] * NAMES][:NAMES])
        table.append((start, rows, width - 1, used))
        names.append((source.suite, source.name))
        kinds.append(source.kind)
        start += rows
    if twice := [name for (_, name), count in Counter(names).items() if count > 1]:
        raise Misuse(f"these names are in the pool twice: {', '.join(twice)}")
    np.savez_compressed(
        out,
        curves=np.concatenate(curves),
        features=np.concatenate(features),
        tokens=np.concatenate(tokens),
        hyperparameters=np.array(spoken),
        table=np.array(table),
        names=np.array(names),
        kinds=np.array(kinds),
        lowest=np.array(LOWEST),
    )


def _tokens(source: Source) -> NDArray[np.float16]:
    """Tokens without the hashes of names, which training makes anew, [K, NAMES, OF_VALUES]."""
    found = np.zeros((len(source.improvements), NAMES, OF_VALUES), np.float16)
    if source.tokens is not None:
        kept = source.tokens[:, :NAMES, :OF_VALUES]
        found[:, : kept.shape[1]] = kept
    return found


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.policy.pool", description=__doc__)
    add_sources(made)
    made.add_argument("--out", type=Path, required=True, help="file of the pool, .npz")
    made.add_argument(
        "--leave-out-kind",
        type=kinds_listed,
        default=(),
        help="kinds not to pack, with commas; fold:c for all of a fold",
    )
    return made


def add_sources(made: argparse.ArgumentParser) -> None:
    """Where curves come from."""
    made.add_argument("--data", type=Path, required=True, help="folder of LCBench and TaskSet")
    made.add_argument("--nets", type=Path, help="folder of tables that benchmarks.policy.nets made")
    made.add_argument(
        "--tables",
        type=Path,
        action="append",
        default=[],
        metavar="FOLDER",
        help="folder of other tables, NAME.npz + NAME.json; may be given several times",
    )
    made.add_argument("--drawn", type=int, default=120, help="sets drawn from Freeze-Thaw")
    made.add_argument("--worlds", type=int, default=1500, help="worlds invented")


def main(arguments: Sequence[str] | None = None) -> None:
    """Pack the pool, and say how many tasks of each kind it holds."""
    options = parser().parse_args(arguments)
    for folder in (options.nets, *options.tables):
        if folder is not None and not in_folder(folder):
            raise Misuse(f"{folder}: no NAME.npz + NAME.json pairs there")
    every = sources(options.data, options.drawn, options.worlds, options.nets, options.tables)
    pack((s for s in every if s.kind not in options.leave_out_kind), options.out)
    counts = Counter(read_labels(options.out).kinds)
    print("pool:", ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
