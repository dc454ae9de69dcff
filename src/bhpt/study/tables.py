"""A study as tables: one row an epoch, an arm or an attempt; and all of it as one JSON value.

A table has the same columns for every row, plain values only, and no NaN in JSON: losses that
are not finite are written there as the text "nan", "inf" or "-inf". Where the study's metric is
maximised, what is called a loss here is the metric's own value, in the user's direction.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from bhpt.domain.reports import Metrics
from bhpt.study import State
from bhpt.study.attempts import Attempt

TableName = Literal["epochs", "arms", "attempts"]
Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns in order, and rows that have them all; None where there is no value."""

    columns: tuple[str, ...]
    rows: list[Row]


def table(state: State, name: TableName) -> Table:
    """One of the tables of a study."""
    return _TABLES[name](state)


def epochs_table(state: State) -> Table:
    """Every observed epoch once: which arm and unit, what was measured, and its settings."""
    names = _hyper_parameters(state)
    metrics = _metric_columns(state)
    columns = (
        *("arm", "unit", "epoch", "loss", "attempt", "seconds"),
        *metrics.values(),
        *names.values(),
    )
    rows: list[Row] = []
    for attempt in state.attempts:
        if attempt.status != "observed" or state.curves is None:
            continue
        arm = attempt.unit.arm
        losses = _losses(state, arm)
        measured = attempt.metrics or ({},) * attempt.unit.epochs
        rows += [
            {
                "arm": arm,
                "unit": attempt.unit.index,
                "epoch": epoch + 1,
                "loss": losses[epoch],
                "attempt": attempt.number,
                "seconds": attempt.seconds / attempt.unit.epochs,
                **_settings(measured[epoch - attempt.done], metrics),
                **_settings(state.configs[arm], names),
            }
            for epoch in range(attempt.done, attempt.done + attempt.unit.epochs)
        ]
    return Table(columns, rows)


def arms_table(state: State) -> Table:
    """Every arm that was tried: how far, how good, what it cost, and its settings."""
    names = _hyper_parameters(state)
    columns = ("arm", "epochs", "best", "last", "cost", "seconds", "closed", *names.values())
    attempts: dict[int, list[Attempt]] = {}
    for attempt in state.attempts:
        attempts.setdefault(attempt.unit.arm, []).append(attempt)
    rows: list[Row] = []
    for arm in sorted(state.tried):
        losses = _losses(state, arm)
        finite = [loss for loss in losses if math.isfinite(loss)]
        own = attempts.get(arm, [])
        rows.append(
            {
                "arm": arm,
                "epochs": len(losses),
                "best": min(finite, key=state.plan.objective.to_loss, default=None),
                "last": losses[-1] if losses else None,
                "cost": sum(attempt.cost for attempt in own),
                "seconds": sum(attempt.seconds for attempt in own),
                "closed": state.arm(arm).closed,
                **_settings(state.configs[arm], names),
            }
        )
    return Table(columns, rows)


def attempts_table(state: State) -> Table:
    """Every attempt at a unit, failed ones included; their costs add up to what was spent."""
    columns = (
        *("attempt", "arm", "unit", "done", "epochs", "status", "started", "seconds"),
        *("reserved", "cost", "why", "message", "worker"),
    )
    rows: list[Row] = [
        {
            "attempt": attempt.number,
            "arm": attempt.unit.arm,
            "unit": attempt.unit.index,
            "done": attempt.done,
            "epochs": attempt.unit.epochs,
            "status": attempt.status,
            "started": attempt.started,
            "seconds": attempt.seconds,
            "reserved": attempt.reserved,
            "cost": attempt.cost,
            "why": attempt.why,
            "message": attempt.message,
            "worker": attempt.worker,
        }
        for attempt in state.attempts
    ]
    return Table(columns, rows)


def as_json(state: State) -> Row:
    """All of a study as one JSON value."""
    best, objective = state.best, state.plan.objective
    metrics = _metrics_by_arm(state)
    whole = {
        "plan": {**asdict(state.plan), "budget": asdict(state.ledger.budget)},
        "used": state.ledger.used,
        "left": state.ledger.left,
        "spent": state.ledger.spent,
        "clock": state.clock,
        "best": None
        if best is None
        else {
            **asdict(best),
            "loss": objective.from_loss(best.loss),
            "config": state.configs[best.arm],
        },
        "arms": [
            {
                "arm": arm,
                "config": state.configs[arm],
                "losses": _losses(state, arm),
                "metrics": metrics.get(arm, []),
            }
            for arm in sorted(state.tried)
        ],
        "attempts": attempts_table(state).rows,
    }
    made: Row = _finite(whole)  # type: ignore[assignment]  # a dictionary stays one
    return made


_TABLES: dict[TableName, Callable[[State], Table]] = {
    "epochs": epochs_table,
    "arms": arms_table,
    "attempts": attempts_table,
}


def _losses(state: State, arm: int) -> list[float]:
    """What was observed of an arm, in the user's direction."""
    losses = [] if state.curves is None else state.curves.of_arm(arm).tolist()
    return [state.plan.objective.from_loss(loss) for loss in losses]


def _metrics_by_arm(state: State) -> dict[int, list[Metrics]]:
    """What was reported of every epoch, for the arms of which more than numbers was."""
    found: dict[int, list[Metrics]] = {}
    for attempt in state.attempts:
        if attempt.status == "observed":
            epochs = attempt.metrics or ({},) * attempt.unit.epochs
            found.setdefault(attempt.unit.arm, []).extend(epochs)
    return {arm: epochs for arm, epochs in found.items() if any(epochs)}


def _metric_columns(state: State) -> dict[str, str]:
    """From the metrics that were reported to columns of their own."""
    names = dict.fromkeys(
        name for attempt in state.attempts for metrics in attempt.metrics for name in metrics
    )
    return {name: f"metric.{name}" for name in names}


def _hyper_parameters(state: State) -> dict[str, str]:
    """Column name of every hyper-parameter of the arms that were tried, by its own name."""
    names = dict.fromkeys(name for arm in sorted(state.tried) for name in state.configs[arm])
    return {name: f"config.{name}" for name in names}


def _settings(values: Mapping[str, object], names: dict[str, str]) -> Row:
    return {column: values.get(name) for name, column in names.items()}


def _finite(value: object) -> object:
    """The value with non-finite floats replaced by text, since JSON has none."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return value
