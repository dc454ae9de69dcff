"""`bhpt bench kinds`: each kind of job judged by networks that were trained without it."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from bhpt.bench.baselines.registry import TRAINED
from bhpt.bench.left_out_kinds import KindsPlan, regrets_by_kind, tables_by_kind
from bhpt.bench.runner import Source, run_missing
from bhpt.cli.bench import CORES, ArmsOption, BenchProgress, JobsOption, Seeds, numbers, words
from bhpt.domain import Misuse

_POLICIES = "default,asha,i-epoch,sh,hyperband,random"


def kinds(
    out: Annotated[Path, typer.Option(help="Folder for results.csv.")],
    data: Annotated[Path, typer.Option(help="Folder of tables, NAME.npz + NAME.json.")],
    networks: Annotated[
        str, typer.Option(help="Folders of networks, with commas; each left some kinds out.")
    ],
    only: Annotated[str, typer.Option("--kinds", help="Kinds, with commas; all if none.")] = "",
    policies: Annotated[str, typer.Option(help="Policies, with commas.")] = _POLICIES,
    budgets: Annotated[str, typer.Option(help="Budgets in units.")] = "10,20,50,100,200,400",
    tables: Annotated[int, typer.Option(help="Tables of each kind, at most.")] = 8,
    seeds: Seeds = 2,
    arms: ArmsOption = 100,
    jobs: JobsOption = CORES,
) -> None:
    """Judge each kind of job by networks that were trained without it; resumable."""
    found = tables_by_kind(data, tables)
    wanted = words(only, "--kinds") if only else tuple(found)
    if unknown := [kind for kind in wanted if kind not in found]:
        raise Misuse(f"no table of kind {', '.join(unknown)}: there are {', '.join(found)}")
    plan = KindsPlan(
        {kind: found[kind] for kind in wanted},
        tuple(Path(word) for word in words(networks, "--networks")),
        words(policies, "--policies"),
        numbers(budgets),
        seeds,
    )
    reporter = BenchProgress()
    try:
        rows = run_missing(plan.runs(), out, jobs, reporter, Source(data, arms))
    finally:
        reporter.close()
    _show(plan, regrets_by_kind(plan, rows))
    print(f"{len(rows)} rows in {out / 'results.csv'}")


def _show(plan: KindsPlan, regrets: dict[tuple[str, str, int], float]) -> None:
    """Mean regrets over kinds, and ours beside the best rule of each kind."""
    console = Console()
    _print(
        console,
        "mean regret over kinds",
        plan,
        {
            policy: [
                float(np.mean([regrets[kind, policy, budget] for kind in plan.tasks]))
                for budget in plan.budgets
            ]
            for policy in plan.policies
        },
    )
    rules = [policy for policy in plan.policies if policy not in TRAINED]
    for policy in plan.policies if rules else ():
        if policy in TRAINED:
            lines = {kind: _beside(regrets, kind, policy, rules, plan) for kind in plan.tasks}
            _print(console, f"{policy}: regret over that of the kind's best rule", plan, lines)


def _beside(
    regrets: dict[tuple[str, str, int], float],
    kind: str,
    policy: str,
    rules: list[str],
    plan: KindsPlan,
) -> list[float]:
    """Regret of a policy as a part of the lowest of the rules, infinite if that is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            float(
                np.divide(
                    regrets[kind, policy, budget], min(regrets[kind, r, budget] for r in rules)
                )
            )
            for budget in plan.budgets
        ]


def _print(console: Console, title: str, plan: KindsPlan, lines: dict[str, list[float]]) -> None:
    console.print(title, style="bold")
    table = Table("", box=None)
    for budget in plan.budgets:
        table.add_column(f"B={budget}", justify="right")
    for name, values in lines.items():
        table.add_row(name, *(f"{value:.3f}" for value in values))
    console.print(table)
