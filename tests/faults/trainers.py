"""Trainers that misbehave in ways that only real processes can."""

import json
import math
import os
import signal
import time
from pathlib import Path


class Net:
    """A deterministic curve; `sleep` seconds an epoch, `bytes` in its checkpoint."""

    def __init__(self, config: dict[str, float]) -> None:
        self._config = config
        self._epoch = 0

    def step(self) -> float:
        self._epoch += 1
        time.sleep(self._config.get("sleep", 0.0))
        x = self._config["x"]
        return abs(x - 0.3) + math.exp(-self._epoch / (2 + 5 * x))

    def save(self, folder: Path) -> None:
        padding = "x" * int(self._config.get("bytes", 0))
        (folder / "net.json").write_text(json.dumps({"epoch": self._epoch, "padding": padding}))

    def load(self, folder: Path) -> None:
        self._epoch = json.loads((folder / "net.json").read_text())["epoch"]


class Hangs(Net):
    """Never comes back from its third epoch."""

    def step(self) -> float:
        if self._epoch == 2:
            time.sleep(3600)
        return super().step()


class Stops(Net):
    """Stops its own process in its third epoch, as Ctrl-Z or a batch system would."""

    def step(self) -> float:
        if self._epoch == 2:
            os.kill(os.getpid(), signal.SIGSTOP)
        return super().step()


class Noisy(Net):
    """Takes a time that nobody can predict."""

    def step(self) -> float:
        self._epoch += 1
        time.sleep(0.02 + 0.2 * abs(math.sin(17 * self._epoch * (1 + self._config["x"]))) ** 3)
        return abs(self._config["x"] - 0.3) + 1 / self._epoch
