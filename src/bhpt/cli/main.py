"""`bhpt`: exit status 0 done, 1 failed, 2 misuse, 130 interrupted; errors are one clear line."""

import os
import re
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import bhpt
from bhpt.bench.peers.registry import PEERS
from bhpt.checkpoints import DiskFull
from bhpt.cli.bench import bench
from bhpt.cli.calibration import calibration as bench_calibration
from bhpt.cli.doctor import doctor
from bhpt.cli.errors import CommandFailed, Interrupted
from bhpt.cli.export import export
from bhpt.cli.forecast import forecast
from bhpt.cli.paper import figures as bench_figures
from bhpt.cli.paper import paper as bench_paper
from bhpt.cli.peers import peers as bench_peers
from bhpt.cli.status import status
from bhpt.cli.tune import resume, tune
from bhpt.domain import Misuse
from bhpt.policies.registry import ENTRIES
from bhpt.storage import StoreFailed
from bhpt.study import Busy
from bhpt.tuning import Paused, TrainerBroken

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
_FAILURES = (CommandFailed, Paused, TrainerBroken, StoreFailed, Busy, DiskFull)
_TRACEBACK = "BHPT_TRACEBACK"
_PYTHONS = "Traceback (most recent call last):"
_INSIDE = re.compile(r'^ *File ".*", line \d+', re.MULTILINE)  # a traceback without its head

app = typer.Typer(
    name="bhpt",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"bhpt {bhpt.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def top(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  # its callback has done everything
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")
    ] = False,
) -> None:
    """Hyper-parameter tuning under a hard budget: the best model you can afford."""
    if context.invoked_subcommand is None:
        print(context.get_help())


app.command()(tune)
app.command()(resume)
app.command()(status)
app.command()(forecast)
app.command()(export)
app.command()(doctor)
bench.command("figures")(bench_figures)
bench.command("paper")(bench_paper)
bench.command("peers")(bench_peers)
bench.command("calibration")(bench_calibration)
app.add_typer(bench, name="bench")


@app.command()
def policies() -> None:
    """List the policies that can be named; peers in the benchmark only."""
    table = Table("policy", "what it does", box=None, header_style="bold")
    listed = [(entry.name, entry.about) for entry in ENTRIES]
    for name, about in [*listed, *((peer.name, peer.about) for peer in PEERS)]:
        table.add_row(name, about)
    Console().print(table)


def main() -> None:
    """Entry point."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; every error is one clear line.

    Returns:
        The exit status.
    """
    if os.environ.get(_TRACEBACK):
        return _status(app(arguments, prog_name="bhpt", standalone_mode=False))
    try:
        return _status(app(arguments, prog_name="bhpt", standalone_mode=False))
    except Misuse as error:
        return _say(str(error), MISUSED, _own_words(error))
    except typer.TyperException as error:
        return _say(f"{error.format_message()} See `bhpt --help`.", MISUSED)
    except _FAILURES as error:
        return _say(str(error), FAILED, getattr(error, "__notes__", []))
    except (Interrupted, typer.Abort) as error:
        return _say(f"interrupted; {error or _AGAIN}", INTERRUPTED)
    except Exception as error:  # noqa: BLE001  # the last line of defence: no traceback unasked
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        text = f"{type(error).__name__}: {error} ({place}; {_TRACEBACK}=1 shows more)"
        return _say(text, FAILED)


_AGAIN = "the same command goes on where it stopped"


def _status(returned: object) -> int:
    """What typer returns: the status of an early exit, 130 for a plain Ctrl-C, or nothing."""
    if returned == INTERRUPTED:
        return _say(f"interrupted; {_AGAIN}", INTERRUPTED)
    return returned if isinstance(returned, int) else 0


def _say(line: str, status_: int, notes: list[str] | None = None) -> int:
    """Print an error, what a trainer printed last before it."""
    for note in notes or []:
        for printed in note.splitlines():
            print(f"  | {printed}", file=sys.stderr)
    print(f"bhpt: {line}", file=sys.stderr)
    return status_


def _own_words(error: Misuse) -> list[str]:
    """What a module printed itself before it died: the line says what Python would add."""
    notes = [note.partition(_PYTHONS)[0].rstrip() for note in getattr(error, "__notes__", [])]
    return [note for note in notes if note and not _INSIDE.search(note)]


if __name__ == "__main__":
    main()
