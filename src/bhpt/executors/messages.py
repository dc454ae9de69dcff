"""Messages between the driver and a worker: one JSON object a line, never pickle.

The driver sends an `Order` for each job. The worker sends `Ready` or `Unusable` once, after it has
imported the trainer, and then sends the `Report` of each order. Times are on the monotonic clock,
which all processes of a machine share.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bhpt.domain.objective import Objective
from bhpt.domain.results import Failure, FailureKind, UnitOutcome, UnitResult, Usage
from bhpt.domain.resume import Resume
from bhpt.executors.interface import Job, Report


@dataclass(frozen=True, slots=True)
class Order:
    """A job for a worker.

    Attributes:
        job: The job.
        submitted: When it was submitted: from then on its time is counted.
        drop: Arms whose live trainers are to be let go first.
    """

    job: Job
    submitted: float
    drop: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """The trainer is imported.

    Attributes:
        kind: That of `Trainer.kind`.
        pid: The process that trains.
        at: When, on the monotonic clock, which all processes share: a driver that was stopped
            reads it later.
    """

    kind: str
    pid: int
    at: float


@dataclass(frozen=True, slots=True)
class Unusable:
    """The trainer cannot be imported, and the worker ends."""

    message: str


Reply = Ready | Unusable | Report


def encode(message: Order | Reply) -> bytes:
    """One line."""
    fields = {"type": type(message).__name__, **asdict(message)}
    return json.dumps(fields, default=_absolute).encode("ascii") + b"\n"


def decode_order(line: str) -> Order:
    """What the driver sent."""
    fields = json.loads(line)
    job, resume = fields["job"], fields["job"]["resume"]
    place = None if resume["place"] is None else Path(resume["place"])
    return Order(
        job=Job(
            **{
                **job,
                "freeze_to": Path(job["freeze_to"]),
                "resume": Resume(**{**resume, "place": place}),
                "objective": Objective(**job["objective"]),
            }
        ),
        submitted=fields["submitted"],
        drop=tuple(fields["drop"]),
    )


def decode_reply(line: bytes) -> Reply:
    """What a worker sent.

    Raises:
        ValueError: It is not one of the replies; user code may have written to our connection.
    """
    fields = json.loads(line)
    if not isinstance(fields, dict):
        raise ValueError(f"not a reply: {line[:80]!r}")
    try:
        match fields.pop("type", None):
            case "Ready":
                return Ready(**fields)
            case "Unusable":
                return Unusable(**fields)
            case "Report":
                return Report(**{**fields, "outcome": _outcome(fields["outcome"])})
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"not a reply: {error!r}") from None
    raise ValueError(f"not a reply: {line[:80]!r}")


def _outcome(fields: dict[str, Any]) -> UnitOutcome:
    """A result or a failure, distinguished by their fields."""
    usage = Usage(**fields["usage"])
    if "kind" in fields:
        return Failure(**{**fields, "kind": FailureKind(fields["kind"]), "usage": usage})
    if fields["checkpoint"] is not None:
        raise ValueError("not a reply: a worker commits no checkpoints")
    losses = tuple(float(loss) for loss in fields["losses"])
    return UnitResult(
        **{**fields, "losses": losses, "metrics": tuple(fields["metrics"]), "usage": usage}
    )


def _absolute(value: object) -> str:
    """A path that means the same in another folder."""
    if not isinstance(value, Path):
        raise TypeError(f"{value!r:.60} has no place in a message")
    return str(value.absolute())
