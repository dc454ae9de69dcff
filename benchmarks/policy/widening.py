"""Does a wider pool help readers of names on kinds that they have not met? No GPU is needed.

Readers are trained twice without some kinds: on the kinds of before alone (`narrow`), and with the
kinds that are new (`wide`). Both are asked about all tables that were left out. What counts is the
rank correlation of what they say with how arms really end, and how good the best of the five arms
is that they think best of.

    python -m benchmarks.policy.widening --pool runs/pool.npz --new gan,flow --out runs/widening.csv

`--new-tables '*_[5-7]??'` hides tables by their names instead, of kinds of before as well.
"""

import argparse
import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from benchmarks.policy.folds import FOUR, kinds_listed
from benchmarks.policy.knowledge import Tables, agreement, ask, folds, train
from benchmarks.policy.options import listed
from benchmarks.policy.pool import LOWEST
from bhpt.beliefs.learned.arm_opinions import ask_experts
from bhpt.beliefs.learned.network import Weights
from bhpt.domain import FloatArray, Misuse

LOOKS = 5  # arms that are looked at first


@dataclass(frozen=True)
class Judgement:
    """What readers said of one table whose kind they had not met.

    Attributes:
        pool: `narrow` or `wide`.
        seed: Of their training.
        kind: Of the table.
        task: Its name.
        reader: Rank correlation of what the networks say alone with the ends of arms.
        together: The same of all experts together, as a study is told.
        missed: By how much the best of their first `LOOKS` arms ends below the best of all, as a
            part of the best improvement.
    """

    pool: str
    seed: int
    kind: str
    task: str
    reader: float
    together: float
    missed: float


def judged(
    tables: Tables, weights: Weights, tasks: Sequence[int], pool: str, seed: int
) -> list[Judgement]:
    """What trained networks say of tables that they have not seen."""
    found = []
    plain = {name: np.asarray(w) for name, w in weights.items()}
    for task in tasks:
        tokens = tables.read(task)
        together = ask(weights, tokens)[:, 0]
        ends = tables.curves[tables.rows(task), tables.table[task][2]] / 65535
        ends = LOWEST + (1 - LOWEST) * ends
        first = np.argsort(-together, kind="stable")[:LOOKS]
        found.append(
            Judgement(
                pool,
                seed,
                tables.labels.kinds[task],
                tables.names[task],
                agreement(ask_experts(tokens, None, plain)[0, :, 0], tables, task),
                agreement(together, tables, task),
                float(1.0 - max(ends[first].max(), 0.0)),
            )
        )
    return found


def parted(tables: Tables, by: str, parts: int) -> list[list[int]]:
    """What is left out together.

    Args:
        tables: The pool.
        by: `fold` for the kinds of each fold of `FOUR`, `kind` for kinds by chance, `task` for
            tables by chance, whose kinds `wide` meets then.
        parts: How many parts there are by chance.
    """
    if by != "fold":
        return folds(tables, tables.named(), by, parts)
    kinds = tables.labels.kinds
    return [[t for t in tables.named() if kinds[t] in fold] for fold in FOUR.values()]


def only_wide(tables: Tables, kinds: Sequence[str], patterns: Sequence[str]) -> set[int]:
    """Tasks that only `wide` learns from: of these kinds, or with names like these."""
    return {
        t
        for t in tables.named()
        if tables.labels.kinds[t] in kinds or any(fnmatchcase(tables.names[t], p) for p in patterns)
    }


def compare(
    tables: Tables, new: set[int], every: Sequence[Sequence[int]], seeds: int, steps: int
) -> list[Judgement]:
    """Train and ask without each part of the tasks in turn, on both pools."""
    found: list[Judgement] = []
    for seed in range(seeds):
        for number, part in enumerate(every):
            left_out = {*part}
            for pool, hidden in (("narrow", left_out | new), ("wide", left_out)):
                inside = [t for t in tables.named() if t not in hidden]
                weights = train(tables, inside, steps, 100 * seed + number)
                found += judged(tables, weights, part, pool, seed)
            print(f"seed {seed}, part {number + 1} of {len(every)}", flush=True)
    return found


