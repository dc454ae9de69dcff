"""Drawings as matplotlib figures."""

from typing import TYPE_CHECKING, Any

from bhpt.plot.drawing import COLORS, Band, Bars, Drawing, Line, Panel, Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 9.0, 5.5  # inches


def draw(drawing: Drawing) -> "Figure":
    """A figure that is not registered with pyplot: it need not be closed."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
    heights = [panel.height for panel in drawing.panels]
    rows: Any = figure.subplots(
        len(heights), 1, sharex=len(heights) > 1, squeeze=False, height_ratios=heights
    )
    for axes, panel in zip(rows[:, 0], drawing.panels, strict=True):
        _draw_panel(axes, panel)
    rows[0, 0].set_title(_plain(drawing.title))
    return figure


def _draw_panel(axes: "Axes", panel: Panel) -> None:
    for one in panel.series:
        if isinstance(one, Line):
            _draw_line(axes, one)
        elif isinstance(one, Band):
            axes.fill_between(one.x, one.low, one.high, color=one.color, alpha=one.alpha, lw=0)
        elif isinstance(one, Points):
            _draw_points(axes, one)
        else:
            _draw_bars(axes, one)
    axes.set_xlabel(_plain(panel.x_label))
    axes.set_ylabel(_plain(panel.y_label))
    if panel.x_scale == "log":
        axes.set_xscale("log")
    if panel.y_scale == "log":
        axes.set_yscale("log")
    if panel.ticks:
        axes.set_xticks([at for at, _ in panel.ticks], [_plain(text) for _, text in panel.ticks])
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="small", frameon=False, ncols=2)


def _draw_line(axes: "Axes", line: Line) -> None:
    axes.plot(
        [_plain(x) if isinstance(x, str) else x for x in line.x],
        line.y,
        label=_plain(line.name) or None,
        color=line.color,
        linewidth=line.width,
        alpha=line.alpha,
        linestyle=":" if line.is_dotted else "-",
        drawstyle="steps-post" if line.is_step else "default",
        marker="o" if line.has_points else None,
        markersize=3,
    )


def _draw_points(axes: "Axes", points: Points) -> None:
    axes.errorbar(
        [_plain(x) if isinstance(x, str) else x for x in points.x],
        points.y,
        yerr=[list(points.below), list(points.above)] if points.below else None,
        fmt="o",
        label=_plain(points.name) or None,
        color=points.color,
        markersize=points.size,
        elinewidth=1,
        capsize=2,
    )


def _draw_bars(axes: "Axes", bars: Bars) -> None:
    axes.barh([_plain(name) for name in bars.names], bars.lengths, color=COLORS[0])
    axes.invert_yaxis()


def _plain(text: str) -> str:
    """A text without the sign that begins a formula."""
    return text.replace("$", r"\$")
