"""Convert what a trainer returns to losses and metrics.

A trainer reports an epoch as a number, which is the value of the objective's metric, or as a
mapping from names to numbers that holds it; several epochs come as a list of either.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bhpt.domain.errors import Misuse
from bhpt.domain.objective import Objective

Metrics = dict[str, float]
"""Everything that was measured after one epoch, by name, in the user's direction."""

_LONGEST = 60  # characters of a bad value that are shown
_NAMED = 8  # metrics that are named where the one that counts is missing


class BadReport(Misuse):
    """What was reported cannot be used: no number, no such metric, too few or too many epochs."""


@dataclass(frozen=True, slots=True)
class EpochReport:
    """What one epoch of training gave.

    Attributes:
        loss: The objective's metric as a loss; NaN and infinity are kept, they mean divergence.
        metrics: Everything that was reported with it; empty if it was a bare number.
    """

    loss: float
    metrics: Metrics = field(default_factory=dict)


def read_reports(value: object, objective: Objective, where: str) -> tuple[EpochReport, ...]:
    """One epoch or a list of them.

    Zero-dimensional arrays and tensors of any library count as numbers, truth values do not.

    Args:
        value: What the trainer returned.
        objective: Which metric counts, and in which direction.
        where: The function that returned it, for the message.

    Raises:
        BadReport: It holds no number, or not the metric that counts, or the list is empty.
    """
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return (_epoch(value, objective, where),)
    if not value:
        raise BadReport(f"{where} gave an empty list: give one {objective.metric} for each epoch")
    return tuple(_epoch(one, objective, where) for one in value)


def _epoch(value: object, objective: Objective, where: str) -> EpochReport:
    if not isinstance(value, Mapping):
        return EpochReport(objective.to_loss(_number(value, objective.metric, where)))
    metrics = {_name(name, where): _number(one, name, where) for name, one in value.items()}
    if objective.metric not in metrics:
        raise BadReport(
            f"{where} gave {_names(metrics)} but no {objective.metric!r}: add it, or start a new "
            "study with another metric (--metric NAME)"
        )
    return EpochReport(objective.to_loss(metrics[objective.metric]), metrics)


def _name(name: object, where: str) -> str:
    if not isinstance(name, str):
        raise BadReport(f"{where} gave a metric named {name!r:.60}: names of metrics are text")
    return name


def _names(metrics: Metrics) -> str:
    shown = ", ".join(repr(name)[:_LONGEST] for name in list(metrics)[:_NAMED])
    return shown + (", ..." if len(metrics) > _NAMED else "") if metrics else "an empty mapping"


def _number(value: object, what: object, where: str) -> float:
    if not isinstance(value, bool | np.bool_ | str | bytes) and hasattr(value, "__float__"):
        try:
            return float(value)
        except (TypeError, ValueError, RuntimeError, OverflowError):
            pass  # an array of several numbers says so here; the line below names it
    shown = " ".join(repr(value).split())
    shown = shown if len(shown) <= _LONGEST else shown[: _LONGEST - 3] + "..."
    raise BadReport(
        f"{where} gave {shown} ({type(value).__name__}), which is not a number: {what} must be one"
    )
