"""Where a study stands: budget, best so far, what runs and why, what is still to be expected.

Everything follows from the state, so the same view can be drawn while a driver runs, from the
store of a running study, or of a moment long past.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from bhpt.domain import Curves, FloatArray, Objective
from bhpt.domain.budget import Budget
from bhpt.reports.prediction import Interval, Predict, StudyPrediction, predict_study
from bhpt.reports.worlds import is_spent
from bhpt.spaces import Config
from bhpt.study import State
from bhpt.study.attempts import Attempt
from bhpt.study.deciding import is_exhausted
from bhpt.study.state import BLAMELESS, Best

_SHOWN = 5  # arms in the table
_RECENT = 100  # attempts among which a failure is still news


@dataclass(frozen=True, slots=True)
class Flight:
    """A unit in flight.

    Attributes:
        arm: Which configuration.
        first: The first epoch that it trains.
        last: The last one.
        busy_s: For how long it has been running, on the study's clock.
        expected_s: How long it should take, None if that is unknown.
        why: Why this arm, in words.
        worker: On which worker, counted from 0; None where the log does not say.
    """

    arm: int
    first: int
    last: int
    busy_s: float
    expected_s: float | None
    why: str
    worker: int | None = None


@dataclass(frozen=True, eq=False)
class ArmStanding:
    """An arm as it stands.

    Attributes:
        arm: Which configuration.
        epochs: Observed epochs.
        best: Its best finite value of the metric.
        end: Where it would end with what is left, None where that is not predicted.
        curve: Its values of the metric, [n].
    """

    arm: int
    epochs: int
    best: float
    end: Interval | None
    curve: FloatArray


@dataclass(frozen=True, eq=False)
class Progress:
    """A look at a study. All values are those of its metric, in the user's direction.

    Attributes:
        budget: The limit.
        used: What is gone of it.
        promised: What units in flight have reserved.
        clock: Seconds for which the study has been running.
        left_s: Seconds until the budget is spent, None if the study is over or that is not known.
        best: The best so far; its `loss` is the value of the metric.
        config: The configuration that it was seen on.
        final: The predicted best at the end of the budget, None if the study is over or nothing is
            predicted.
        flights: What runs now.
        standings: The best arms, best first.
        tried: Arms that were trained.
        candidates: Arms that could be.
        reports: Units that were reported.
        failures: Attempts that were stopped or failed.
        objective: The metric and its direction.
    """

    budget: Budget
    used: float
    promised: float
    clock: float
    left_s: float | None
    best: Best | None
    config: Config | None
    final: Interval | None
    flights: tuple[Flight, ...]
    standings: tuple[ArmStanding, ...]
    tried: int
    candidates: int
    reports: int
    failures: int
    objective: Objective = field(default_factory=Objective)


def progress_of(
    state: State, clock: float | None = None, predict: Predict = predict_study
) -> Progress:
    """Where a study stands.

    Args:
        state: The study.
        clock: The study's clock now; the time of its last event if None.
        predict: Says what is to be expected of it.
    """
    ledger = state.ledger if clock is None else state.ledger.at(clock)
    best, objective = state.best, state.plan.objective
    over = is_spent(replace(state, ledger=ledger)) or (not state.open and is_exhausted(state))
    predicted = None if over else predict(state)
    return Progress(
        budget=ledger.budget,
        used=min(ledger.used, ledger.budget.amount),
        promised=ledger.held,
        clock=ledger.clock,
        left_s=None if over else ledger.budget.rules.seconds_left(ledger.used, ledger.clock),
        best=None if best is None else replace(best, loss=objective.from_loss(best.loss)),
        config=None if best is None else state.configs[best.arm],
        final=None if predicted is None else predicted.final.shown(objective),
        flights=tuple(_flight(attempt, ledger.clock) for attempt in state.flying),
        standings=_standings(state, predicted),
        tried=0 if state.curves is None else len(state.curves.visited),
        candidates=len(state.configs),
        reports=state.reports,
        failures=state.failures,
        objective=objective,
    )


def last_failure(state: State) -> Attempt | None:
    """The newest of the last attempts that failed through a fault of its own; None without one."""
    if not state.failures:
        return None
    recent = reversed(state.attempts[-_RECENT:])
    return next((one for one in recent if one.failure and one.failure not in BLAMELESS), None)


def _flight(attempt: Attempt, clock: float) -> Flight:
    return Flight(
        arm=attempt.unit.arm,
        first=attempt.done + 1,
        last=attempt.done + attempt.unit.epochs,
        busy_s=max(0.0, clock - attempt.started),
        expected_s=attempt.expected_s,
        why=attempt.why,
        worker=attempt.worker,
    )


def _standings(state: State, predicted: StudyPrediction | None) -> tuple[ArmStanding, ...]:
    curves = state.curves
    if curves is None:
        return ()
    rows = np.argsort(curves.best_by_row, kind="stable")[:_SHOWN]
    ends = {} if predicted is None else predicted.ends
    return tuple(_standing(state.plan.objective, curves, int(row), ends) for row in rows)


def _standing(
    objective: Objective, curves: Curves, row: int, ends: Mapping[int, Interval]
) -> ArmStanding:
    """An arm, with its predicted end where there is one that it has not overtaken since."""
    best = float(curves.best_by_row[row])
    predicted = ends.get(int(curves.visited[row]))
    end = None if predicted is None else predicted.at_best(best)
    curve = curves.losses[row, : curves.counts[row]]
    return ArmStanding(
        arm=int(curves.visited[row]),
        epochs=int(curves.counts[row]),
        best=objective.from_loss(best),
        end=None if end is None else end.shown(objective),
        curve=curve if objective.mode == "min" else -curve,
    )
