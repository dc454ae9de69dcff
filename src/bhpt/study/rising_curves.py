"""The warning that nearly all curves rise: a metric is minimised that should be maximised.

A trainer that returns an accuracy looks like one whose every model gets worse with training, and
the study would output the worst one. Nothing is changed; one line says what to do.
"""

import numpy as np

from bhpt.study.state import State

_CURVES = 4  # fewer are no evidence
_EPOCHS = 3  # of a curve, at least
_SHARE = 0.9  # of the curves must rise


def note_of_rising_curves(state: State) -> str | None:
    """One line if nearly all curves get worse under "min"; None otherwise.

    Curves are looked at when the number of reports is a power of two, so that all looks together
    cost no more than one at the end.
    """
    objective, reports = state.plan.objective, state.reports
    if objective.mode == "max" or state.curves is None or reports < _CURVES:
        return None
    if reports & (reports - 1):
        return None
    curves = state.curves
    long = np.flatnonzero(curves.counts >= _EPOCHS)
    rising = [_rises(curves.losses[row, : curves.counts[row]]) for row in long]
    if len(rising) < _CURVES or np.mean(rising) < _SHARE:
        return None
    return (
        f"{sum(rising)} of {len(rising)} curves of {objective.metric!r} rise while it is "
        'minimised: if higher is better, start a new study with mode="max" (--mode max)'
    )


def _rises(losses: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    """Whether a curve ends above its start, and its later half lies above its earlier one."""
    finite = losses[np.isfinite(losses)]
    if len(finite) < _EPOCHS:
        return False
    half = len(finite) // 2
    return bool(finite[-1] > finite[0] and finite[-half:].mean() > finite[:half].mean())
