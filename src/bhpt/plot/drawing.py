"""A figure as plain values, before any library draws it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

AxisScale = Literal["linear", "log", "category"]

COLORS = (
    "#1f77b4",
    "#d95f02",
    "#1b9e77",
    "#7570b3",
    "#e7298a",
    "#66a61e",
    "#a6761d",
    "#e6ab02",
)
GREY = "#8a93a3"


@dataclass(frozen=True, slots=True)
class Line:
    """A line; NaN breaks it.

    Attributes:
        x: Where.
        y: Its values.
        name: In the legend; none if empty.
        color: As `#rrggbb`.
        width: In points.
        alpha: How opaque it is.
        is_step: Whether it keeps its value until the next point.
        is_dotted: Whether it is dotted.
        has_points: Whether its points are marked.
    """

    x: Sequence[float | str]
    y: Sequence[float]
    name: str = ""
    color: str = COLORS[0]
    width: float = 1.5
    alpha: float = 1.0
    is_step: bool = False
    is_dotted: bool = False
    has_points: bool = False


@dataclass(frozen=True, slots=True)
class Band:
    """What lies between two lines."""

    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    color: str
    alpha: float = 0.15


@dataclass(frozen=True, slots=True)
class Points:
    """Points, with intervals if there are any.

    Attributes:
        x: Where.
        y: Their values.
        below: How far each interval reaches below; none if empty.
        above: How far above.
        name: In the legend; none if empty.
        color: As `#rrggbb`.
        size: In points.
        texts: Shown when the pointer is on it, where the library can do that.
    """

    x: Sequence[float | str]
    y: Sequence[float]
    below: Sequence[float] = ()
    above: Sequence[float] = ()
    name: str = ""
    color: str = COLORS[0]
    size: float = 5.0
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars, the first at the top."""

    names: Sequence[str]
    lengths: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes.

    Attributes:
        series: What is drawn, in order.
        x_label: Of the horizontal axis.
        y_label: Of the vertical one.
        x_scale: Of the horizontal axis.
        y_scale: Of the vertical one.
        ticks: Texts at places of the horizontal axis; its own if empty.
        height: In proportion to the other panels.
    """

    series: tuple[Line | Band | Points | Bars, ...]
    x_label: str
    y_label: str
    x_scale: AxisScale = "linear"
    y_scale: AxisScale = "linear"
    ticks: tuple[tuple[float, str], ...] = ()
    height: float = 1.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure: panels below each other that share the horizontal axis.

    Attributes:
        title: Above all of them.
        panels: The uppermost first.
    """

    title: str
    panels: tuple[Panel, ...]
