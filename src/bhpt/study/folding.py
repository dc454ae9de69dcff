"""From events to the state of a study.

    state = fold(apply, events)

`apply` is pure and total over the events of a sound log; it refuses an event that contradicts
the state, so a log that folds is a log that is consistent.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from bhpt.domain import Curves, Misuse, Unit
from bhpt.domain.ledger import Ledger
from bhpt.study.arm_list import ArmList
from bhpt.study.attempts import Attempt
from bhpt.study.events import (
    ArmClosed,
    ArmsAdded,
    BudgetAdded,
    CheckpointDropped,
    Decided,
    Enqueued,
    Event,
    Extended,
    Failed,
    Noted,
    Observed,
    Rejected,
    Restarted,
    SessionEnded,
    SessionStarted,
    StudyCreated,
)
from bhpt.study.state import BLAMELESS, GENERATIONS, Best, Child, State
from bhpt.study.tried_arms import PACES, Arm
from bhpt.study.unit_size import ReportedUnit, unit_size, window
from bhpt.study.unit_times import FirstUnit

_MOST_EPOCHS = 10_000_000  # of an arm or a unit: more than any study could hold


def _changed(state: State, **changes: Any) -> State:  # noqa: ANN401  # fields of a state
    """The state with some fields changed.

    `replace` would run the constructor over all fields; a fold does this for every event.
    """
    made = object.__new__(State)
    made.__dict__.update(state.__dict__, **changes)
    return made


def start(event: Event) -> State:
    """The state after the first event."""
    if not isinstance(event, StudyCreated):
        raise Misuse("the study is damaged: it does not begin with its creation")
    plan = event.plan
    if plan.training.epochs > _MOST_EPOCHS:
        raise Misuse(f"the study is damaged: arms that may train {plan.training.epochs} epochs")
    return State(plan=plan, ledger=Ledger(plan.budget), unit=plan.training.unit)


def fold(events: Iterable[Event]) -> State:
    """The state after all events, of which there must be at least one."""
    stream = iter(events)
    first = next(stream, None)
    if first is None:
        raise Misuse("the study is empty: it has not been created")
    state = start(first)
    for event in stream:
        state = apply(state, event)
    return state


def apply(state: State, event: Event) -> State:
    """The state after one more event.

    Raises:
        Misuse: If the event contradicts the state.
    """
    if isinstance(event, StudyCreated):
        raise Misuse("the study is damaged: it was created twice")
    later = _changed(state, ledger=state.ledger.at(event.clock), events=state.events + 1)
    return _apply(event, later)


@singledispatch
def _apply(event: Event, state: State) -> State:
    raise Misuse(f"the study is damaged: event {state.events} is unknown: {event!r:.60}")


@_apply.register
def _(event: ArmsAdded, state: State) -> State:
    if not event.configs:
        raise Misuse("the study is damaged: no arms were added")
    children = _children(state, event)
    if state.arms is None or state.curves is None:
        arms = ArmList.of(state.plan.search.space, event.configs, state.plan.earlier)
        curves = Curves.empty(len(arms), state.plan.training.epochs)
    else:
        arms = state.arms.plus(event.configs)
        curves = state.curves.with_arms(len(arms))
    return _changed(
        state,
        arms=arms,
        curves=curves,
        batches=state.batches + (event.origin == "near"),
        children=(*state.children, *children),
        first_arms=state.first_arms if state.attempts else len(arms),
    )


@_apply.register
def _(event: Enqueued, state: State) -> State:
    if not all(0 <= arm < len(state.configs) for arm in event.arms):
        raise Misuse("the study is damaged: an arm was enqueued that is not there")
    waiting = (*state.queue, *(arm for arm in event.arms if arm not in state.tried))
    return _changed(state, queue=tuple(dict.fromkeys(waiting)))


@_apply.register
def _(event: Decided, state: State) -> State:
    if event.attempt != len(state.attempts):
        raise Misuse(f"the study is damaged: attempt {event.attempt} is out of order")
    if not 0 <= event.arm < len(state.configs) or state.arm(event.arm).closed is not None:
        raise Misuse(f"the study is damaged: arm {event.arm} cannot be trained")
    if event.done != state.count(event.arm) + state.flying_epochs(event.arm):
        raise Misuse(f"the study is damaged: arm {event.arm} is not at epoch {event.done}")
    attempt = Attempt(
        number=event.attempt,
        unit=Unit(event.arm, event.index, event.epochs),
        done=event.done,
        reserved=event.cost,
        expected_s=event.seconds,
        why=event.why,
        outlook=event.outlook,
        started=state.clock,
        worker=event.worker,
    )
    return _changed(
        state,
        ledger=state.ledger.reserve(event.attempt, event.cost),
        attempts=state.attempts.plus(attempt),
        open=(*state.open, event.attempt),
        open_arms=(*state.open_arms, event.arm),
        queue=tuple(arm for arm in state.queue if arm != event.arm),
        children=tuple(child for child in state.children if child.arm != event.arm),
    )


@_apply.register
def _(event: Extended, state: State) -> State:
    attempt = replace(_flying(state, event.attempt), reserved=event.cost)
    return _changed(
        state,
        ledger=state.ledger.extend(event.attempt, event.cost),
        attempts=state.attempts.changed(attempt),
    )


@_apply.register
def _(event: Restarted, state: State) -> State:
    attempt = replace(_flying(state, event.attempt), started=state.clock, worker=None)
    return _changed(state, attempts=state.attempts.changed(attempt))


@_apply.register
def _(event: Observed, state: State) -> State:
    attempt = _flying(state, event.attempt)
    arm = attempt.unit.arm
    if len(event.losses) != attempt.unit.epochs or state.curves is None:
        raise Misuse(f"the study is damaged: attempt {event.attempt} has the wrong losses")
    if attempt.done != state.count(arm):
        raise Misuse(f"the study is damaged: attempt {event.attempt} came before its turn")
    if not 0 <= event.rerun <= _MOST_EPOCHS:  # a trial of Ray may begin again several times
        raise Misuse(f"the study is damaged: attempt {event.attempt} trained too much again")
    before = state.arm(arm)
    first, paces = _timed(before, state, attempt, event)
    after = Arm(
        units=before.units + 1,
        ready=attempt.done + attempt.unit.epochs,
        saved=(*before.saved, *([event.saved] if event.saved else ()))[-GENERATIONS:],
        paces=paces,
        closed=before.closed,
        first=first,
    )
    ended = attempt.ended_as(
        "observed", event.cost, event.seconds, state.clock, metrics=event.metrics
    )
    return _changed(
        state,
        **_settled(state, ended),
        curves=state.curves.extend(arm, np.array(event.losses, float)),
        tried=state.tried.with_arm(arm, after),
        best=_better(state.best, attempt, event),
        longest_s=max(event.seconds, state.longest_s or 0.0),
        **_resized(state, attempt, event),
    )


@_apply.register
def _(event: Failed, state: State) -> State:
    attempt = _flying(state, event.attempt)
    arm = attempt.unit.arm
    before = state.arm(arm)
    after = replace(
        before,
        failures=before.failures + (event.kind not in BLAMELESS),
        closed=event.message if event.final else before.closed,
    )
    ended = attempt.ended_as(
        "failed",
        event.cost,
        event.seconds,
        state.clock,
        message=event.message,
        failure=event.kind,
        tail=event.tail,
    )
    tried = state.tried.with_arm(arm, after)
    return _changed(state, **_settled(state, ended), tried=tried, failures=state.failures + 1)


@_apply.register
def _(event: BudgetAdded, state: State) -> State:
    return _changed(state, ledger=state.ledger.add(event.more))


@_apply.register
def _(event: ArmClosed, state: State) -> State:
    after = replace(state.arm(event.arm), closed=event.reason)
    return _changed(state, tried=state.tried.with_arm(event.arm, after))


@_apply.register
def _(event: CheckpointDropped, state: State) -> State:
    before = state.arm(event.arm)
    kept = tuple(one for one in before.saved if one.generation != event.generation)
    ready = kept[-1].epochs if kept else 0
    if event.generation is not None:  # a live trainer or a newer checkpoint may still be ahead
        gone = [one.epochs for one in before.saved if one.generation == event.generation]
        ready = ready if before.ready in gone else before.ready
    after = replace(before, saved=kept, ready=ready)
    return _changed(state, tried=state.tried.with_arm(event.arm, after))


@_apply.register
def _(event: SessionStarted, state: State) -> State:
    if state.plan.trainer is None:  # ask and tell: whoever trains keeps the models
        return _changed(state, session=event, session_from=len(state.attempts), recent=())
    ready = {
        arm: replace(known, ready=known.saved[-1].epochs if known.saved else 0)
        for arm, known in state.tried.items()
    }
    tried = state.tried.with_arms(ready)
    begun = _changed(state, session=event, session_from=len(state.attempts), recent=())
    return _changed(begun, tried=tried, checkpoints_at=event.checkpoints)


@_apply.register
def _(event: SessionEnded, state: State) -> State:
    del event
    return _changed(state, session=None)


@_apply.register
def _(event: Rejected, state: State) -> State:
    del event
    return state


@_apply.register
def _(event: Noted, state: State) -> State:
    del event
    return state


def _children(state: State, event: ArmsAdded) -> list[Child]:
    """The added arms whose parents are known."""
    if not event.parents:
        return []
    if len(event.parents) != len(event.configs) or not all(map(state.count, event.parents)):
        raise Misuse("the study is damaged: arms were added near arms that were not tried")
    first = len(state.configs)
    return [
        Child(first + place, parent, state.lowest(parent))
        for place, parent in enumerate(event.parents)
    ]


def _flying(state: State, number: int) -> Attempt:
    if number not in state.open:
        raise Misuse(f"attempt {number} is not in flight")
    return state.attempts[number]


def _settled(state: State, ended: Attempt) -> dict[str, Any]:
    """What changes in the state when an attempt has ended: it is paid for."""
    place = state.open.index(ended.number)
    return {
        "ledger": state.ledger.settle(ended.number, ended.cost),
        "attempts": state.attempts.changed(ended),
        "open": (*state.open[:place], *state.open[place + 1 :]),
        "open_arms": (*state.open_arms[:place], *state.open_arms[place + 1 :]),
    }


def _timed(
    before: Arm, state: State, attempt: Attempt, event: Observed
) -> tuple[FirstUnit | None, tuple[float, ...]]:
    """An arm's first unit and later paces, with this unit's; one without time teaches nothing.

    The first unit of an arm is kept apart, and that of a worker that was just started counts only
    where nothing else is known of the arm.
    """
    training = event.seconds - event.setup_s
    epochs = attempt.unit.epochs + event.rerun
    if not training > 0:
        return before.first, before.paces
    new_worker = attempt.number < state.session_from + state.session_workers
    if before.units == 0:
        return FirstUnit(training, epochs, new_worker), before.paces
    if new_worker:
        return before.first, before.paces
    return before.first, (*before.paces, math.log(training / epochs))[-PACES:]


def _resized(state: State, attempt: Attempt, event: Observed) -> dict[str, Any]:
    """The recent reports with this one and the size of units after it, where units may grow."""
    training = state.plan.training
    if not training.grows:
        return {}
    seconds = max(0.0, event.seconds - event.setup_s - event.checkpoint_s)
    beside = max(0.0, event.clock - attempt.started - seconds)
    report = ReportedUnit(attempt.unit.epochs + event.rerun, seconds, beside)
    workers = state.session_workers
    recent = (*state.recent, report)[-window(workers) :]
    left = None if state.plan.budget.rules.by_time else state.ledger.left
    return {"recent": recent, "unit": unit_size(training, state.unit, recent, workers, left)}


def _better(best: Best | None, attempt: Attempt, event: Observed) -> Best | None:
    """The lowest finite loss, the earlier one if two are equal."""
    for place, loss in enumerate(event.losses):
        if math.isfinite(loss) and (best is None or loss < best.loss):
            epoch = attempt.done + place + 1
            best = Best(loss, attempt.unit.arm, epoch, attempt.number, event.saved)
    return best
