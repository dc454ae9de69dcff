"""The figures of the comparison, as SVG text. Needs the extra `plots`."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bhpt.bench.baselines import registry
from bhpt.bench.figure_style import log_axis, panels, write_svg
from bhpt.bench.peers.calibration import Calibration
from bhpt.bench.peers.standings import ALL, Estimate, PeerStanding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f3c8d")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")  # a color comes again with another marker
_FIRST = "default"
_COLUMNS = 3
_LEGEND_INCHES = 2.2
_LEGEND_LINE = 13  # points that a line of the legend takes
_LEAST = 1e-4  # regrets below are drawn here: the axis is logarithmic


@dataclass(frozen=True)
class PeerStyle:
    """How a policy is drawn: our default in black, our other rules dashed, peers with full lines.

    No two of a comparison look alike: each has another pair of color and marker.
    """

    color: str
    marker: str
    dash: str
    width: float
    layer: int

    @classmethod
    def of(cls, policy: str, place: int) -> "PeerStyle":
        """The style of the policy at this place of the list."""
        if policy == _FIRST:
            return cls("#000000", "*", "-", 2.6, 4)
        again, color = divmod(place, len(_COLORS))
        dash, layer = ("--", 2) if policy in registry.names() else ("-", 3)
        return cls(_COLORS[color], _MARKERS[again % len(_MARKERS)], dash, 1.3, layer)


def regret_by_suite(standings: Sequence[PeerStanding], suites: Sequence[str]) -> str:
    """Mean normalised regret over the budget, a panel a suite and one for all together."""
    figure, axes = _panels([*suites, ALL])
    for suite, axis in axes.items():
        _lines(axis, [s for s in standings if s.suite == suite], lambda s: s.regret, _LEAST)
        log_axis(axis)
        axis.set_title("mean of the suites" if suite == ALL else suite)
    figure.supylabel("normalised regret")
    return _svg(figure, next(iter(axes.values())))


def rank(standings: Sequence[PeerStanding], suites: Sequence[str]) -> str:
    """Mean rank over the budget, with 95% intervals for all suites together."""
    figure, axes = _panels([ALL, *suites])
    for suite, axis in axes.items():
        _lines(axis, [s for s in standings if s.suite == suite], lambda s: s.rank, 0.0)
        axis.set_title("all blocks" if suite == ALL else suite)
        axis.invert_yaxis()
    figure.supylabel("mean rank (1 is best)")
    return _svg(figure, next(iter(axes.values())))


def decision_time(standings: Sequence[PeerStanding]) -> str:
    """Seconds of deciding for one unit, over the budget."""
    figure, axes = _panels([ALL])
    (axis,) = axes.values()
    of_all = [s for s in standings if s.suite == ALL]
    _lines(axis, of_all, lambda s: Estimate(s.step_s, s.step_s, s.step_s), 1e-7)
    log_axis(axis)
    axis.set_ylabel("seconds a decision")
    return _svg(figure, axis)


def calibration(lines: Sequence[Calibration]) -> str:
    """Coverage of 90% intervals and error beside the last value, over the part seen."""
    figure, axes = _panels(["coverage", "error"])
    for place, suite in enumerate(dict.fromkeys(line.suite for line in lines)):
        of_suite = [line for line in lines if line.suite == suite]
        seen = [line.seen for line in of_suite]
        color = _COLORS[place % len(_COLORS)]
        axes["coverage"].plot(
            seen, [line.coverage for line in of_suite], "o-", color=color, label=suite
        )
        axes["error"].plot(seen, [line.error for line in of_suite], "o-", color=color, label=suite)
        axes["error"].plot(seen, [line.last_value for line in of_suite], "x:", color=color)
    axes["coverage"].axhspan(0.85, 0.95, color="#009e73", alpha=0.15, linewidth=0)
    axes["coverage"].set_title("ends within their 90% interval")
    axes["error"].set_title("mean absolute error (dotted: last value)")
    for axis in axes.values():
        axis.set_xlabel("% of a curve seen")
    return _svg(figure, axes["coverage"])


def _panels(names: Sequence[str]) -> "tuple[Figure, dict[str, Axes]]":
    """A panel for each name, with room for the legend on the right."""
    legend = _LEGEND_INCHES / min(_COLUMNS, len(names))
    figure, axes = panels(len(names), columns=_COLUMNS, width=4.2 + legend, height=3.5)
    return figure, dict(zip(names, axes, strict=True))


def _lines(
    axis: "Axes",
    standings: Sequence[PeerStanding],
    value: Callable[[PeerStanding], Estimate],
    least: float,
) -> None:
    """One line a policy, its intervals as bars, set apart a little so that all can be seen."""
    policies = list(dict.fromkeys(s.policy for s in standings))
    for place, policy in enumerate(policies):
        own = [s for s in standings if s.policy == policy]
        style = PeerStyle.of(policy, place)
        shift = 1 + 0.05 * (place + 0.5 - len(policies) / 2) / len(policies)
        estimates = [value(s) for s in own]
        means = [max(e.mean, least) for e in estimates]
        low = [m - max(min(e.low, m), least) for e, m in zip(estimates, means, strict=True)]
        high = [max(e.high - m, 0.0) for e, m in zip(estimates, means, strict=True)]
        axis.errorbar(
            [s.budget * shift for s in own],
            means,
            yerr=[low, high],
            marker=style.marker,
            markersize=8 if style.marker == "*" else 4,
            color=style.color,
            linestyle=style.dash,
            linewidth=style.width,
            elinewidth=0.6,
            zorder=style.layer,
            label=policy,
        )
    axis.set_xscale("log")
    ticks = sorted({s.budget for s in standings})
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("budget, units")


def _svg(figure: "Figure", named: "Axes") -> str:
    handles, labels = named.get_legend_handles_labels()
    fitting = int(figure.get_figheight() * 72 / _LEGEND_LINE)
    columns = -(-len(labels) // fitting)
    figure.legend(
        handles, labels, loc="outside right upper", frameon=False, fontsize=8, ncols=columns
    )
    text = io.StringIO()
    write_svg(figure, text)
    return text.getvalue()
