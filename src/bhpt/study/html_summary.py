"""A study in a notebook: a small table and its curves, as HTML without any script.

Everything that comes from a study is escaped, and colours follow the notebook's theme.
"""

from collections.abc import Sequence
from html import escape

import numpy as np

from bhpt.domain import Curves, FloatArray, Objective
from bhpt.domain.words import counted
from bhpt.study.state import State

TableRows = Sequence[tuple[str, str]]

_WIDTH, _HEIGHT = 420, 130  # of the curves, in pixels
_CURVES = 60  # that are drawn: the best ones
_STEPS = 100  # points of one curve at most
_LONGEST = 80  # characters of a value


def summary_html(state: State, rows: TableRows = ()) -> str:
    """Where a study stands.

    Args:
        state: The study.
        rows: Further lines of the table: what is predicted, what runs.
    """
    ledger, best, objective = state.ledger, state.best, state.plan.objective
    shown = [("budget", ledger.budget.rules.used_text(ledger.used))]
    if best is None:
        shown.append((f"best {objective.metric}", "none yet"))
    else:
        value = f"{objective.from_loss(best.loss):.5g}"
        shown.append((f"best {objective.metric}", f"{value} (arm {best.arm}, epoch {best.epoch})"))
        shown += [(f"  {name}", _text(value)) for name, value in state.configs[best.arm].items()]
    tried = 0 if state.curves is None else len(state.curves.visited)
    units = counted(state.reports, "unit")
    shown.append(("tried", f"{tried} of {len(state.configs)} configurations, {units}"))
    curves = "" if state.curves is None else curves_svg(state.curves, objective)
    return f"<div>{table_html([*shown, *rows])}{curves}</div>"


def table_html(rows: TableRows) -> str:
    """Names and values as a table of two columns."""
    left = 'style="text-align:left"'
    lines = "".join(
        f"<tr><th {left}>{escape(name).replace('  ', '&emsp;')}</th>"
        f"<td {left}>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table>{lines}</table>"


def curves_svg(curves: Curves, objective: Objective) -> str:
    """The best learning curves as a small picture, the best one thick; empty if there is none."""
    order = np.argsort(curves.best_by_row, kind="stable")
    rows = order[np.isfinite(curves.best_by_row[order])][:_CURVES]
    if not len(rows) or curves.longest < 2:
        return ""
    values = [_thinned(curves.losses[row, : curves.counts[row]]) for row in rows]
    finite = np.concatenate([y[np.isfinite(y)] for _, y in values])
    low, high = float(finite.min()), float(np.quantile(finite, 0.98))
    lines = "".join(
        _line(x / curves.longest, (y - low) / (high - low or 1.0), is_best=place == 0)
        for place, (x, y) in reversed(list(enumerate(values)))
    )
    better = "lower" if objective.mode == "min" else "higher (drawn downwards)"
    label = f"learning curves of {len(rows)} configurations, {better} is better"
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{label}" style="max-width:100%">{lines}</svg>'
    )


def _thinned(losses: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Epochs and losses of a curve, at most a hundred of them."""
    kept = np.unique(np.linspace(0, len(losses) - 1, _STEPS).round().astype(int))
    return kept + 1.0, losses[kept]


def _line(x: FloatArray, y: FloatArray, *, is_best: bool) -> str:
    """A curve from parts of the width and the height."""
    usable = np.isfinite(y)
    down = np.clip(1 - y[usable], 0.0, 1.0) * (_HEIGHT - 4) + 2
    points = " ".join(
        f"{across * _WIDTH:.1f},{at:.1f}" for across, at in zip(x[usable], down, strict=True)
    )
    style = 'stroke-width="2.5"' if is_best else 'stroke-width="1" opacity="0.35"'
    return f'<polyline points="{points}" fill="none" stroke="currentColor" {style}/>'


def _text(value: object) -> str:
    """A setting, not longer than a line."""
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
