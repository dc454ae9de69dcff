"""Closed forms that price an action; all of them pure functions of Gaussians.

Notation:
    Z  standard normal      φ, Φ  its density and distribution function
    E min_k {b_k + s_k Z} is a sum over the pieces of the lower envelope of the lines
"""

import numpy as np
from scipy.special import ndtr

from bhpt.beliefs.expected_min import density
from bhpt.domain import BoolArray, FloatArray, IntArray

FAR = 9.0  # P(|Z| > 9) < 3e-19: an envelope beyond it changes no double
_TIE = 1e-9  # values closer than this, relative to their size, are a tie


def expected_min_lines(intercepts: FloatArray, slopes: FloatArray) -> FloatArray:
    """E min_k {b_k + s_k Z} for each row of lines, [A] from [A, M] and [A, M]; exact.

    Walks along the lower envelope of every row at once: at each turn a row moves on to the
    line that crosses its current one next. Infinite intercepts stand for no line.
    """
    rows = np.arange(len(intercepts))
    current = np.argmin(intercepts - FAR * slopes, axis=1)
    start = np.full(len(rows), -np.inf)
    total = np.zeros(len(rows))
    active = rows
    while active.size:
        b, s = intercepts[active], slopes[active]
        here = np.arange(len(active))
        b_now, s_now = b[here, current[active]], s[here, current[active]]
        falling = s_now[:, None] - s
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = np.where(falling > 0, (b - b_now[:, None]) / falling, np.inf)
        following = np.argmin(crossing, axis=1)
        stop = crossing[here, following]
        stop = np.where(stop < FAR, stop, np.inf)
        total[active] += b_now * (ndtr(stop) - ndtr(start[active]))
        total[active] += s_now * (density(start[active]) - density(stop))
        start[active], current[active] = stop, following
        active = active[np.isfinite(stop)]
    return total


def pick(values: FloatArray, allowed: BoolArray, rng: np.random.Generator) -> int:
    """The allowed arm of the lowest value; ties are drawn, so that no order of arms is favoured."""
    arms: IntArray = np.flatnonzero(allowed)
    lowest = values[arms].min()
    if not np.isfinite(lowest):
        return int(rng.choice(arms))
    tied = arms[values[arms] <= lowest + _TIE * (1 + abs(lowest))]
    return int(tied[0] if len(tied) == 1 else rng.choice(tied))
