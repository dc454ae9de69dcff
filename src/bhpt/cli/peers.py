"""`bhpt bench peers`: our policies beside other people's tuners, in one page."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bhpt.bench.figure_style import check
from bhpt.bench.peers import calibration, figures
from bhpt.bench.peers.markdown import markdown
from bhpt.bench.peers.page import PeerFigure, page
from bhpt.bench.peers.registry import PEERS
from bhpt.bench.peers.standings import ALL, PeerStanding, SuiteComparison, write_csv
from bhpt.bench.peers.suites import Suite, grouped, suites
from bhpt.bench.runner import BenchmarkPlan
from bhpt.bench.table import ResultRow
from bhpt.cli.bench import (
    CORES,
    ArmsOption,
    Data,
    JobsOption,
    Seeds,
    Tasks,
    numbers,
    run_shown,
    words,
)

RULES = ("default", "random", "hyperband", "sh", "asha", "i-epoch", "2-epoch", "5-epoch")
_LEFT_OUT = ("syne-cqr",)  # takes seconds for every new arm
BUDGETS = "10,20,50,100,200,400"


def default_policies() -> tuple[str, ...]:
    """`default`, the simple rules and the peers that are compared unless others are named."""
    names = (peer.name for peer in PEERS)
    return (*RULES, *(name for name in names if name not in _LEFT_OUT))


def peers(
    out: Annotated[Path, typer.Option(help="Folder for the results and the page.")],
    data: Data = None,
    tasks: Tasks = "",
    policies: Annotated[str, typer.Option(help="Policies and peers; most if not given.")] = "",
    budgets: Annotated[str, typer.Option(help="Budgets in units.")] = BUDGETS,
    seeds: Seeds = 10,
    arms: ArmsOption = 100,
    jobs: JobsOption = CORES,
    calibrated: Annotated[
        Path | None,
        typer.Option("--calibration", help="CSV of suite,seen,coverage,error,last_value."),
    ] = None,
) -> None:
    """Compare with other tuners, run through their own packages; resumable."""
    check()
    lines = calibration.read(calibrated) if calibrated is not None else []
    compared = grouped(words(tasks, "--tasks")) if tasks else suites(data)
    named = words(policies, "--policies") if policies else default_policies()
    plan = BenchmarkPlan(
        tuple(task for suite in compared for task in suite.tasks),
        named,
        numbers(budgets),
        seeds,
        arms,
        data,
    )
    rows = run_shown(plan, out, jobs)
    report([_ours(row) for row in rows], compared, tuple(map(plain, named)), out, lines)


def plain(policy: str) -> str:
    """A policy's name without the file of its weights: it stands for `default`."""
    return "default" if policy.startswith("default:") else policy


def _ours(row: ResultRow) -> ResultRow:
    return replace(row, run=replace(row.run, policy=plain(row.run.policy)))


def report(
    rows: list[ResultRow],
    compared: tuple[Suite, ...],
    policies: tuple[str, ...],
    out: Path,
    lines: list[calibration.Calibration],
) -> None:
    """Write summary.csv, summary.md and peers.html, and print the ranks."""
    comparison = SuiteComparison(rows, compared, policies)
    standings = comparison.standings()
    names = [suite.name for suite in compared]
    drawn = [
        PeerFigure("Normalised regret over the budget", figures.regret_by_suite(standings, names)),
        PeerFigure("Rank over the budget", figures.rank(standings, names)),
        PeerFigure("Time of a decision", figures.decision_time(standings)),
    ]
    if lines:
        drawn.append(PeerFigure("Calibration", figures.calibration(lines)))
    gaps = comparison.gaps("default") if "default" in policies else []
    command = shlex.join(["bhpt", *sys.argv[1:]])
    write_csv(standings, out / "summary.csv")
    (out / "summary.md").write_text(markdown(standings, gaps))
    (out / "peers.html").write_text(page(command, drawn, standings, gaps))
    _show(standings)
    print(f"{len(rows)} rows in {out / 'results.csv'}; the page is {out / 'peers.html'}")


def _show(standings: list[PeerStanding]) -> None:
    """Mean regret and rank of every policy over all suites, best rank first."""
    own = [s for s in standings if s.suite == ALL]
    budgets = sorted({s.budget for s in own})
    by_policy = {
        policy: {s.budget: s for s in own if s.policy == policy}
        for policy in dict.fromkeys(s.policy for s in own)
    }
    table = Table(title="all suites: mean regret (mean rank)", box=None)
    table.add_column("policy")
    for budget in budgets:
        table.add_column(f"B={budget}", justify="right")
    table.add_column("s a decision", justify="right")
    order = sorted(by_policy.items(), key=lambda item: sum(s.rank.mean for s in item[1].values()))
    for policy, at in order:
        cells = [f"{at[b].regret.mean:.3f} ({at[b].rank.mean:.1f})" for b in budgets]
        table.add_row(policy, *cells, f"{at[budgets[-1]].step_s:.4f}")
    Console().print(table)
