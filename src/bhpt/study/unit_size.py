"""How many epochs make a unit: enough that training outweighs what a unit costs beside it.

A decision, an entry in the log, a checkpoint and a message to a worker cost the same however
short a unit is. Where epochs are shorter than that, several of them make a unit. What a unit costs
beside its training is measured as it runs: the time from its decision to its report in which it did
not train. The mean over the last units counts, none with more than twice the median: workers that
start or fail change nothing.

A budget in epochs loses nothing by short units but a person's patience, and decides best with them:
there they grow only where the rest of the study would wait long for its tuner, and only as far as
it takes to wait no longer. How long that is depends on the machine, so in such a study the same
seed may lead to other decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from bhpt.study.plan import Training

_SHARE = 12.0  # training outweighs what is beside it by this factor: workers train 92% of the time
_ROOM = 1.25  # units are made so many times as long as needed, so that they seldom change
_LARGEST = 2  # units that a full training has at least, so that bad arms are left early
_FEWER = 4  # a unit is made smaller only if it is this many times as long as needed
_LEAST = 4  # reports before anything is changed
_EACH = 2  # and for each worker
_ODD = 2.0  # no unit counts with more than so many times the median of what is beside one
_PATIENCE_S = 30.0  # a study that counts epochs may wait so long for its tuner, in all


@dataclass(frozen=True, slots=True)
class ReportedUnit:
    """A reported unit.

    Attributes:
        epochs: Epochs that it trained.
        training_s: Seconds in which it trained them.
        beside_s: Seconds from its decision to its report in which it did not.
    """

    epochs: int
    training_s: float
    beside_s: float


def window(workers: int) -> int:
    """How many of the last reports are looked at."""
    return max(_LEAST, _EACH * workers)


def unit_size(
    training: Training,
    now: int,
    recent: Sequence[ReportedUnit],
    workers: int,
    epochs_left: float | None = None,
) -> int:
    """Epochs of the units from here on.

    Args:
        training: How arms are trained: units are multiples of its `unit`.
        now: Epochs of a unit so far; it grows up to a limit, and seldom shrinks.
        recent: The last reports of this session.
        workers: How many train side by side.
        epochs_left: What is left of a budget that counts epochs; None if time is part of it.
    """
    if len(recent) < window(workers):
        return now
    beside = _usual_beside_s(recent)
    patient = None if epochs_left is None else epochs_left * beside / (_PATIENCE_S * workers)
    if patient is not None and patient < now:
        return now
    epoch_s = float(np.median([one.training_s / one.epochs for one in recent]))
    if not epoch_s > 0:
        return now
    wanted = ceil(_SHARE * beside / epoch_s)
    if patient is not None:
        wanted = min(wanted, ceil(patient))
    if now >= wanted > now / _FEWER:
        return now
    unit = training.unit
    most = max(1, training.epochs // _LARGEST // unit) * unit
    return min(max(1, ceil(_ROOM * wanted / unit)) * unit, most)


def _usual_beside_s(recent: Sequence[ReportedUnit]) -> float:
    """What a unit costs beside its training, as a mean over units without the odd ones."""
    beside = np.array([one.beside_s for one in recent])
    return float(np.minimum(beside, _ODD * np.median(beside)).mean())
