"""Progress while a study runs: a live view on a terminal, plain lines elsewhere."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from bhpt.domain import Misuse
from bhpt.domain.durations import duration
from bhpt.executors import Running
from bhpt.reports.prediction import Predict
from bhpt.reports.progress import Progress, progress_of
from bhpt.study import State
from bhpt.views.formatting import interval_text, loss_text, starting_line, to_stderr
from bhpt.views.notebook import NotebookView, cell, in_notebook

Watch = Callable[[State, tuple[Running, ...]], None]
"""Called now and then with the study and what runs, to show progress."""

Mode = Literal["auto", "live", "plain", "notebook", "off"]

_EVERY_S = 5.0  # between plain lines when nothing improves
_SILENT_S = 2.0  # that people wait without a word at most
_NO_CURSOR = ("dumb", "unknown")  # terminals that only append
_FINISHING = "Ctrl-C: finishing what runs; once more to stop now"
_STOPPING = "stopping now"


class StudyClock:
    """Estimates the study's clock between two events from the monotonic clock.

    An event carries the study's clock, read a moment before the event arrives here. The smallest
    difference between the two clocks over all events is the one with the least delay in it.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._zero = float("inf")

    def read(self, state: State) -> float:
        """Seconds for which the study has been running."""
        now = self._now()
        self._zero = min(self._zero, now - state.clock)
        return now - self._zero


class Presses:
    """Counts Ctrl-C.

    The driver handles the signal. Python also writes the signal's number to the wake-up
    descriptor, which is read here, so that the view needs no handler of its own.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        self._count = 0

    def notice(self) -> str:
        """A line on what Ctrl-C does next; empty if it was not pressed."""
        if self._descriptor is not None:
            try:
                numbers = os.read(self._descriptor, 64)
            except BlockingIOError:
                numbers = b""
            self._count += sum(2 if number == signal.SIGTERM else 1 for number in numbers)
        if not self._count:
            return ""
        return _FINISHING if self._count == 1 else _STOPPING


@contextmanager
def presses() -> Iterator[Presses]:
    """Count Ctrl-C within the context; outside of the main thread nothing is counted."""
    if threading.current_thread() is not threading.main_thread():
        yield Presses(None)
        return
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield Presses(reading)
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


class PlainLines:
    """One line at every improvement, and every few seconds.

    Args:
        pressed: Counts Ctrl-C.
        write: Writes a line.
        predict: Predicts how the study and its arms end.
    """

    def __init__(self, pressed: Presses, write: Callable[[str], None], predict: Predict) -> None:
        self._pressed = pressed
        self._write = write
        self._predict = predict
        self._clock = StudyClock()
        self._last = float("-inf")
        self._best = ""
        self._notice = ""

    def __call__(self, state: State, _: tuple[Running, ...]) -> None:
        """Write a line if it is time for one."""
        notice = self._pressed.notice()
        if notice != self._notice:
            self._notice = notice
            self._write(notice)
        value = state.plan.objective.from_loss
        best = "" if state.best is None else loss_text(value(state.best.loss))
        now = time.monotonic()
        if best == self._best and now - self._last < _EVERY_S:
            return  # the same best loss, and no line is due
        self._best, self._last = best, now
        self._write(plain_line(progress_of(state, self._clock.read(state), self._predict)))


@contextmanager
def announced(
    line: str, write: Callable[[str], None], after_s: float = _SILENT_S
) -> Iterator[Callable[[str], None]]:
    """Write a line if nothing else is written for a while; nothing if all ends before that.

    Args:
        line: What to say, such as what is being waited for.
        write: Writes a line.
        after_s: The while, in seconds.

    Yields:
        Writes a line, after which the first one is not needed.
    """
    timer = threading.Timer(after_s, write, (line,))
    timer.daemon = True
    timer.start()

    def said(text: str) -> None:
        timer.cancel()
        write(text)

    try:
        yield said
    finally:
        timer.cancel()


def plain_line(progress: Progress) -> str:
    """Progress of a study in one line."""
    parts = [f"[{duration(progress.clock)}] {progress.budget.rules.used_text(progress.used)}"]
    best = progress.best
    if best is None:
        parts.append(f"no finite {progress.objective.metric} yet")
    else:
        parts.append(f"best {loss_text(best.loss)} (arm {best.arm}, epoch {best.epoch})")
    if progress.final is not None:
        parts.append(f"at the end {interval_text(progress.final)}")
    if progress.flights:
        running = ", ".join(f"arm {one.arm} epoch {one.last}" for one in progress.flights)
        parts.append(f"running {running}")
    if progress.left_s is not None:
        parts.append(f"about {duration(progress.left_s)} left")
    return "; ".join(parts)


@contextmanager
def watching(mode: Mode, title: str, predict: Predict) -> Iterator[Watch]:
    """Show progress within the context; yields what to call with each new state.

    Args:
        mode: Live, plain or in a notebook's cell; `auto` is live on a terminal and in a cell.
        title: What is tuned and where.
        predict: Says what is to be expected of the study.
    """
    if mode not in get_args(Mode):
        raise Misuse(f"progress {mode!r}: use auto, live, plain, notebook or off")
    if mode == "off":
        yield lambda _state, _running: None
        return
    if mode == "notebook" or (mode == "auto" and in_notebook()):
        yield NotebookView(cell(), predict)
        return
    with presses() as pressed:
        if mode == "plain" or (mode == "auto" and not _can_redraw()):
            with announced(starting_line(title), to_stderr) as write:
                yield PlainLines(pressed, write, predict)
            return
        with _live(title, predict, pressed) as show:
            yield show


def _can_redraw() -> bool:
    """Whether standard error is a terminal on which lines can be drawn again."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in _NO_CURSOR


@contextmanager
def _live(title: str, predict: Predict, pressed: Presses) -> Iterator[Watch]:
    """The live view of a terminal, drawn again with each new state."""
    from rich.constrain import Constrain
    from rich.live import Live  # only for a live view: half of a start's imports

    from bhpt.views.consoles import SafeConsole
    from bhpt.views.renderables import starting, view_of

    console = SafeConsole(stderr=True)
    clock = StudyClock()
    with (
        _keys_unseen(),
        Live(starting(title), console=console, auto_refresh=False, transient=True) as live,
    ):

        def show(state: State, _: tuple[Running, ...]) -> None:
            progress = progress_of(state, clock.read(state), predict)
            view = view_of(progress, title, pressed.notice())
            # the last column stays free: what is typed there would begin another line
            live.update(Constrain(view, console.width - 1), refresh=True)

        yield show


@contextmanager
def _keys_unseen() -> Iterator[None]:
    """Keep the terminal from writing ^C into the view, which would move it by a line."""
    if not sys.stderr.isatty() or sys.platform == "win32":
        yield
        return
    import termios

    terminal = sys.stderr.fileno()
    before = termios.tcgetattr(terminal)
    quiet = [*before[:3], before[3] & ~termios.ECHOCTL, *before[4:]]
    termios.tcsetattr(terminal, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
