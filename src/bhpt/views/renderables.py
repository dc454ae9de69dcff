"""Pieces of the live view and of the reports, as rich renderables.

Text objects, never markup: what a configuration says must not be able to draw on the terminal.
"""

import math
from collections.abc import Sequence

import numpy as np
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bhpt.domain.durations import duration
from bhpt.domain.words import counted
from bhpt.reports.progress import ArmStanding, Flight, Progress
from bhpt.views.formatting import (
    config_text,
    interval_text,
    loss_text,
    one_line,
    sparkline,
    starting_line,
)

_BAR = 32
_CURVE = 24


def view_of(progress: Progress, title: str, notice: str = "") -> RenderableType:
    """The whole live view.

    Args:
        progress: What to show.
        title: Of the frame.
        notice: A line for the person in front of it, such as what Ctrl-C did.
    """
    parts: list[RenderableType] = [summary(progress)]
    if progress.flights:
        parts += [Text(), flights_table(progress.flights)]
    if progress.standings:
        parts += [Text(), standings_table(progress.standings, progress.objective.metric)]
    if notice:
        parts += [Text(), Text(notice, "bold yellow")]
    return Panel(Group(*parts), title=Text(title, "bold"), title_align="left", border_style="blue")


def summary(progress: Progress) -> Table:
    """Budget, best so far, what is to be expected."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    grid.add_row("budget", _budget(progress))
    grid.add_row("best", _best(progress))
    if progress.config is not None:
        grid.add_row("", Text(config_text(progress.config), "cyan"))
    if progress.final is not None:
        final = (interval_text(progress.final), "magenta")
        grid.add_row("at the end", Text.assemble(final, ("  predicted, 90% interval", "dim")))
    grid.add_row("so far", _counts(progress))
    return grid


def flights_table(flights: Sequence[Flight]) -> Table:
    """What runs now and why."""
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    table.add_column("now", no_wrap=True)
    table.add_column("epoch", justify="right", no_wrap=True)
    table.add_column("worker", justify="right", no_wrap=True)
    table.add_column("for", justify="right", no_wrap=True)
    table.add_column("why", ratio=1, no_wrap=True, overflow="ellipsis")
    for flight in flights:
        span = str(flight.last) if flight.first == flight.last else f"{flight.first}-{flight.last}"
        worker = "" if flight.worker is None else str(flight.worker + 1)
        busy = f"{flight.busy_s:.1f} s"
        table.add_row(f"arm {flight.arm}", span, worker, busy, Text(why_text(flight.why)))
    return table


def standings_table(standings: Sequence[ArmStanding], metric: str) -> Table:
    """The best arms and their curves, in values of the study's metric."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("best arms", no_wrap=True)
    table.add_column("epochs", justify="right", no_wrap=True)
    table.add_column(metric, justify="right", no_wrap=True)
    predicted = any(standing.end is not None for standing in standings)
    if predicted:
        table.add_column(_shrinking("expected end (90%)"))
    table.add_column("curve", no_wrap=True)
    seen = np.concatenate([standing.curve for standing in standings])
    seen = seen[np.isfinite(seen)]
    low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
    for standing in standings:
        end = _shrinking("" if standing.end is None else interval_text(standing.end))
        table.add_row(
            f"arm {standing.arm}",
            str(standing.epochs),
            loss_text(standing.best) if math.isfinite(standing.best) else "none",
            *([end] if predicted else ()),
            Text(sparkline(standing.curve, low, high, _CURVE), "green"),
        )
    return table


def _shrinking(text: str) -> Text:
    """A cell that is cut where a table is too wide, before any other is."""
    return Text(text, no_wrap=True, overflow="ellipsis")


def starting(title: str) -> Text:
    """What there is to see until the workers have imported the trainer."""
    return Text(starting_line(title), "dim")


def why_text(why: str) -> str:
    """The reason without what the columns beside it say already."""
    return one_line(why.partition(": ")[2] or why)


def _budget(progress: Progress) -> Table:
    amount = progress.budget.amount
    row = Table.grid(padding=(0, 2))
    bar = ProgressBar(amount, progress.used, width=_BAR, finished_style="bar.complete")
    texts = [progress.budget.rules.used_text(progress.used)]
    if progress.left_s is not None:
        texts.append(f"about {duration(progress.left_s)} left")
    row.add_row(bar, Text(", ".join(texts)))
    return row


def _best(progress: Progress) -> Text:
    best = progress.best
    if best is None:
        return Text(f"no finite {progress.objective.metric} yet")
    return Text.assemble(
        (loss_text(best.loss), "bold green"), f"  arm {best.arm}, epoch {best.epoch}"
    )


def _counts(progress: Progress) -> Text:
    failed = f", {progress.failures} stopped or failed" if progress.failures else ""
    return Text(
        f"{progress.tried} of {progress.candidates} configurations tried, "
        f"{counted(progress.reports, 'unit')}{failed}, {duration(progress.clock)}"
    )
