"""What the driver and a worker say to each other: one JSON object a line, never pickle.

The driver sends an `Order` for each job. The worker says `Ready` or `Unusable` once, after it has
imported the trainer, and then `Done` or `Failed` for each order. Times are on the monotonic
clock, which all processes of a machine share.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bhpt.executors.interface import FailureKind, Job


@dataclass(frozen=True, slots=True)
class Order:
    """A job, as a worker needs to know it.

    Attributes:
        attempt: Which attempt.
        arm: Which arm.
        config: Its configuration.
        start: Epochs that the trainer has behind it once it is thawed, or as it was kept alive.
        rerun: Epochs to train again before the new ones.
        epochs: New epochs.
        freeze_to: Where to put the new checkpoint.
        thaw_from: What to load first.
        digest: What that must be; None if it was checked already.
        warm: Whether to go on with the trainer that is alive.
        drop: Arms whose living trainers are to be let go first.
    """

    attempt: int
    arm: int
    config: Mapping[str, object]
    start: int
    rerun: int
    epochs: int
    freeze_to: str
    thaw_from: str | None
    digest: str | None
    warm: bool
    drop: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """The trainer is imported; `kind` is that of `Trainer.kind`."""

    kind: str


@dataclass(frozen=True, slots=True)
class Unusable:
    """The trainer cannot be imported, and the worker ends."""

    message: str


@dataclass(frozen=True, slots=True)
class Done:
    """The losses of an order; `alive` if the trainer can go on without thawing."""

    attempt: int
    losses: tuple[float, ...]
    frozen: bool
    alive: bool
    began: float
    ended: float


@dataclass(frozen=True, slots=True)
class Failed:
    """Why an order has no losses."""

    attempt: int
    kind: FailureKind
    message: str
    began: float
    ended: float


Reply = Ready | Unusable | Done | Failed
_REPLIES: dict[str, type[Reply]] = {one.__name__: one for one in (Ready, Unusable, Done, Failed)}


def order_of(job: Job, *, warm: bool, drop: tuple[int, ...]) -> Order:
    """Work out where a job starts and what it has to train again."""
    start = job.done if warm else job.thaw_epochs
    thaw_from = None if warm or job.thaw_from is None else str(job.thaw_from.absolute())
    return Order(
        attempt=job.attempt,
        arm=job.arm,
        config=dict(job.config),
        start=start,
        rerun=job.done - start,
        epochs=job.epochs,
        freeze_to=str(Path(job.freeze_to).absolute()),
        thaw_from=thaw_from,
        digest=None if thaw_from is None else job.digest,
        warm=warm,
        drop=drop,
    )


def encode(message: Order | Reply) -> bytes:
    """One line."""
    return json.dumps({"type": type(message).__name__, **asdict(message)}).encode("ascii") + b"\n"


def decode_order(line: str) -> Order:
    """What the driver sent."""
    fields = json.loads(line)
    del fields["type"]
    return Order(**{**fields, "drop": tuple(fields["drop"])})


def decode_reply(line: bytes) -> Reply:
    """What a worker sent.

    Raises:
        ValueError: It is not one of the replies; user code may have written to our connection.
    """
    fields = json.loads(line)
    if not isinstance(fields, dict) or fields.get("type") not in _REPLIES:
        raise ValueError(f"not a reply: {line[:80]!r}")
    kind = _REPLIES[fields.pop("type")]
    if kind is Done:
        fields["losses"] = tuple(float(loss) for loss in fields.get("losses", ()))
    if kind is Failed:
        fields["kind"] = FailureKind(str(fields.get("kind")))
    try:
        return kind(**fields)
    except TypeError as error:
        raise ValueError(f"not a reply: {error}") from None
