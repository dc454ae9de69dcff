"""`bhpt bench live`: policies and other tuners on real, cheap trainings with open spaces."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bhpt.bench.live.benchmark import LivePlan, regressions, run_live, standings
from bhpt.bench.live.jobs import JOBS
from bhpt.bench.live.predictions import LivePredictions, honesty
from bhpt.bench.live.table import LiveRow
from bhpt.cli.bench import words
from bhpt.views.formatting import to_stderr

_POLICIES = "default,asha,asha-stop,random,optuna,smac"


def live(
    out: Annotated[Path, typer.Option(help="Folder of results.csv; a benchmark goes on there.")],
    jobs: Annotated[str, typer.Option(help="Names of jobs; the first nine if not given.")] = "",
    policies: Annotated[
        str, typer.Option(help="Policies, and `optuna` and `smac` through their packages.")
    ] = _POLICIES,
    budgets: Annotated[str, typer.Option(help="Epochs like 200, seconds like 30s.")] = "60,200,600",
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 3,
    workers: Annotated[int, typer.Option(help="How many train side by side.")] = 1,
    first: Annotated[
        bool, typer.Option("--first", help="All begin with the same sensible configuration.")
    ] = False,
    at_once: Annotated[
        int, typer.Option(help="How many studies run side by side, each in its own process.")
    ] = 1,
) -> None:
    """Tune real, cheap trainings with open spaces, in epochs or under deadlines; resumable."""
    names = words(jobs, "--jobs") if jobs else tuple(job.name for job in JOBS)
    listed = words(policies, "--policies"), words(budgets, "--budgets")
    plan = LivePlan(names, *listed, seeds, workers, first)
    rows = run_live(plan, out, to_stderr, _progress, at_once)
    table = Table("budget", "policy", "mean rank", "runs", box=None)
    for place in standings(rows):
        table.add_row(place.budget, place.policy, f"{place.rank:.2f}", str(place.runs))
    Console().print(table)
    for one in regressions(rows):
        if one.pairs:
            print(f"{one.policy}: more budget ended worse in {one.worse} of {one.pairs} pairs")
    print(f"{len(rows)} rows in {out / 'results.csv'}")
    asked = {row.run for row in rows}
    kept = [one for one in LivePredictions(out).rows() if one.run in asked]
    for said in honesty(kept):
        print(said)


def _progress(done: int, total: int, row: LiveRow | None) -> None:
    if row is not None:
        run = row.run
        shown = f"{run.job} {run.policy} {run.budget} seed {run.seed}: {row.loss:.4g}"
        to_stderr(f"{done}/{total} {shown} in {row.seconds:.1f} s")
