"""Run one session of a study for a command, and report on it."""

from collections.abc import Callable

from bhpt.cli import threads
from bhpt.cli.errors import CommandFailed, Interrupted
from bhpt.cli.final_report import ANEW, print_report
from bhpt.reports.progress import last_failure
from bhpt.storage import Address
from bhpt.tuning import Paused, Result, TrainerBroken
from bhpt.views.consoles import page
from bhpt.views.formatting import one_line, resume_command


def run_session(study: str, session: Callable[[], Result]) -> None:
    """One session, and the report at its end.

    Raises:
        Interrupted: Ctrl-C came first.
        CommandFailed: There is nothing to show.
    """
    threads.give_back()
    shown = str(Address.parse(study))
    try:
        result = session()
    except Paused as error:
        raise Paused(f"{error}; then: {resume_command(shown)}") from error
    except TrainerBroken as error:
        raise _with_next_step(error, shown) from error
    except KeyboardInterrupt:
        raise Interrupted(f"if {shown} is there, go on with: {resume_command(shown)}") from None
    print_report(result, page())
    if result.status == "interrupted":
        raise Interrupted(f"go on with: {resume_command(result.study)}")
    if result.is_checkpoint_lost:
        raise CommandFailed(
            "the checkpoint of the best model was damaged or removed after it was saved: more "
            "budget trains that configuration again"
        )
    if result.why_nothing:
        failed = CommandFailed(one_line(result.why_nothing))
        failed.add_note(_last_words(result))
        raise failed


def _with_next_step(error: TrainerBroken, study: str) -> TrainerBroken:
    """The same error, with what to do once the trainer is mended, and its notes."""
    then = f"{resume_command(study)}, or with other options another --study"
    then = then if error.can_resume else ANEW
    told = TrainerBroken(f"{error}; once it is mended: {then}", error.can_resume)
    for note in getattr(error, "__notes__", ()):
        told.add_note(note)
    return told


def _last_words(result: Result) -> str:
    """What the trainer printed before its last unit failed, where no unit was finished."""
    failed = None if result.state.reports else last_failure(result.state)
    return "" if failed is None else failed.tail
