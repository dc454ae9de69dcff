"""Drawings as plotly figures."""

from html import escape
from typing import TYPE_CHECKING, Any

from bhpt.plot.drawing import COLORS, Band, Bars, Drawing, Line, Panel, Points

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def draw(drawing: Drawing) -> "Figure":
    """A plotly figure."""
    from plotly.subplots import make_subplots

    heights = [panel.height for panel in drawing.panels]
    figure = make_subplots(
        rows=len(heights),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.06,
        row_heights=[height / sum(heights) for height in heights],
    )
    for row, panel in enumerate(drawing.panels, start=1):
        for one in panel.series:
            figure.add_trace(_trace(one), row=row, col=1)
        _style(figure, panel, row, is_last=row == len(heights))
    figure.update_layout(title=escape(drawing.title), template="simple_white")
    return figure


def _trace(one: Line | Band | Points | Bars) -> dict[str, Any]:
    if isinstance(one, Line):
        return _line(one)
    if isinstance(one, Band):
        return {
            "type": "scatter",
            "x": [*one.x, *reversed(one.x)],
            "y": [*one.high, *reversed(one.low)],
            "fill": "toself",
            "fillcolor": _faint(one.color, one.alpha),
            "line": {"width": 0},
            "hoverinfo": "skip",
            "showlegend": False,
        }
    if isinstance(one, Points):
        return _points(one)
    names = [escape(name) for name in reversed(one.names)]
    lengths = list(reversed(one.lengths))
    return {
        "type": "bar",
        "orientation": "h",
        "x": lengths,
        "y": names,
        "marker": {"color": COLORS[0]},
        "showlegend": False,
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if line.has_points else "lines",
        "x": [escape(x) if isinstance(x, str) else x for x in line.x],
        "y": list(line.y),
        "name": escape(line.name),
        "showlegend": bool(line.name),
        "opacity": line.alpha,
        "line": {
            "color": line.color,
            "width": line.width,
            "dash": "dot" if line.is_dotted else "solid",
            "shape": "hv" if line.is_step else "linear",
        },
    }


def _points(points: Points) -> dict[str, Any]:
    made: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "x": [escape(x) if isinstance(x, str) else x for x in points.x],
        "y": list(points.y),
        "name": escape(points.name),
        "showlegend": bool(points.name),
        "marker": {"color": points.color, "size": points.size + 2},
        "text": [escape(text) for text in points.texts] or None,
    }
    if points.below:
        made["error_y"] = {
            "type": "data",
            "symmetric": False,
            "array": list(points.above),
            "arrayminus": list(points.below),
        }
    return made


def _style(figure: "Figure", panel: Panel, row: int, *, is_last: bool) -> None:
    """Labels and scales of one panel."""
    scale = None if panel.x_scale == "linear" else panel.x_scale
    horizontal: dict[str, Any] = {"type": scale}
    if is_last:
        horizontal["title"] = {"text": escape(panel.x_label)}
    if panel.ticks:
        horizontal["tickvals"] = [at for at, _ in panel.ticks]
        horizontal["ticktext"] = [escape(text) for _, text in panel.ticks]
    figure.update_xaxes(row=row, col=1, **horizontal)
    figure.update_yaxes(
        row=row,
        col=1,
        title={"text": escape(panel.y_label)},
        type="log" if panel.y_scale == "log" else None,
    )


def _faint(color: str, alpha: float) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha})"
