"""Figures of a study from Python: one function each, drawn by matplotlib or by plotly.

    bhpt.plot.curves("runs/net.db")                       # a matplotlib figure
    bhpt.plot.curves("runs/net.db", backend="plotly")     # a plotly figure

A study is its file or address, a `Study`, a `Result` or a `State`.
"""

from bhpt.plot.figures import (
    compare,
    curves,
    decision,
    forecast,
    importance,
    parallel,
    progress,
    slices,
    timeline,
)

__all__ = [
    "compare",
    "curves",
    "decision",
    "forecast",
    "importance",
    "parallel",
    "progress",
    "slices",
    "timeline",
]
