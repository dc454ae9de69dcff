"""Deciding ahead: the next unit is chosen while the one before it still trains.

A worker that has nothing to do until its report is logged and the next unit is decided waits as
long as that takes, which is longer than a short unit trains. So its next unit is decided while it
trains, as if the unit in flight came out as the study's predictor expects. What it really brings
is taken into account one decision later.

Only under a deadline, where waiting costs budget: elsewhere the same seed makes the same decisions.
"""

from dataclasses import replace

import numpy as np

from bhpt.beliefs.predictor import Predictor
from bhpt.domain import FloatArray, Memory, View
from bhpt.study.events import Observed
from bhpt.study.pricing import look
from bhpt.study.state import Attempt, State, apply


def expected_state(state: State, number: int, clock: float, predictor: Predictor) -> State | None:
    """The study at the end of a unit in flight, if that ends as predicted.

    Args:
        state: The study.
        number: Which attempt; no other unit of its arm may have been decided before it.
        clock: When it is expected to end.
        predictor: The study's predictor.

    Returns:
        None if nothing is predicted of its arm, or nothing could be started anyway.
    """
    attempt, curves = state.attempts[number], state.curves
    losses = _expected_losses(state, attempt, predictor)
    if losses is None or curves is None:
        return None
    seconds = attempt.expected_s or 0.0
    report = Observed(
        attempt=number,
        losses=tuple(losses.tolist()),
        seconds=seconds,
        setup_s=seconds,  # teaches nothing about how long epochs take
        rerun=0,
        cost=attempt.reserved,
        saved=None,
        clock=clock,
    )
    ended = apply(replace(state, curves=curves.apart()), report)
    return replace(ended, unit=state.unit, recent=state.recent, longest_s=state.longest_s)


def _expected_losses(state: State, attempt: Attempt, predictor: Predictor) -> FloatArray | None:
    """The losses of a unit in flight, from where its arm is evenly to where it is expected."""
    looked = look(state)
    if looked is None:
        return None
    view, arm = looked[0], attempt.unit.arm
    units = -(-attempt.unit.epochs // view.unit)
    end = _expected_end(view, arm, units, predictor)
    if not np.isfinite(end):
        return None
    now = state.lowest(arm)
    begin = now if np.isfinite(now) else end
    return np.linspace(begin, end, attempt.unit.epochs + 1)[1:]


def _expected_end(view: View, arm: int, units: int, predictor: Predictor) -> float:
    """The lowest loss of an arm after some more units; NaN if nothing is predicted.

    Of many untried arms a predictor looks at some only, so this is the only one it is shown.
    """
    alone = np.arange(view.arms) == arm
    view = replace(view, startable=alone, pending=view.pending[:0], memory=Memory())
    return float(predictor.predict(view).within(np.where(alone, units, 0)).mean()[arm])
