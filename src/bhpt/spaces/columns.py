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
"""What a number reads where its hyper-parameter is inactive: as far from either end."""


def min_max(numbers: FloatArray) -> FloatArray:
    """Scale to [0, 1] without overflow; a constant becomes no column at all, [K] to [K, 0 or 1]."""
    low, high = float(numbers.min()), float(numbers.max())
    width = high / 2 - low / 2
    if not width > 0:
        return np.zeros((len(numbers), 0))
    return np.clip((numbers / 2 - low / 2) / width, 0.0, 1.0)[:, None]


def one_hot(codes: Sequence[int], categories: int) -> FloatArray:
    """A column of height `CATEGORY` for each category, [K, C]; a negative code is no category."""
    chosen = np.asarray(codes)[:, None] == np.arange(categories)[None, :]
    return np.where(chosen, CATEGORY, 0.0)


def scatter(columns: FloatArray, active: BoolArray, fill: float) -> FloatArray:
    """Columns known for active configurations only, with `fill` for all others, [K, C]."""
    spread = np.full((len(active), columns.shape[1]), fill)
    spread[active] = columns
    return spread


def indicator(active: BoolArray) -> FloatArray:
    """A column that says where a conditional hyper-parameter is active, [K, 1]."""
    return np.where(active, CATEGORY, 0.0)[:, None]


def join(columns: Sequence[FloatArray], rows: int) -> FloatArray:
    """Side by side; one zero column if nothing varies, [K, D]."""
    flat = [block[:, j] for block in columns for j in range(block.shape[1])]
    return np.column_stack(flat) if flat else np.zeros((rows, 1))
