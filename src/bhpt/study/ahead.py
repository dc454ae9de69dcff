"""Deciding ahead: the next unit is chosen while the one before it still trains.

A worker that has nothing to do until its report is logged and the next unit is decided waits as
long as that takes, which is longer than a short unit trains. So its next unit is decided while it
trains, as if the unit in flight came out as the study's predictor expects, or as first units of
other arms did if it is the first of its arm. What it really brings is taken into account one
decision later.

Only under a deadline, where waiting costs budget: elsewhere the same seed makes the same decisions.
"""

from dataclasses import replace

import numpy as np

from bhpt.beliefs.predictor import Predictor
from bhpt.domain import Curves, FloatArray, Memory
from bhpt.study.events import Observed
from bhpt.study.pricing import look
from bhpt.study.state import Attempt, State, apply


def expected_state(
    state: State, number: int, clock: float, predictor: Predictor, memory: Memory | None = None
) -> State | None:
    """The study at the end of a unit in flight, if that ends as predicted.

    Args:
        state: The study.
        number: Which attempt; no other unit of its arm may have been decided before it.
        clock: When it is expected to end.
        predictor: The study's predictor.
        memory: What the predictor has prepared for the study.

    Returns:
        None if nothing is predicted of its arm, or nothing could be started anyway.
    """
    attempt, curves = state.attempts[number], state.curves
    losses = _expected_losses(state, attempt, predictor, memory)
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


def _expected_losses(
    state: State, attempt: Attempt, predictor: Predictor, memory: Memory | None
) -> FloatArray | None:
    """The losses of a unit in flight, from where its arm is evenly to where it is expected."""
    looked = look(state)
    if looked is None:
        return None
    view, arm, epochs = looked[0], attempt.unit.arm, attempt.unit.epochs
    now = state.lowest(arm)
    if np.isfinite(now):
        view = replace(view, memory=memory or view.memory)
        units = np.full(view.arms, -(-epochs // view.unit))
        end = float(predictor.predict(view).within(units).mean()[arm])
    else:
        now = end = _usual_start(view.curves, epochs)
    return np.linspace(now, end, epochs + 1)[1:] if np.isfinite(end) else None


def _usual_start(curves: Curves, epochs: int) -> float:
    """What arms usually reach within their first epochs: the median of those that were trained."""
    losses = curves.losses[:, : min(epochs, curves.longest)]
    usable = np.isfinite(losses) & curves.observed[:, : losses.shape[1]]
    lowest = losses.min(axis=1, initial=np.inf, where=usable)
    lowest = lowest[np.isfinite(lowest)]
    return float(np.median(lowest)) if len(lowest) else float("nan")
