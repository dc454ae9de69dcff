"""`bhpt bench figures` and `bhpt bench paper`: the paper's figures, and all of it in one page."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from bhpt.bench.figure_style import check
from bhpt.bench.figures import draw_all
from bhpt.bench.paper.plan import FULL, QUICK, Collected, Scope, collect, left_out, stored
from bhpt.bench.paper.report import write_report
from bhpt.cli.bench import BenchProgress


def figures(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="With results.csv.")],
) -> None:
    """Draw the paper's figures from the results in a folder."""
    for path in draw_all(folder):
        print(path)


def paper(
    out: Annotated[Path, typer.Option(help="Folder for results, figures and the page.")],
    quick: Annotated[bool, typer.Option("--quick", help="A few seeds: minutes.")] = False,
    jobs: Annotated[int, typer.Option(help="Worker processes.")] = os.cpu_count() or 1,
    stored_rows: Annotated[
        bool, typer.Option("--stored", help="Run nothing: the page of the rows that are there.")
    ] = False,
) -> None:
    """Run everything that the paper reports and write one page; resumable."""
    check()
    scope = QUICK if quick else FULL
    collected = stored(scope, out) if stored_rows else _run(scope, out, jobs)
    claims = write_report(collected, out, shlex.join(["bhpt", *sys.argv[1:]]))
    for claim in claims:
        print(f"{claim.verdict:>13}  {claim.says}")
    print(f"{len(collected.rows)} rows in {out / 'results.csv'}; the page is {out / 'paper.html'}")


def _run(scope: Scope, out: Path, jobs: int) -> Collected:
    """Run what is missing, and say how far it is."""
    for name in left_out():
        print(f"{name} is left out: pip install 'bhpt[{name}]'", file=sys.stderr)
    reporter = BenchProgress()
    try:
        return collect(scope, out, jobs, reporter)
    finally:
        reporter.close()
