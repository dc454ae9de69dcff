"""The smallest trainer there is, with which `bhpt doctor` tries a worker."""

from collections.abc import Mapping
from pathlib import Path


class Probe:
    """Learns nothing, and saves that."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self._loss = float(str(config["loss"]))

    def step(self) -> float:
        """The loss that it was told."""
        return self._loss

    def save(self, folder: Path) -> None:
        """One small file."""
        (folder / "loss").write_text(repr(self._loss))

    def load(self, folder: Path) -> None:
        """Read it again."""
        self._loss = float((folder / "loss").read_text())
