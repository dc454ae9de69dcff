"""What a session writes: events into the log, and on the disk what had to wait for them."""

from collections.abc import Callable

from bhpt.domain import FloatArray, View
from bhpt.policies.study_predictor import predictor_of
from bhpt.study.events import CheckpointDropped, Event
from bhpt.study.threads import one_thread
from bhpt.tuning.driver_parts import DriverParts


class Recorder:
    """Logs events, or lets them wait while the store is locked; then follows with checkpoints.

    Args:
        parts: What the driver works with.
        clock: Seconds for which the study has been running.

    Attributes:
        view: Of the latest decision, by which checkpoints are given up when there are too many.
    """

    def __init__(self, parts: DriverParts, clock: Callable[[], float]) -> None:
        self.view: View | None = None
        self._parts = parts
        self._clock = clock
        self._drops: list[CheckpointDropped] = []
        self._settled = parts.journal.state.reports

    def record(self, *events: Event) -> None:
        """Log events, or let them wait while the store is locked."""
        if events:
            self._parts.journal.record(*events)
            self.written()

    def drop(self, dropped: list[CheckpointDropped]) -> None:
        """Log that checkpoints are gone, then remove what is left of them."""
        self._drops += dropped
        self.record(*dropped)

    def written(self) -> bool:
        """Write what waits; once all is in the log, do on the disk what had to wait for it."""
        if not self._parts.journal.flush():
            return False
        journal, checkpoints = self._parts.journal, self._parts.checkpoints
        if journal.state.reports > self._settled:
            self._settled = journal.state.reports
            self._parts.settled(journal.state)
        checkpoints.settle(journal.state)
        checkpoints.drop(self._drops)
        self._drops = checkpoints.excess(journal.state, self._ends, self._clock())
        if self._drops and journal.record(*self._drops):
            checkpoints.drop(self._drops)
            self._drops = []
        return not journal.waiting

    def writable(self) -> bool:
        """Whether a decision could be logged now."""
        return self.written() if self._parts.journal.locked else True

    def _ends(self) -> FloatArray | None:
        """Where arms are expected to end, by the study's predictor at the latest decision, [K]."""
        if self.view is None:
            return None
        with one_thread():
            return predictor_of(self._parts.policy).predict(self.view).mean()
