"""`bhpt bench`: run policies on tabulated tasks under one accounting."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from bhpt.bench.runner import BenchmarkPlan, run_plan
from bhpt.bench.summary import cells
from bhpt.bench.table import ResultRow
from bhpt.cli.deferred import CommandEntry, deferred_group
from bhpt.domain import Misuse
from bhpt.domain.words import counted

COMMANDS = (
    CommandEntry(
        "figures",
        "bhpt.cli.paper:figures",
        "Draw the paper's figures from the results in a folder.",
    ),
    CommandEntry(
        "paper",
        "bhpt.cli.paper:paper",
        "Run everything that the paper reports and write one page; resumable.",
    ),
    CommandEntry(
        "peers",
        "bhpt.cli.peers:peers",
        "Compare with other tuners, run through their own packages; resumable.",
    ),
    CommandEntry(
        "live",
        "bhpt.cli.live_bench:live",
        "Tune real, cheap trainings with open spaces, in epochs or under deadlines; resumable.",
    ),
    CommandEntry(
        "calibration",
        "bhpt.cli.calibration:calibration",
        "Predict the ends of curves from a part of them; coverage and error by suite.",
    ),
    CommandEntry(
        "kinds",
        "bhpt.cli.kinds:kinds",
        "Judge each kind of job by networks that were trained without it; resumable.",
    ),
)
"""What follows `bhpt bench`; a new one is one entry more."""

bench = typer.Typer(
    cls=deferred_group(COMMANDS),
    add_completion=False,
    help="Run policies on tabulated tasks and compare them.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
_EVERY_S = 5.0  # between progress lines where there is no terminal


def words(text: str, option: str) -> tuple[str, ...]:
    """What a person listed with commas, each once."""
    words = tuple(word.strip() for word in text.split(",") if word.strip())
    if not words:
        raise Misuse(f"{option} names nothing: list one or more, separated by commas")
    return tuple(dict.fromkeys(words))


def numbers(text: str) -> tuple[int, ...]:
    """Budgets as a person lists them."""
    listed = words(text, "--budgets")
    try:
        return tuple(int(word) for word in listed)
    except ValueError as error:
        raise Misuse(f"--budgets {text!r}: whole numbers of units, separated by commas") from error


class BenchProgress:
    """Progress of a benchmark: a bar on a terminal, plain lines elsewhere."""

    def __init__(self) -> None:
        """Nothing is shown before the first report."""
        self._bar: Progress | None = None
        self._last = 0.0
        if sys.stderr.isatty():
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
            )
            self._task = self._bar.add_task("runs", total=None)
            self._bar.start()

    def __call__(self, done: int, total: int, row: ResultRow | None) -> None:
        """One row more."""
        what = f"{row.run.task} {row.run.policy} B={row.run.budget}" if row else "runs"
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, description=what)
            return
        now = time.monotonic()
        if done == total or now - self._last > _EVERY_S:
            self._last = now
            last = f", last: {what}" if row else ""
            print(f"{done}/{total} runs{last}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()


def run_shown(plan: BenchmarkPlan, out: Path, jobs: int) -> list[ResultRow]:
    """Run what is missing of a plan, with its progress shown; the plan's rows, old and new."""
    reporter = BenchProgress()
    try:
        return run_plan(plan, out, jobs, reporter)
    finally:
        reporter.close()


Data = Annotated[
    Path | None, typer.Option(help="Folder with LCBench, TaskSet and tables of your own.")
]
Tasks = Annotated[str, typer.Option(help="Tasks; all that are found if not given.")]
Seeds = Annotated[int, typer.Option(help="Seeds 0 .. N-1.")]
ArmsOption = Annotated[int, typer.Option(help="A random K of the arms, by seed.")]
JobsOption = Annotated[int, typer.Option(help="Worker processes.")]
CORES = os.cpu_count() or 1


@bench.callback(invoke_without_command=True)
def run(
    context: typer.Context,
    tasks: Annotated[str, typer.Option(help="Tasks, separated by commas.")] = "",
    policies: Annotated[str, typer.Option(help="Policies, separated by commas.")] = "",
    budgets: Annotated[str, typer.Option(help="Budgets in units, separated by commas.")] = "",
    seeds: Seeds = 1,
    arms: Annotated[int | None, typer.Option(help="A random K of the arms, by seed.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with tables of your own.")] = None,
    jobs: JobsOption = CORES,
    out: Annotated[Path | None, typer.Option(help="Folder for results.csv.")] = None,
) -> None:
    """Run tasks × policies × budgets × seeds; rows that are there are not run again."""
    if context.invoked_subcommand is not None:
        return
    if out is None:
        raise Misuse("say where the results go: --out DIR")
    plan = BenchmarkPlan(
        words(tasks, "--tasks"),
        words(policies, "--policies"),
        numbers(budgets),
        seeds,
        arms,
        data,
    )
    rows = run_shown(plan, out, jobs)
    _show(plan, rows)
    print(f"{len(rows)} rows in {out / 'results.csv'}")


def _show(plan: BenchmarkPlan, rows: list[ResultRow]) -> None:
    """Mean normalised regret of every policy, a table a task."""
    means = cells(rows, "regret")
    console = Console()
    for task in plan.tasks:
        seeds = counted(plan.seeds, "seed")
        console.print(f"{task}: mean normalised regret, {seeds}", style="bold")
        table = Table("policy", box=None)
        for budget in plan.budgets:
            table.add_column(f"B={budget}", justify="right")
        for policy in plan.policies:
            values = [means[task, policy, budget].mean for budget in plan.budgets]
            table.add_row(policy, *(f"{value:.4f}" for value in values))
        console.print(table)
