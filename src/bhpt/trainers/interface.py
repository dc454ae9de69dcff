"""What a worker asks of a trainer of any kind, and what it gets back."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


class BadReport(ValueError):
    """The trainer broke its promise: not a loss, too few or too many; one line that says which."""


class TrainerFailed(RuntimeError):
    """The trainer ended without its losses; the message is one line for a person."""


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of training.

    Attributes:
        config: The configuration.
        start: Epochs that the trainer has behind it: those of `thaw_from`, or of one kept alive.
        epochs: How many epochs to train now, those that are trained again included.
        freeze_to: Empty folder for the new checkpoint.
        thaw_from: Checkpoint to load first, None to start from nothing or go on alive.
    """

    config: Mapping[str, object]
    start: int
    epochs: int
    freeze_to: Path
    thaw_from: Path | None


@dataclass(frozen=True, slots=True)
class Trained:
    """What a piece of training gave.

    Attributes:
        losses: One an epoch, `Work.epochs` of them.
        frozen: Whether `freeze_to` holds a checkpoint now.
        alive: What can go on from here without thawing, None if nothing can.
    """

    losses: tuple[float, ...]
    frozen: bool
    alive: object | None = None


class Trainer(Protocol):
    """A kind of trainer, already imported and checked."""

    @property
    def kind(self) -> str:
        """One of `class`, `generator` and `command`."""
        ...

    def run(self, work: Work, alive: object | None) -> Trained:
        """Train; `alive` is what an earlier `Trained` of the same arm handed back, if it is kept.

        Raises:
            BadReport: What came back are not the losses asked for.
            Exception: Whatever the user's code raises.
        """
        ...
