"""Tables of the page: methods by property, regrets, decision times; and their CSV files."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import groupby
from pathlib import Path

from bhpt.bench.figure_style import in_order, style_of
from bhpt.bench.paper.claim import PaperClaim
from bhpt.bench.paper.claims import Timing
from bhpt.bench.summary import cells
from bhpt.bench.table import ResultRow

METRICS = ("loss", "regret", "top1", "top3", "top5", "share", "decision_s")


@dataclass(frozen=True)
class Properties:
    """What a method can do, as the paper's table has it."""

    method: str
    stops_and_resumes: bool
    predicts: bool
    budget_aware: bool


PROPERTIES = (
    Properties("random search", False, False, False),
    Properties("BO (GP-EI, SMAC)", False, True, False),
    Properties("Fabolas", True, True, False),
    Properties("FreezeThaw", True, True, False),
    Properties("Hyperband", True, False, False),
    Properties("Rollout", True, True, True),
    Properties("BHPT, BHPT-ε", True, True, True),
    Properties("next unit, plans, default (ours)", True, True, True),
)


@dataclass(frozen=True)
class PaperTable:
    """A table for a page: a head, rows of words, and which cells stand out."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: frozenset[tuple[int, int]] = frozenset()


def properties_table() -> PaperTable:
    """Methods by property."""
    head = ("method", "stops early and resumes", "predicts", "budget-aware")
    rows = tuple((p.method, *(_tick(v) for v in astuple(p)[1:])) for p in PROPERTIES)
    return PaperTable(head, rows)


def _tick(value: bool) -> str:
    return "✓" if value else "×"


def timing_table(found: Sequence[Timing]) -> PaperTable:
    """Seconds of deciding, beside the paper's."""
    rows = []
    for t in sorted(found, key=lambda t: t.seconds):
        paper = "" if t.paper is None else f"{t.paper:g}"
        ratio = "" if t.paper is None else f"{t.paper / t.seconds:.3g}×"
        rows.append((style_of(t.policy).label, f"{t.seconds:.3g}", str(t.runs), paper, ratio))
    return PaperTable(("method", "seconds", "runs", "paper, s", "paper / ours"), tuple(rows))


def metric_table(rows: Sequence[ResultRow], task: str, metric: str) -> PaperTable:
    """Mean ± standard error of policies × budgets, the lowest of each column strong."""
    found = cells([row for row in rows if row.run.task == task], metric)
    budgets = sorted({budget for _, _, budget in found})
    policies = in_order(policy for _, policy, _ in found)
    strong, lines = set(), []
    for column, budget in enumerate(budgets, start=1):
        there = [
            (found[task, p, budget].mean, i)
            for i, p in enumerate(policies)
            if (task, p, budget) in found
        ]
        lowest = min(there)[0]
        strong |= {(i, column) for mean, i in there if mean <= lowest}
    for policy in policies:
        line = [style_of(policy).label]
        for budget in budgets:
            cell = found.get((task, policy, budget))
            line.append("" if cell is None else _with_error(cell.mean, cell.error))
        lines.append(tuple(line))
    return PaperTable(("", *(f"B = {b}" for b in budgets)), tuple(lines), frozenset(strong))


def seeds_table(rows: Sequence[ResultRow]) -> PaperTable:
    """How many runs every cell has: methods × tasks, budgets with equally many together."""
    seeds = {key: cell.runs for key, cell in cells(list(rows), "regret").items()}
    tasks = list(dict.fromkeys(task for task, _, _ in seeds))
    lines = [
        (style_of(policy).label, *(_runs_by_budget(seeds, task, policy) for task in tasks))
        for policy in in_order(policy for _, policy, _ in seeds)
    ]
    return PaperTable(("", *tasks), tuple(lines))


def _runs_by_budget(seeds: Mapping[tuple[str, str, int], int], task: str, policy: str) -> str:
    """Runs at each budget in words: `10 (5 to 160), 3 (320)`."""
    found = sorted((b, runs) for (t, p, b), runs in seeds.items() if (t, p) == (task, policy))
    parts = []
    for runs, same in groupby(found, key=lambda pair: pair[1]):
        budgets = [budget for budget, _ in same]
        ends = f"{budgets[0]} to {budgets[-1]}" if len(budgets) > 1 else f"{budgets[0]}"
        parts.append(f"{runs} ({ends})")
    return ", ".join(parts)


def _with_error(mean: float, error: float) -> str:
    return f"{mean:.4f}" + (f" ± {error:.4f}" if error == error else "")


def write_summary(rows: Sequence[ResultRow], path: Path) -> None:
    """Mean, standard error and number of runs of every metric, long form."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["task", "policy", "budget", "metric", "mean", "standard_error", "runs"])
        for metric in METRICS:
            for (task, policy, budget), cell in cells(list(rows), metric).items():
                writer.writerow([task, policy, budget, metric, cell.mean, cell.error, cell.runs])


def write_records(records: "Sequence[PaperClaim] | Sequence[Timing]", path: Path) -> None:
    """Records of one kind, a column a field."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if records:
            writer.writerow([f.name for f in fields(records[0])])
        writer.writerows(astuple(record) for record in records)
