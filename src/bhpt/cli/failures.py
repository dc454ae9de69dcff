"""The exit status and the printed line of an error; imported when there is one."""

import re
import traceback
from dataclasses import dataclass
from pathlib import Path

from bhpt.checkpoints import DiskFull
from bhpt.cli.errors import TRACEBACK, CommandFailed
from bhpt.domain import Misuse
from bhpt.storage import StoreFailed
from bhpt.study import Busy
from bhpt.tuning import Paused, TrainerBroken

FAILED, MISUSED = 1, 2
_FAILURES = (CommandFailed, Paused, TrainerBroken, StoreFailed, Busy, DiskFull)
_PYTHONS = "Traceback (most recent call last):"
_INSIDE = re.compile(r'^ *File ".*", line \d+', re.MULTILINE)  # a traceback without its head


@dataclass(frozen=True)
class ErrorReport:
    """How a command ended.

    Attributes:
        status: Exit status.
        line: The one line that says why.
        notes: What a trainer printed before it.
    """

    status: int
    line: str
    notes: tuple[str, ...] = ()


def failure_of(error: Exception) -> ErrorReport:
    """The line and status of an error; an unexpected one is named with its place in the code."""
    if isinstance(error, Misuse):
        return ErrorReport(MISUSED, str(error), _own_words(error))
    if isinstance(error, _FAILURES):
        return ErrorReport(FAILED, str(error), _notes(error))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    return ErrorReport(
        FAILED, f"{type(error).__name__}: {error} ({place}; {TRACEBACK}=1 shows more)"
    )


def _notes(error: Exception) -> tuple[str, ...]:
    return tuple(getattr(error, "__notes__", ()))


def _own_words(error: Misuse) -> tuple[str, ...]:
    """What a module printed itself before it died: the line says what Python would add."""
    notes = [note.partition(_PYTHONS)[0].rstrip() for note in _notes(error)]
    return tuple(note for note in notes if note and not _INSIDE.search(note))
