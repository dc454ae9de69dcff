"""What can happen to a study. The log of these is its only state.

Events are facts: they carry every number that was decided or measured, so that folding them
never needs a clock, a policy or a random number. `clock` counts the seconds for which the study
has been running, downtime between sessions left out.
"""

from dataclasses import dataclass

from bhpt.domain.budget import Budget
from bhpt.domain.reports import Metrics
from bhpt.domain.results import Failure, Saved, UnitResult
from bhpt.spaces import Config
from bhpt.study.plan import Plan


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the policy predicted for one arm; NaN where it did not.

    Attributes:
        arm: Which one.
        end: Its predicted best loss within what is left.
        spread: One standard deviation of it.
        value: What the policy minimised.
    """

    arm: int
    end: float
    spread: float
    value: float


@dataclass(frozen=True, slots=True)
class StudyCreated:
    """The first event.

    Attributes:
        plan: What decisions depend on, apart from observations.
        identity: Random text that no other study has, so that files are found by what they
            belong to and not by a name; empty in studies of earlier versions and in memory.
    """

    plan: Plan
    identity: str = ""


@dataclass(frozen=True, slots=True)
class ArmsAdded:
    """New candidates.

    Attributes:
        configs: Their configurations.
        origin: Listed, drawn from the whole space, near: a step away from good arms, or enqueued.
        clock: When.
        parents: The good arm that each is a step away from; empty for the other origins, and in
            studies of earlier versions.
    """

    configs: tuple[Config, ...]
    origin: str
    clock: float = 0.0
    parents: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Enqueued:
    """Arms that are tried before the policy chooses, in this order, one unit each."""

    arms: tuple[int, ...]
    clock: float = 0.0


@dataclass(frozen=True, slots=True)
class Decided:
    """A unit was chosen and its cost reserved; logged before it is submitted.

    Attributes:
        attempt: Counts all attempts from 0.
        arm: The arm.
        index: Units of this arm before it.
        epochs: New epochs that it trains.
        done: Epochs of the arm before it.
        cost: Reserved, in the currency of the budget.
        seconds: Predicted duration, None before anything is known.
        why: One sentence for a person.
        outlook: Of the chosen arm and the best few others.
        clock: When.
        worker: Which worker it is given to, counted from 0; None where it is not known, as with
            ask and tell and in studies of earlier versions.
    """

    attempt: int
    arm: int
    index: int
    epochs: int
    done: int
    cost: float
    seconds: float | None
    why: str
    outlook: tuple[Outlook, ...]
    clock: float
    worker: int | None = None


@dataclass(frozen=True, slots=True)
class Extended:
    """A unit in flight takes longer: its reservation was raised to `cost`."""

    attempt: int
    cost: float
    clock: float


@dataclass(frozen=True, slots=True)
class Restarted:
    """A unit that an earlier session left in flight runs again, under its reservation."""

    attempt: int
    clock: float


@dataclass(frozen=True, slots=True)
class Observed:
    """A unit's result, as `UnitResult` has it; the stored form is flat.

    Attributes:
        attempt: Whose.
        losses: One an epoch; NaN and infinity are kept.
        seconds: Busy time, set-up and reruns included.
        setup_s: The part that went into starting a worker.
        rerun: Epochs that had to be trained again first.
        cost: Settled, in the currency of the budget.
        saved: The checkpoint, None if there is none.
        clock: When.
        metrics: Everything that was reported, one mapping an epoch; empty if only numbers were.
        checkpoint_s: The part of the busy time that went into loading and saving checkpoints.
    """

    attempt: int
    losses: tuple[float, ...]
    seconds: float
    setup_s: float
    rerun: int
    cost: float
    saved: Saved | None
    clock: float
    metrics: tuple[Metrics, ...] = ()
    checkpoint_s: float = 0.0

    @classmethod
    def of(cls, attempt: int, result: UnitResult, cost: float, clock: float) -> "Observed":
        """The event of a result."""
        return cls(
            attempt=attempt,
            losses=result.losses,
            seconds=result.usage.seconds,
            setup_s=result.usage.setup_s,
            rerun=result.usage.rerun,
            cost=cost,
            saved=result.checkpoint,
            clock=clock,
            metrics=result.metrics,
            checkpoint_s=result.usage.checkpoint_s,
        )


@dataclass(frozen=True, slots=True)
class Failed:
    """A unit without a result, for the reason that `Failure` has; the stored form is flat.

    Attributes:
        attempt: Whose.
        kind: A `FailureKind`; `stopped` and `lost` are not the arm's fault.
        message: One line for a person.
        tail: The last lines that the trainer printed.
        seconds: Busy time.
        cost: Settled, in the currency of the budget.
        final: Whether the arm is given up.
        clock: When.
    """

    attempt: int
    kind: str
    message: str
    tail: str
    seconds: float
    cost: float
    final: bool
    clock: float

    @classmethod
    def of(
        cls, attempt: int, failure: Failure, cost: float, clock: float, *, final: bool = False
    ) -> "Failed":
        """The event of a failure."""
        return cls(
            attempt=attempt,
            kind=str(failure.kind),
            message=failure.message,
            tail=failure.tail,
            seconds=failure.usage.seconds,
            cost=cost,
            final=final,
            clock=clock,
        )


@dataclass(frozen=True, slots=True)
class BudgetAdded:
    """The limit was raised."""

    more: Budget
    clock: float


@dataclass(frozen=True, slots=True)
class ArmClosed:
    """No further unit of this arm will be run."""

    arm: int
    reason: str
    clock: float


@dataclass(frozen=True, slots=True)
class CheckpointDropped:
    """A checkpoint is gone, by choice or by damage; generation None: a trainer that was alive."""

    arm: int
    generation: int | None
    reason: str
    clock: float


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A driver took over; trainers that were only alive in a worker are lost.

    Attributes:
        host: Where the driver runs.
        pid: Its process.
        workers: How many units it trains side by side.
        clock: When.
        folder: Absolute path of the study's files on that host; empty in older studies.
        checkpoints: The fsspec path of its checkpoints; empty if they lie in the folder.
    """

    host: str
    pid: int
    workers: int
    clock: float
    folder: str = ""
    checkpoints: str = ""


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """A driver left in good order."""

    reason: str
    clock: float


@dataclass(frozen=True, slots=True)
class Rejected:
    """A report that contradicts an earlier one was refused."""

    attempt: int
    reason: str
    losses: tuple[float, ...]
    clock: float


@dataclass(frozen=True, slots=True)
class Noted:
    """A message for a person."""

    text: str
    clock: float


Event = (
    StudyCreated
    | ArmsAdded
    | Enqueued
    | Decided
    | Extended
    | Restarted
    | Observed
    | Failed
    | BudgetAdded
    | ArmClosed
    | CheckpointDropped
    | SessionStarted
    | SessionEnded
    | Rejected
    | Noted
)
