"""How figures look: one colour and name for each policy everywhere, and how they are saved.

Needs the extra `plots`; `check` says so in one line before any time is spent.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bhpt.domain import Misuse

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 130
_LEGEND_INCHES = 1.65  # room that one name takes
_GREY = "#8a8a8a"


@dataclass(frozen=True)
class PolicyStyle:
    """How a policy is drawn.

    Attributes:
        label: Its name in a legend.
        color: Of line and bar.
        dash: Line style.
        marker: Of its points.
        width: Of its line.
    """

    label: str
    color: str
    dash: str = "-"
    marker: str = "o"
    width: float = 1.6


LOOKS = {
    "bhpt": PolicyStyle("BHPT", "#1f5fbf", width=2.4),
    "bhpt-eps": PolicyStyle("BHPT-ε", "#c8322b", width=2.4),
    "rollout": PolicyStyle("Rollout", "#7b4fa3", marker="D"),
    "hyperband": PolicyStyle("Hyperband", "#2f8f4e", marker="s"),
    "gp-ei": PolicyStyle("GP-EI (BO)", "#e08a1e", marker="^"),
    "smac": PolicyStyle("SMAC (BO)", "#b8860b", "--", marker="v"),
    "fabolas": PolicyStyle("Fabolas", "#d4569b", marker="P"),
    "freeze-thaw": PolicyStyle("FreezeThaw", "#17a2a8", marker="X"),
    "random": PolicyStyle("random search", _GREY, ":", marker="."),
    "next-unit": PolicyStyle("next unit (ours)", "#6b6b6b", "--", marker="*", width=2.0),
    "default": PolicyStyle("default (ours)", "#111111", marker="*", width=2.0),
    "bhpt-shapes": PolicyStyle("BHPT, shapes", "#0b2f66", "--", marker="o", width=2.4),
    "bhpt-eps-shapes": PolicyStyle("BHPT-ε, shapes", "#7a1410", "--", marker="o", width=2.4),
    "next-unit-shapes": PolicyStyle("next unit, shapes", "#6b6b6b", "-.", marker="*"),
    "plans-shapes": PolicyStyle("plans, shapes", "#a0622d", "-.", marker="*"),
    "q-alone": PolicyStyle("Q alone", "#7fb0ea", "--", marker="o"),
    "q-eps-alone": PolicyStyle("Q-ε alone", "#f09a94", "--", marker="o"),
    "bhpt-sampled": PolicyStyle("BHPT, sampled", "#7fb0ea", "--", marker="o"),
    "bhpt-eps-sampled": PolicyStyle("BHPT-ε, sampled", "#f09a94", "--", marker="o"),
}


def style_of(policy: str) -> PolicyStyle:
    """The look of a policy; one that the paper does not name is grey under its own name."""
    return LOOKS.get(policy, PolicyStyle(policy, _GREY, "-.", marker="."))


def in_order(policies: Iterable[str]) -> list[str]:
    """Policies as they are listed above, others after them, each once."""
    given = list(dict.fromkeys(policies))
    return [p for p in LOOKS if p in given] + [p for p in given if p not in LOOKS]


def check() -> None:
    """Refuse to go on without matplotlib.

    Raises:
        Misuse: If the extra is missing.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise Misuse("figures need matplotlib: pip install 'bhpt[plots]'") from error


def panels(
    count: int, *, columns: int = 3, width: float = 4.3, height: float = 3.4
) -> "tuple[Figure, list[Axes]]":
    """A figure with so many panels in a grid; those left over are empty."""
    from matplotlib.figure import Figure

    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axis in axes[count:]:
        axis.set_axis_off()
    for axis in axes[:count]:
        axis.grid(alpha=0.25)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes[:count]


def budget_axis(axis: "Axes", budgets: Sequence[int]) -> None:
    """A logarithmic axis of budgets with the budgets themselves as its ticks."""
    axis.set_xscale("log")
    axis.set_xticks(list(budgets), [str(budget) for budget in budgets])
    axis.minorticks_off()
    axis.set_xlabel("budget B, units")


def log_axis(axis: "Axes") -> None:
    """A logarithmic axis of values that is labelled with plain numbers: 0.05, not 5 × 10⁻²."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis.set_yscale("log")
    low, high = axis.get_ylim()
    decades = math.log10(high / low)
    steps = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if decades < 1 else (1.0, 2.0, 5.0)
    axis.yaxis.set_major_locator(LogLocator(subs=steps if decades < 2.5 else (1.0,)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_minor_formatter(NullFormatter())


def shared_legend(figure: "Figure", axes: "Sequence[Axes]") -> None:
    """One legend above all panels, every name once, in as many columns as there is room for."""
    found: dict[str, Artist] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        found.update({label: h for h, label in zip(handles, labels, strict=True)})
    known = [one.label for one in LOOKS.values()]
    order = {label: at for at, label in enumerate(known)}
    found = dict(sorted(found.items(), key=lambda item: order.get(item[0], len(known))))
    room = max(1, int(figure.get_figwidth() / _LEGEND_INCHES))
    lines = -(-len(found) // room)
    figure.legend(
        list(found.values()),
        list(found),
        loc="outside upper center",
        ncols=-(-len(found) // max(1, lines)) or 1,
        frameon=False,
    )


def write_svg(figure: "Figure", target: Path | TextIO) -> None:
    """Write a figure as SVG: the same text each time, without a date or random names in it."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "bhpt"}):
        figure.savefig(target, format="svg", metadata={"Date": None})


def save(figure: "Figure", folder: Path, name: str) -> Path:
    """Write NAME.svg and NAME.png; returns the latter."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_svg(figure, folder / f"{name}.svg")
        figure.savefig(folder / f"{name}.png", dpi=_DPI)
    except OSError as error:
        raise Misuse(f"cannot write figures to {folder}: {error.strerror}") from error
    return folder / f"{name}.png"
