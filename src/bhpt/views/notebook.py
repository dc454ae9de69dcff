"""A running study in a notebook's cell, updated in place."""

import sys
import time
from collections.abc import Callable

from bhpt.domain import Misuse
from bhpt.domain.durations import duration
from bhpt.executors import Running
from bhpt.reports.prediction import Predict
from bhpt.reports.progress import Progress, progress_of
from bhpt.study import State
from bhpt.study.html_summary import summary_html
from bhpt.views.formatting import interval_text

_EVERY_S = 1.0  # between two updates of a cell

Show = Callable[[str], None]
"""Shows a piece of HTML in place of the one before."""


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this program; IPython is never imported for it."""
    shell = sys.modules.get("IPython")
    active = None if shell is None else shell.get_ipython()
    return active is not None and "IPKernelApp" in active.config


def cell() -> Show:
    """A place in the current cell.

    Raises:
        Misuse: IPython is not installed.
    """
    try:
        from IPython.display import HTML, display
    except ImportError:
        raise Misuse("progress 'notebook' needs IPython: run it in a notebook") from None
    handle = display(HTML(""), display_id=True)
    return lambda text: handle.update(HTML(text))


class NotebookView:
    """Redraws a study in its cell, about once a second.

    Args:
        show: Where it is shown.
        predict: Says what is to be expected of the study.
        now: Monotonic time in seconds.
    """

    def __init__(
        self, show: Show, predict: Predict, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._show = show
        self._predict = predict
        self._now = now
        self._again_at = float("-inf")

    def __call__(self, state: State, _: tuple[Running, ...]) -> None:
        """Draw the study again if it is time."""
        if self._now() >= self._again_at or (state.ledger.left <= 0 and not state.open):
            self._show(progress_html(state, progress_of(state, predict=self._predict)))
            self._again_at = self._now() + _EVERY_S


def progress_html(state: State, progress: Progress) -> str:
    """A running study as HTML: where it stands, what is expected, what runs and why."""
    rows = []
    if progress.final is not None:
        rows.append(("at the end", f"{interval_text(progress.final)}, predicted"))
    if progress.left_s is not None:
        rows.append(("time left", f"about {duration(progress.left_s)}"))
    rows += [("running", flight.why) for flight in progress.flights]
    return summary_html(state, rows)
