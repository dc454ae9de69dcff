"""A trainer that does nothing, with which `bhpt doctor` tests a worker."""

from collections.abc import Mapping
from pathlib import Path


class Probe:
    """Reports a constant loss, and saves it."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self._loss = float(str(config["loss"]))

    def step(self) -> float:
        """The loss of the configuration."""
        return self._loss

    def save(self, folder: Path) -> None:
        """One small file."""
        (folder / "loss").write_text(repr(self._loss))

    def load(self, folder: Path) -> None:
        """Read it again."""
        self._loss = float((folder / "loss").read_text())
