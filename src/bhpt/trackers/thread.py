"""Trackers work in a thread of their own: whatever they do, training and decisions go on.

States are values, so the thread needs no lock: it takes the newest one and writes what is missing.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bhpt.study import State
from bhpt.trackers.interface import TrackedStudy, Tracker, counts, new_runs

_CLOSING_S = 30.0  # at the end of a session, trackers may take this long to write the rest

Offer = Callable[[State], None]
"""Called with a new state of the study; returns at once."""


class TrackedRuns:
    """One tracker, and how many epochs each run holds.

    Args:
        tracker: The tracker.
        study: The study that it follows.
    """

    def __init__(self, tracker: Tracker, study: TrackedStudy) -> None:
        self._tracker = tracker
        self._held: dict[int, int] = {}
        tracker.begin(study)

    def update(self, state: State) -> None:
        """Write everything that is in the state and not yet in the runs."""
        for arm in counts(state):
            if arm not in self._held:
                self._held[arm] = self._tracker.epochs(arm)
        for run in new_runs(state, self._held):
            self._tracker.write(run)
            self._held[run.arm] = run.first + len(run.rows) - 1

    def close(self) -> None:
        """End all runs for now."""
        self._tracker.close()


class TrackerThread:
    """Follows a study with one tracker until `end` is called or the tracker fails.

    Args:
        tracker: The tracker.
        study: The study.
        note: Called with a line that the user should read.
    """

    def __init__(self, tracker: Tracker, study: TrackedStudy, note: Callable[[str], None]) -> None:
        self._tracker = tracker
        self._study = study
        self._note = note
        self._name = type(tracker).__name__
        self._newest: State | None = None
        self._ending = False
        self._failure: Exception | None = None
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=self._name, daemon=True)
        self._thread.start()

    def offer(self, state: State) -> None:
        """Have a state written when the tracker gets to it."""
        self._newest = state
        self._wake.set()

    def end(self) -> None:
        """Wait until everything is written, but not for ever."""
        self._ending = True
        self._wake.set()
        self._thread.join(_CLOSING_S)
        if self._thread.is_alive():
            self._note(f"note: {self._name} has not written everything after {_CLOSING_S:g} s")
        elif self._failure is not None:
            self._note(
                f"note: {self._name} failed and was left out ({_line(self._failure)}); the study "
                "is whole, and `bhpt track` writes what is missing"
            )

    def _follow(self) -> None:
        try:
            runs = TrackedRuns(self._tracker, self._study)
            try:
                self._write(runs)
            finally:
                runs.close()
        except Exception as error:  # noqa: BLE001  # a tracker may raise whatever it likes: said at the end
            self._failure = error

    def _write(self, runs: TrackedRuns) -> None:
        is_last = False
        while not is_last:
            self._wake.wait()
            self._wake.clear()
            is_last = self._ending  # before the state is taken: none comes after it
            if self._newest is not None:
                runs.update(self._newest)


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


@contextmanager
def tracking(
    trackers: Sequence[Tracker], study: TrackedStudy, note: Callable[[str], None]
) -> Iterator[Offer]:
    """Follow a study with trackers within the context.

    Args:
        trackers: The trackers.
        study: The study.
        note: Called with a line that the user should read.

    Yields:
        What to call with each new state.
    """
    threads = [TrackerThread(tracker, study, note) for tracker in trackers]

    def offer(state: State) -> None:
        for thread in threads:
            thread.offer(state)

    try:
        yield offer
    finally:
        for thread in threads:
            thread.end()
