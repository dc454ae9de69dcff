"""Ctrl-C: once to finish what runs, twice to stop now."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Interrupts:
    """How often a person, or the system, has asked to stop.

    Attributes:
        count: 0 go on, 1 start nothing new, 2 or more stop now.
    """

    count: int = 0

    @property
    def finish(self) -> bool:
        """Whether nothing new is to be started."""
        return self.count >= 1

    @property
    def now(self) -> bool:
        """Whether what runs is to be stopped."""
        return self.count >= 2


@contextmanager
def catching() -> Iterator[Interrupts]:
    """Count SIGINT, and SIGTERM for two, instead of dying of them; in the main thread only."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return

    def interrupted(number: int, _: FrameType | None) -> None:
        interrupts.count += 1 if number == signal.SIGINT else 2

    before = {number: signal.signal(number, interrupted) for number in _SIGNALS}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
