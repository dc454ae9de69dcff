"""`bhpt status`: where a study stands, from its store; a running one is not disturbed."""

from typing import Annotated

import typer
from rich.text import Text

from bhpt.cli.read_study import StudySnapshot, read_snapshot
from bhpt.reports.phase import interrupted_text, phase_of
from bhpt.reports.progress import last_failure, progress_of
from bhpt.study.deciding import is_exhausted
from bhpt.views.consoles import page, put
from bhpt.views.formatting import EXHAUSTED, LOST, go_on_command, one_line
from bhpt.views.renderables import flights_table, standings_table, summary


def status(
    study: Annotated[str, typer.Argument(help="Its file or address.", metavar="STUDY")],
) -> None:
    """Say where a study stands."""
    seen = read_snapshot(study)
    console = page()
    clock = max(seen.state.clock, seen.lease.clock) if seen.is_running else seen.state.clock
    progress = progress_of(seen.state, clock)
    console.print(Text.assemble((str(seen.address), "bold"), f": {_phase(seen)}"), soft_wrap=True)
    if seen.trouble is not None:
        console.print(Text(f"warning: {one_line(seen.trouble)}", "bold red"), soft_wrap=True)
    put(console, summary(progress))
    failed = last_failure(seen.state)
    if failed is not None:
        line = f"last failure: arm {failed.unit.arm}, unit {failed.number}: {failed.message}"
        console.print(Text(one_line(line), "yellow"), soft_wrap=True)
    if progress.flights:
        put(console, Text(), flights_table(progress.flights))
    if progress.standings:
        put(console, Text(), standings_table(progress.standings, progress.objective.metric))
    best = seen.state.best
    if best is not None and best.saved is not None:
        console.print(Text.assemble("\ncheckpoint of the best: ", _where(seen)), soft_wrap=True)


def _where(seen: StudySnapshot) -> Text:
    """Where the checkpoint of the best is: on this machine, or in a remote place."""
    here = seen.folder.best_checkpoint(seen.state.best)
    if here is not None:
        return Text(str(here))
    if seen.remote_best is not None:
        return Text(f"{seen.remote_best} (`bhpt resume` copies it to this machine)")
    return Text(LOST, "bold red")


def _phase(seen: StudySnapshot) -> str:
    """Whether it runs, waits to be resumed, or is done."""
    state, holder = seen.state, seen.lease.holder
    go_on = f"go on with: {go_on_command(str(seen.address), state.plan)}"
    match phase_of(state, seen.is_running):
        case "running":
            return f"running, held by {holder}"
        case "held":
            return f"held by {holder}, which cannot be seen from here; last event {seen.changed}"
        case "interrupted":
            return f"{interrupted_text(state)}; {go_on}"
        case "paused":
            left = state.ledger.budget.rules.text(state.ledger.left)
            return f"not running, {left} left; {go_on}"
        case "done":
            return f"done, {EXHAUSTED}" if is_exhausted(state) else "done"
