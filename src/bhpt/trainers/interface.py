"""The protocol of trainers of any kind, and the values that they take and return."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bhpt.domain.objective import Objective
from bhpt.domain.reports import BadReport, EpochReport
from bhpt.domain.results import UnitResult
from bhpt.domain.resume import Resume

__all__ = ["BadReport", "Trained", "Trainer", "TrainerFailed", "Work"]


class TrainerFailed(RuntimeError):
    """The trainer ended without its losses; the message is one line for a person."""


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of training.

    Attributes:
        config: The configuration.
        epochs: New epochs to train.
        freeze_to: Empty folder for the new checkpoint.
        resume: Where to start.
        rerun: Epochs between that and the new ones, to be trained again and not reported.
        objective: Which metric counts.
    """

    config: Mapping[str, object]
    epochs: int
    freeze_to: Path
    resume: Resume = field(default_factory=Resume)
    rerun: int = 0
    objective: Objective = field(default_factory=Objective)

    @property
    def trained(self) -> int:
        """Epochs to train now, those that are trained again included."""
        return self.rerun + self.epochs

    def result(self, reports: Sequence[EpochReport], *, frozen: bool) -> UnitResult:
        """The result of this work from the reports of all epochs that were trained."""
        return UnitResult.of(reports[self.rerun :], frozen=frozen)


Trained = tuple[UnitResult, object | None]
"""The result of some work, and the trainer that can go on from there without thawing, if any."""


class Trainer(Protocol):
    """A kind of trainer, already imported and checked."""

    @property
    def kind(self) -> str:
        """One of `class`, `generator`, `function` and `command`."""
        ...

    def run(self, work: Work, alive: object | None) -> Trained:
        """Train; `alive` is what an earlier run of the same arm handed back, if it is kept.

        Raises:
            BadReport: What came back are not the reports asked for.
            Exception: Whatever the user's code raises.
        """
        ...

    def drop(self, alive: object) -> None:
        """Drop what an earlier run returned: it will not be continued."""
        ...
