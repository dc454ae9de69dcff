"""Columns of encoded hyper-parameters: values in, numbers in [0, 1] out.

Notation:
    K  configurations, C  columns that one hyper-parameter takes.
"""

from collections.abc import Sequence

import numpy as np

from bhpt.domain import BoolArray, FloatArray

CATEGORY = 0.5
"""One-hot height: two unequal categories lie √½ apart, less than the two ends of a range."""

NEUTRAL = 0.5
"""Value of a number's column where its hyper-parameter is inactive: the middle of the range."""


def min_max(numbers: FloatArray) -> FloatArray:
    """Scale to [0, 1] without overflow, [K] to [K, 1]; a constant gives no column, [K, 0]."""
    low, high = float(numbers.min()), float(numbers.max())
    width = high / 2 - low / 2
    if not width > 0:
        return np.zeros((len(numbers), 0))
    return np.clip((numbers / 2 - low / 2) / width, 0.0, 1.0)[:, None]


def one_hot(codes: Sequence[int], categories: int) -> FloatArray:
    """One column for each category, `CATEGORY` where it is chosen, else 0, [K, C].

    A negative code belongs to no category, so its row is zero.
    """
    chosen = np.asarray(codes)[:, None] == np.arange(categories)[None, :]
    return np.where(chosen, CATEGORY, 0.0)


def scatter(columns: FloatArray, active: BoolArray, fill: float) -> FloatArray:
    """Columns of the active configurations, extended with `fill` for all others, [K, C]."""
    spread = np.full((len(active), columns.shape[1]), fill)
    spread[active] = columns
    return spread


def indicator(active: BoolArray) -> FloatArray:
    """One column: `CATEGORY` where a conditional hyper-parameter is active, else 0, [K, 1]."""
    return np.where(active, CATEGORY, 0.0)[:, None]


def join(columns: Sequence[FloatArray], rows: int) -> FloatArray:
    """Concatenate columns, [K, D]; a single zero column if there are none."""
    flat = [block[:, j] for block in columns for j in range(block.shape[1])]
    return np.column_stack(flat) if flat else np.zeros((rows, 1))
