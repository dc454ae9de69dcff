"""Time that goes into something which is done in several pieces."""

import time
from types import TracebackType


class Stopwatch:
    """Adds up the time spent inside of it, as a context manager, whatever is raised there.

    Attributes:
        seconds: The time so far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._began = 0.0

    def __enter__(self) -> "Stopwatch":
        self._began = time.monotonic()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace
        self.seconds += time.monotonic() - self._began
