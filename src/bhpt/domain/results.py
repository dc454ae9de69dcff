"""The outcome of a unit: a result or a failure, one value from the worker to the log."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bhpt.domain.reports import EpochReport, Metrics


@dataclass(frozen=True, slots=True)
class Usage:
    """What a unit took.

    Attributes:
        seconds: Monotonic time that its slot was busy, set-up and reruns included.
        setup_s: The part that went into starting a worker and importing the trainer.
        rerun: Epochs that had to be trained again before the new ones.
        checkpoint_s: The part that went into loading and saving checkpoints.
    """

    seconds: float = 0.0
    setup_s: float = 0.0
    rerun: int = 0
    checkpoint_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Saved:
    """A committed checkpoint: which generation of its arm, at which epoch, and its identity."""

    generation: int
    epochs: int
    digest: str
    bytes: int


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of a unit.

    Attributes:
        losses: One a new epoch; NaN and infinity are kept.
        metrics: Everything that was reported, one mapping an epoch; empty if only numbers were.
        usage: What it took.
        frozen: Whether the trainer wrote a checkpoint at the last of these epochs.
        checkpoint: That checkpoint once it is committed.
    """

    losses: tuple[float, ...]
    metrics: tuple[Metrics, ...] = ()
    usage: Usage = Usage()
    frozen: bool = False
    checkpoint: Saved | None = None

    @classmethod
    def of(cls, reports: Sequence[EpochReport], *, frozen: bool = False) -> "UnitResult":
        """The result of a unit from the reports of its epochs."""
        has_metrics = any(report.metrics for report in reports)
        return cls(
            losses=tuple(report.loss for report in reports),
            metrics=tuple(report.metrics for report in reports) if has_metrics else (),
            frozen=frozen,
        )


class FailureKind(StrEnum):
    """How a unit can fail. Whether it is tried again is decided by `study.settling`."""

    CRASHED = "crashed"  # the trainer raised, or its process died
    TIMED_OUT = "timed-out"  # it ran past its limit and was killed
    BAD_REPORT = "bad-report"  # it reported what cannot be used, or too few or too many epochs
    IMPORT_FAILED = "import-failed"  # the trainer could not be imported in the worker
    STOPPED = "stopped"  # the driver asked for it
    LOST = "lost"  # it ended with its driver, or is not affordable any more
    DISK_FULL = "disk-full"  # the checkpoint could not be written: pause the study


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a unit has no result.

    Attributes:
        kind: What happened.
        message: One line for a person.
        tail: The last lines that it printed, without control characters.
        usage: What it took.
    """

    kind: FailureKind
    message: str
    tail: str = ""
    usage: Usage = Usage()


UnitOutcome = UnitResult | Failure
"""The outcome of a unit, however it ends."""
