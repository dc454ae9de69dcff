"""Curves through their records: an epoch that is worse than one before it says nothing.

What a study keeps of a curve is its best loss so far, which stands still at every spike and then
falls by as much as was hidden. A Gaussian takes such a step for misfit. So an epoch between two
records counts as one on the straight line between them; after the last record the curve stays
where it is, since nobody knows yet whether it spikes or has turned upward.
"""

import numpy as np

from bhpt.domain import BoolArray, Curves, FloatArray


def are_records(curves: Curves) -> BoolArray:
    """Which epochs are at least as good as all before them, up to the longest curve, [V, n]."""
    losses = curves.losses[:, : curves.longest]
    usable = np.where(curves.observed & np.isfinite(losses), losses, np.inf)
    records: BoolArray = np.isfinite(usable) & (usable <= np.minimum.accumulate(usable, axis=1))
    return records


def through_records(values: FloatArray, records: BoolArray) -> FloatArray:
    """Best values so far, with straight lines from record to record, [V, n].

    Args:
        values: Best values so far, [V, n].
        records: Which epochs are records, [V, n].
    """
    rows, epochs = values.shape
    if not epochs:
        return values
    times = np.broadcast_to(np.arange(epochs), values.shape)
    last = np.maximum.accumulate(np.where(records, times, -1), axis=1)
    later = np.where(records, times, epochs)[:, ::-1]
    following = np.minimum.accumulate(later, axis=1)[:, ::-1]
    between = (last >= 0) & (following < epochs) & (following > last)
    row = np.arange(rows)[:, None]
    left = values[row, np.maximum(last, 0)]
    right = values[row, np.minimum(following, epochs - 1)]
    part = (times - last) / np.where(between, following - last, 1)
    return np.where(between, left + part * (right - left), values)
