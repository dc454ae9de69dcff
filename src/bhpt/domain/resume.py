"""Where an arm goes on from: nothing, a checkpoint, or a trainer that is still alive."""

from dataclasses import dataclass
from pathlib import Path

from bhpt.domain.errors import Misuse


@dataclass(frozen=True, slots=True)
class Resume:
    """Where a unit starts. Without arguments: from nothing.

    Attributes:
        epochs: Epochs that the arm has behind it there; those after them are trained again.
        live: Whether a trainer that is still alive in its worker goes on; nothing is loaded.
        place: Folder with the checkpoint to load, None for a live trainer or for nothing.
        digest: Of the checkpoint, checked by the worker that loads it; None if it was checked.
    """

    epochs: int = 0
    live: bool = False
    place: Path | None = None
    digest: str | None = None

    def __post_init__(self) -> None:
        """Refuse combinations that contradict each other."""
        if self.live and self.place is not None:
            raise Misuse("an arm goes on alive or from a checkpoint, not both")
        somewhere = self.live or self.place is not None
        if self.epochs < 0 or somewhere != (self.epochs > 0):
            raise Misuse(f"an arm cannot go on from epoch {self.epochs} of {self}")

    @classmethod
    def alive(cls, epochs: int) -> "Resume":
        """From the trainer that is alive at this epoch."""
        return cls(epochs, live=True)

    @classmethod
    def checkpoint(cls, epochs: int, place: Path, digest: str | None = None) -> "Resume":
        """From the checkpoint in a folder."""
        return cls(epochs, place=place, digest=digest)

    def __str__(self) -> str:
        if self.live:
            return "a live trainer"
        return "nothing" if self.place is None else f"the checkpoint in {self.place}"
