"""Whether a study runs, waits to be resumed, or is done."""

from typing import Literal

from bhpt.domain.words import counted
from bhpt.reports.worlds import is_spent
from bhpt.study import State
from bhpt.study.deciding import is_exhausted

Phase = Literal["running", "held", "interrupted", "paused", "done"]
"""With a driver that lives, or cannot be seen; left with units in flight, in good order; over."""


def phase_of(state: State, alive: bool | None) -> Phase:
    """The phase of a study.

    Args:
        state: The study.
        alive: Whether a driver holds it and lives; None if one holds it that cannot be seen.
    """
    if alive is not False:
        return "held" if alive is None else "running"
    if state.open:
        return "interrupted"
    return "done" if is_spent(state) or is_exhausted(state) else "paused"


def interrupted_text(state: State) -> str:
    """What a study was left with whose driver is gone."""
    return f"interrupted with {counted(len(state.open), 'unit')} in flight"
