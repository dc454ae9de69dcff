"""`bhpt`: exit status 0 done, 1 failed, 2 misuse, 130 interrupted; errors are one clear line.

Commands are imported when they are called, errors when there is one: see `COMMANDS`.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import bhpt
from bhpt.cli.deferred import CommandEntry, deferred_group
from bhpt.cli.errors import TRACEBACK, Interrupted

MISUSED, INTERRUPTED = 2, 130
_AGAIN = "the same command goes on where it stopped"
_EXTRA = "unexpected extra argument"
_QUOTE = ' A command to tune is one option in quotes: --command "python train.py --rate {rate}".'

COMMANDS = (
    CommandEntry("tune", "bhpt.cli.tune:tune", "Find the best model that a budget can buy."),
    CommandEntry(
        "resume",
        "bhpt.cli.resume:resume",
        "Go on with a study, with more budget if you like.",
    ),
    CommandEntry("status", "bhpt.cli.status:status", "Say where a study stands."),
    CommandEntry(
        "studies",
        "bhpt.cli.studies:studies",
        "List, compare or archive the studies of a folder or a server.",
    ),
    CommandEntry(
        "forecast",
        "bhpt.cli.forecast:forecast",
        "Say what more budget would buy, or which policy to use it with.",
    ),
    CommandEntry(
        "export",
        "bhpt.cli.export:export",
        "Write all that was observed as a table, or a whole study.",
    ),
    CommandEntry(
        "dashboard",
        "bhpt.cli.dashboard:dashboard",
        "Show studies in the browser, live while they run.",
    ),
    CommandEntry(
        "track",
        "bhpt.cli.track:track",
        "Write the curves of a study to trackers, where not there yet.",
    ),
    CommandEntry(
        "report",
        "bhpt.cli.report:report",
        "Write a study as one HTML file that needs nothing else.",
    ),
    CommandEntry(
        "doctor", "bhpt.cli.doctor:doctor", "Check this machine, and a study if one is named."
    ),
    CommandEntry(
        "policies",
        "bhpt.cli.policies:policies",
        "List the policies to tune with, and those of the benchmark.",
    ),
    CommandEntry(
        "bench", "bhpt.cli.bench:bench", "Run policies on tabulated tasks and compare them."
    ),
)
"""All commands but those of groups, in the order of the help; a new one is one entry more."""

app = typer.Typer(
    name="bhpt",
    cls=deferred_group(COMMANDS),
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hyper-parameter tuning under a hard budget: the best model you can afford."""
    if context.invoked_subcommand is None:
        print(context.get_help())


def main() -> None:
    """Entry point."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; every error is one clear line.

    Returns:
        The exit status.
    """
    if os.environ.get(TRACEBACK):
        return _status(app(arguments, prog_name="bhpt", standalone_mode=False))
    try:
        return _status(app(arguments, prog_name="bhpt", standalone_mode=False))
    except typer.TyperException as error:
        return _say(_misuse_line(error), MISUSED)
    except (Interrupted, typer.Abort) as error:
        return _say(f"interrupted; {error or _AGAIN}", INTERRUPTED)
    except Exception as error:  # noqa: BLE001  # no traceback unless it is asked for
        from bhpt.cli.failures import failure_of  # it imports every room that can fail

        failure = failure_of(error)
        return _say(failure.line, failure.status, failure.notes)


def _misuse_line(error: typer.TyperException) -> str:
    """What is wrong with a command line, and which help says how it is written."""
    said, context = error.format_message(), getattr(error, "ctx", None)
    command = "bhpt" if context is None else context.command_path
    sentence = said if said.endswith(("?", ".")) else f"{said}."
    hint = _QUOTE if command == "bhpt tune" and _EXTRA in said else ""
    return f"{sentence}{hint} See `{command} --help`."


def _status(returned: object) -> int:
    """What typer returns: the status of an early exit, 130 for a plain Ctrl-C, or nothing."""
    if returned == INTERRUPTED:
        return _say(f"interrupted; {_AGAIN}", INTERRUPTED)
    return returned if isinstance(returned, int) else 0


def _say(line: str, status_: int, notes: Sequence[str] = ()) -> int:
    """Print an error, what a trainer printed last before it."""
    for note in notes:
        for printed in note.splitlines():
            print(f"  | {_shown(printed)}", file=sys.stderr)
    print(f"bhpt: {_shown(line)}", file=sys.stderr)
    return status_


def _shown(text: str) -> str:
    """A text that may come from anywhere, without control characters and lone surrogates."""
    return "".join(char if char.isprintable() or char == "\t" else " " for char in text)


if __name__ == "__main__":
    main()
