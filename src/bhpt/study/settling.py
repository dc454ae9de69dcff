"""What came of a unit, as events: settled, retried or given up."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from bhpt.domain import Failure, FailureKind, Misuse, Resume, UnitResult, Usage
from bhpt.domain.words import counted
from bhpt.study.attempts import Attempt
from bhpt.study.events import Event, Extended, Failed, Observed, Rejected, Restarted
from bhpt.study.folding import apply
from bhpt.study.state import BLAMELESS, State

Receipt = Literal["accepted", "ignored", "rejected"]
"""What became of a report: new, the same as before, or in contradiction to it."""


def report(
    state: State, number: int, result: UnitResult, clock: float
) -> tuple[Receipt, Event | None]:
    """What to make of the result of a unit, and the event to record.

    Raises:
        Misuse: If there is no such attempt or the number of losses is wrong.
    """
    attempt = _attempt(state, number)
    losses = result.losses
    if attempt.status == "observed":
        if same_losses(losses, _known(state, attempt)):
            return "ignored", None
        return "rejected", Rejected(number, "differs from what was reported", losses, clock)
    if attempt.status == "failed":
        return "rejected", Rejected(number, "came after the unit had failed", losses, clock)
    if len(losses) != attempt.unit.epochs:
        raise Misuse(
            f"attempt {number} reports {counted(len(losses), 'epoch')}, but its unit has "
            f"{attempt.unit.epochs}: report one loss an epoch"
        )
    usage = result.usage
    cost = state.ledger.budget.rules.charge(attempt.unit.epochs + usage.rerun, usage.seconds)
    return "accepted", Observed.of(number, result, cost, clock)


def failure(state: State, number: int, why: Failure, clock: float) -> Failed:
    """The event of a failed attempt: charged, and final if the arm has no tries left."""
    attempt = _attempt(state, number)
    cost = state.ledger.budget.rules.charge_failed(attempt.reserved, why.usage.seconds)
    failures = state.arm(attempt.unit.arm).failures + 1
    final = why.kind not in BLAMELESS and failures > state.plan.training.retries
    return Failed.of(number, why, cost, clock, final=final)


def reconcile(
    state: State, resumes: Mapping[int, Resume], clock: float, unseen_s: float
) -> tuple[Event, ...]:
    """What becomes of units that a dead driver left in flight.

    Epochs: the unit runs again under its own reservation, raised by what has to be trained again;
    if that is not affordable, the reservation is charged. Time and money are gone: what was used
    until the driver was last seen, and `unseen_s` more, is charged, and the policy decides anew.

    Args:
        state: The study as the dead driver left it.
        resumes: Where each unit in flight could go on from, by attempt.
        clock: The study's clock when the driver was last seen.
        unseen_s: How long it may have run on after that.
    """
    events: list[Event] = []
    for attempt in state.flying:
        changed = dearer(state, attempt, resumes[attempt.number], clock)
        if not state.ledger.budget.rules.restarts or isinstance(changed, Failed):
            events.append(_lost(state, attempt, clock, unseen_s))
            continue
        if changed is not None:
            events.append(changed)
            state = apply(state, changed)
        events.append(Restarted(attempt.number, clock))
    return tuple(events)


def dearer(
    state: State, attempt: Attempt, resume: Resume, clock: float
) -> Extended | Failed | None:
    """What must be recorded before a unit is started that has more to train than was reserved.

    A trainer that lived when the unit was decided on may be dead by now. Then the reservation is
    raised, or, where that does not fit, the unit is taken back and costs nothing.

    Returns:
        None if the reservation is enough.
    """
    epochs = attempt.done - resume.epochs + attempt.unit.epochs
    return _raised(state, attempt, state.ledger.budget.rules.required(epochs), clock)


def started_over(state: State, attempt: Attempt, clock: float) -> Extended | Failed | None:
    """What must be recorded before a unit trains its arm from nothing, under nobody's control.

    What it is predicted to cost is reserved, so that units side by side do not spend it, too.

    Returns:
        None if the reservation is enough.
    """
    epochs = attempt.done + attempt.unit.epochs
    seconds = (attempt.expected_s or 0.0) * epochs / attempt.unit.epochs
    return _raised(state, attempt, state.ledger.budget.rules.charge(epochs, seconds), clock)


def hopeless(state: State) -> str | None:
    """Why going on makes no sense: nothing ever worked, and it is not the arms' fault.

    The trainer that cannot train any of two arms, or the only one, will not train the others.
    """
    if state.reports or not state.tried:
        return None
    given_up = [known.closed for known in state.tried.values() if known.closed is not None]
    if len(given_up) < min(2, len(state.configs)):
        return None
    return given_up[-1]


def same_losses(one: Sequence[float], other: Sequence[float]) -> bool:
    """Equality in which NaN equals NaN."""
    return len(one) == len(other) and all(
        a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(one, other, strict=True)
    )


def _raised(
    state: State, attempt: Attempt, needed: float, clock: float
) -> Extended | Failed | None:
    """The event that raises a reservation to what is needed, or takes back what does not fit."""
    if needed <= attempt.reserved:
        return None
    if state.ledger.at(clock).can_extend(attempt.number, needed):
        return Extended(attempt.number, needed, clock)
    message = "what it would have to train again is not affordable any more"
    return Failed.of(attempt.number, Failure(FailureKind.LOST, message), 0.0, clock)


def _lost(state: State, attempt: Attempt, clock: float, unseen_s: float) -> Failed:
    """An attempt that ended with its driver."""
    seconds = max(0.0, clock - attempt.started) + unseen_s
    used = state.ledger.budget.rules.charge_failed(attempt.reserved, seconds)
    cost = min(attempt.reserved, used)
    message = "the driver ended before the unit did"
    lost = Failure(FailureKind.LOST, message, usage=Usage(seconds))
    return Failed.of(attempt.number, lost, cost, clock)


def _attempt(state: State, number: int) -> Attempt:
    if not 0 <= number < len(state.attempts):
        raise Misuse(f"this study has not asked for attempt {number}")
    return state.attempts[number]


def _known(state: State, attempt: Attempt) -> tuple[float, ...]:
    """The losses that were reported for an attempt."""
    if state.curves is None:
        return ()
    curve = state.curves.of_arm(attempt.unit.arm)
    return tuple(curve[attempt.done : attempt.done + attempt.unit.epochs].tolist())