def told(judgements: Sequence[Judgement], new: Sequence[str]) -> list[str]:
    """Lines about each kind, then about the kinds of before, the new ones and all of them."""
    kinds = sorted({j.kind for j in judgements})
    rows = {kind: _differences(judgements, kind) for kind in kinds}
    lines = [f"{'kind':24} tables  reader           together         missed by first {LOOKS}"]
    for kind, (means, apart) in rows.items():
        star = "*" if kind in new else " "
        lines.append(f"{kind:23}{star} {len(apart):6d}  {_line(means, apart)}")
    for title, some in (
        ("kinds of before", [k for k in kinds if k not in new]),
        ("new kinds *", [k for k in kinds if k in new]),
        ("all kinds", kinds),
    ):
        if some:
            means = np.mean([rows[k][0] for k in some], axis=0)
            apart = np.stack([rows[k][1].mean(axis=0) for k in some])
            lines.append(f"{title:24} {len(some):6d}  {_line(means, apart)}")
    return lines


def _differences(judgements: Sequence[Judgement], kind: str) -> tuple[FloatArray, FloatArray]:
    """Means by pool and measure, [2, 3], and differences wide less narrow by table, [tables, 3]."""
    tasks = sorted({j.task for j in judgements if j.kind == kind})
    values = np.array(
        [
            [
                np.mean(
                    [
                        (j.reader, j.together, j.missed)
                        for j in judgements
                        if j.task == task and j.pool == pool
                    ],
                    axis=0,
                )
                for pool in ("narrow", "wide")
            ]
            for task in tasks
        ]
    )
    return values.mean(axis=0), values[:, 1] - values[:, 0]


def _line(means: FloatArray, apart: FloatArray) -> str:
    """Narrow, wide and twice the standard error of their difference, for each measure."""
    twice = 2 * apart.std(axis=0, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.zeros(3)
    return "  ".join(
        f"{means[0, i]:5.2f} {means[1, i]:5.2f} ±{twice[i]:.2f}" for i in range(means.shape[1])
    )


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks.policy.widening",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--pool", required=True, help="file that benchmarks.policy.pool wrote")
    made.add_argument(
        "--new", type=kinds_listed, default=(), help="kinds that only `wide` learns from"
    )
    made.add_argument(
        "--new-tables",
        type=listed,
        default=(),
        help="tables that only `wide` learns from, patterns of names with commas",
    )
    made.add_argument("--out", type=Path, required=True, help="file of all judgements, .csv")
    made.add_argument(
        "--by",
        choices=("fold", "kind", "task"),
        default="fold",
        help="what is left out together: kinds that resemble each other, kinds or tables by chance",
    )
    made.add_argument("--parts", type=int, default=4, help="of kinds or tables by chance")
    made.add_argument("--seeds", type=int, default=3, help="trainings of each")
    made.add_argument("--steps", type=int, default=1500, help="of a training")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare, write all judgements, and tell them kind by kind."""
    options = parser().parse_args(arguments)
    tables = Tables(options.pool)
    if unknown := {*options.new} - {*tables.labels.kinds}:
        raise Misuse(f"not in the pool: {', '.join(sorted(unknown))}")
    every = parted(tables, options.by, options.parts)
    new = only_wide(tables, options.new, options.new_tables)
    found = compare(tables, new, every, options.seeds, options.steps)
    with options.out.open("w", newline="") as file:
        rows = csv.DictWriter(file, [field.name for field in fields(Judgement)])
        rows.writeheader()
        rows.writerows(asdict(one) for one in found)
    before = {tables.labels.kinds[t] for t in tables.named() if t not in new}
    print("\n".join(told(found, sorted({*tables.labels.kinds} - before))))


if __name__ == "__main__":
    main()
