"""The trainer of the executors' contract suite: its configuration says how it behaves."""

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Fraction:
    """Reports rate / epoch.

    Args:
        config: `rate`; `seconds` that an epoch takes; whether to `crash` or to `diverge`, and
            whether to report `metrics` instead of one number.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._epoch = 0

    def step(self) -> object:
        """Train one epoch."""
        time.sleep(self._config["seconds"])
        if self._config["crash"]:
            raise RuntimeError("the configuration asks for it")
        self._epoch += 1
        loss = math.nan if self._config["diverge"] else self._config["rate"] / self._epoch
        return {"acc": loss, "size": 3} if self._config["metrics"] else loss

    def save(self, folder: Path) -> None:
        """Write the epoch."""
        (folder / "epoch").write_text(str(self._epoch))

    def load(self, folder: Path) -> None:
        """Read the epoch."""
        self._epoch = int((folder / "epoch").read_text())
