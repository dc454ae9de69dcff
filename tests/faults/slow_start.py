"""Trainers whose module takes long to import, or which do not listen."""

import os
import signal
import time

from tests.tuning.trainers import Net

time.sleep(float(os.environ.get("SLOW_START_S", "0")))


class Slow(Net):
    """As any other once it is imported."""


class Deaf(Net):
    """Does not end when asked to."""

    def __init__(self, config: dict[str, float]) -> None:
        super().__init__(config)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
