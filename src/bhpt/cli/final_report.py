"""The report at the end of a session: the best configuration, and where its checkpoint is."""

import shlex
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from bhpt.domain.durations import duration
from bhpt.domain.words import counted
from bhpt.reports.progress import Progress, progress_of
from bhpt.study.deciding import can_pay_for_a_unit, is_exhausted
from bhpt.tuning import Result
from bhpt.views.formatting import (
    EXHAUSTED,
    LOST,
    loss_text,
    resume_command,
    value_text,
)

ANEW = "start anew with another --study: here every configuration is given up"
"""What is left to do where no configuration can go on and none ever worked."""

_LABEL = 14  # columns, at least


def print_report(result: Result, console: Console) -> None:
    """Print the result of a session; long lines are not broken, so that they can be copied."""
    progress = progress_of(result.state)
    console.print(Text(_headline(result, progress), "bold"), soft_wrap=True)
    lines = (*_best(result, progress), *_next(result, progress))
    width = max(_LABEL, *(len(label) + 2 for label, _ in lines))
    for label, text in lines:
        console.print(Text.assemble((f"{label:<{width}}", "dim"), text), soft_wrap=True)


def _headline(result: Result, progress: Progress) -> str:
    word = "Interrupted" if result.status == "interrupted" else "Done"
    if word == "Done" and is_exhausted(result.state):
        word = f"Done, {EXHAUSTED}"
    failed = f", {progress.failures} stopped or failed" if progress.failures else ""
    return (
        f"{word}: {progress.budget.rules.used_text(progress.used)} used in "
        f"{duration(progress.clock)}, "
        f"{counted(progress.tried, 'configuration')} tried in "
        f"{counted(progress.reports, 'unit')}{failed}"
    )


def _best(result: Result, progress: Progress) -> Iterator[tuple[str, Text]]:
    if progress.best is None or result.best_config is None:
        return
    place = f"  arm {progress.best.arm}, epoch {progress.best.epoch}"
    yield (
        f"best {progress.objective.metric}",
        Text.assemble((loss_text(result.best_loss), "bold green"), place),
    )
    for name, value in result.best_config.items():
        yield f"  {value_text(name)}", Text(value_text(value), "cyan")
    yield "checkpoint", Text(_checkpoint(result))


def _checkpoint(result: Result) -> str:
    if result.is_checkpoint_lost:
        return LOST
    return str(result.best_checkpoint or "none: the trainer saves nothing")


def _next(result: Result, progress: Progress) -> Iterator[tuple[str, Text]]:
    yield "study", Text(result.study)
    if result.status == "interrupted":
        yield "go on", Text(resume_command(result.study))
        return
    over = is_exhausted(result.state)
    if over:
        last = result.state.plan.training.epochs
        yield "note", Text(f"every configuration is given up or at its last epoch, {last}")
    unspent = can_pay_for_a_unit(result.state)  # such as of one that has reached its target
    more = "" if unspent else str(progress.budget)
    resumed = Text(resume_command(result.study, more))
    if progress.failures and not progress.reports:
        yield "once mended", Text(ANEW) if over else resumed
    elif over:
        yield "more?", Text(_further(result))
    elif progress.best is None:  # there is nothing to forecast from
        yield "more?", resumed
    else:
        yield "more?", Text(shlex.join(["bhpt", "forecast", result.study]))
        yield "", resumed


def _further(result: Result) -> str:
    """What is left to do where more budget would buy nothing."""
    learn = shlex.join(["--learn-from", result.study])
    return f"another --study, with other configurations or a larger --max-epochs, and {learn}"
