"""The figures of the comparison, as SVG text. Needs the extra `plots`."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bhpt.bench.baselines import registry
from bhpt.bench.peers.calibration import Calibration
from bhpt.bench.peers.standings import ALL, Estimate, PeerStanding
from bhpt.domain import Misuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLORS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f3c8d"),
    *("#11a579", "#3969ac", "#f2b701", "#e73f74", "#80ba5a", "#e68310", "#008695", "#cf1c90"),
)
_FIRST = "default"
_LEGEND_LINE = 13  # points that a line of the legend takes
_LEAST = 1e-4  # regrets below are drawn here: the axis is logarithmic


@dataclass(frozen=True)
class PeerStyle:
    """How a policy is drawn: ours black, our other rules dashed grey tones, peers in colour."""

    color: str
    dash: str
    width: float
    layer: int

    @classmethod
    def of(cls, policy: str, place: int) -> "PeerStyle":
        """The style of the policy at this place of the list."""
        if policy == _FIRST:
            return cls("#000000", "-", 2.6, 4)
        ours = policy in registry.names()
        return cls(_COLORS[place % len(_COLORS)], "--" if ours else "-", 1.3, 2 if ours else 3)


def check() -> None:
    """Refuse to go on without matplotlib, before hours are spent on running."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise Misuse("figures need matplotlib: pip install 'bhpt[plots]'") from error


def regret_by_suite(standings: Sequence[PeerStanding], suites: Sequence[str]) -> str:
    """Mean normalised regret over the budget, a panel a suite and one for all together."""
    figure, axes = _panels([*suites, ALL])
    for suite, axis in axes.items():
        _lines(axis, [s for s in standings if s.suite == suite], lambda s: s.regret, _LEAST)
        axis.set_yscale("log")
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
    axis.set_yscale("log")
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
    from matplotlib.figure import Figure

    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure = Figure(figsize=(4.2 * columns + 2.2, 3.5 * rows), layout="constrained")
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    axes = dict(zip(names, grid, strict=False))
    for unused in grid[len(names) :]:
        unused.set_axis_off()
    for axis in axes.values():
        axis.grid(alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


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
            marker=".",
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
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()
