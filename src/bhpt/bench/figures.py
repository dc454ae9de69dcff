"""The paper's figures, drawn from results.csv and groups.csv. Needs the extra `plots`.

Every function takes rows and returns a figure, or None if the rows hold nothing to draw it from.
Lines are means over seeds; bars are one standard error of the mean (se) or one standard deviation
of a run (sd), as each axis says. Regret is the normalised one.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bhpt.bench.figure_style import (
    budget_axis,
    check,
    in_order,
    log_axis,
    panels,
    save,
    shared_legend,
    style_of,
)
from bhpt.bench.groups import Groups, GroupShare
from bhpt.bench.summary import Cell, cells
from bhpt.bench.table import ResultRow, Results
from bhpt.domain import Misuse

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ON_BARS = (*("bhpt", "bhpt-eps", "rollout", "hyperband", "gp-ei", "smac", "next-unit", "default"),)
ON_GROUPS = (
    *("bhpt", "bhpt-eps", "hyperband", "fabolas", "freeze-thaw", "next-unit", "default"),
    *("bhpt-shapes", "bhpt-eps-shapes"),
)
EXHAUSTION = ("bhpt", "q-alone", "bhpt-eps", "q-eps-alone")
SAMPLED = ("bhpt", "bhpt-sampled")
EXTRAS = ("q-alone", "q-eps-alone", "bhpt-sampled")  # have figures of their own
_LEAST = 1e-4  # a regret below it is drawn here: the axis is logarithmic
_BAR_ROOM = 0.82


@dataclass(frozen=True, eq=False)
class Series:
    """One policy's line: budgets, means and the half-lengths of its bars, each [n]."""

    policy: str
    budgets: tuple[int, ...]
    means: tuple[float, ...]
    bars: tuple[float, ...]


def series(
    rows: Sequence[ResultRow], metric: str, task: str, bar: Callable[[Cell], float]
) -> list[Series]:
    """Lines of all policies on a task, in their usual order."""
    found = cells([row for row in rows if row.run.task == task], metric)
    by_policy: dict[str, dict[int, Cell]] = defaultdict(dict)
    for (_, policy, budget), cell in found.items():
        by_policy[policy][budget] = cell
    made = []
    for policy in in_order(by_policy):
        at = dict(sorted(by_policy[policy].items()))
        bars = tuple(np.nan_to_num(bar(cell)) for cell in at.values())
        made.append(Series(policy, tuple(at), tuple(c.mean for c in at.values()), bars))
    return made


def standard_error(cell: Cell) -> float:
    """Bars of one standard error of the mean."""
    return cell.error


def deviation(cell: Cell) -> float:
    """Bars of one standard deviation of a run."""
    return cell.error * float(np.sqrt(cell.runs))


def tasks_of(rows: Sequence[ResultRow]) -> list[str]:
    """Tasks in the order in which they first appear."""
    return list(dict.fromkeys(row.run.task for row in rows))


def regret(rows: Sequence[ResultRow], tasks: Sequence[str]) -> "Figure | None":
    """Normalised regret over the budget, a panel a task."""
    figure, axes, _ = _line_panels(rows, tasks, "regret", standard_error, least=_LEAST)
    if figure is None:
        return None
    for axis in axes:
        axis.set_ylabel("regret ± 1 se")
    shared_legend(figure, axes)
    return figure


def loss(
    rows: Sequence[ResultRow], tasks: Sequence[str], optima: dict[str, dict[int, float]]
) -> "Figure | None":
    """Loss over the budget with one standard deviation, a panel a task; optima dotted."""
    figure, axes, lines = _line_panels(rows, tasks, "loss", deviation, least=None)
    if figure is None:
        return None
    for task, axis in zip(lines, axes, strict=True):
        known = sorted(optima.get(task, {}).items())
        if known:
            axis.plot(*zip(*known, strict=True), ":", color="#444444", label="best arm known")
        lowest = min([*(v for _, v in known), *(m for line in lines[task] for m in line.means)])
        if _positive(lines[task]):
            axis.set_ylim(bottom=0.93 * lowest)  # a bar below it would be below the optimum
            log_axis(axis)
        axis.set_ylabel("loss ± 1 sd")
    shared_legend(figure, axes)
    return figure


def exhaustion(rows: Sequence[ResultRow], task: str) -> "Figure | None":
    """BHPT and BHPT-ε with and without the rule to commit."""
    return _of_policies(rows, task, EXHAUSTION)


def sampled(rows: Sequence[ResultRow], task: str) -> "Figure | None":
    """Hyper-parameters sampled against the true ones."""
    return _of_policies(rows, task, SAMPLED)


def hits(rows: Sequence[ResultRow], task: str) -> "Figure | None":
    """Is the output arm among the true top 1, 3, 5: stacked bars, a group a budget."""
    found = {
        metric: {s.policy: s for s in series(rows, metric, task, standard_error)}
        for metric in ("top5", "top3", "top1")
    }
    policies = [p for p in ON_BARS if p in found["top5"]]
    if not policies:
        return None
    figure, axes = panels(1, width=11.5, height=3.9)
    for metric, strength in (("top5", 0.35), ("top3", 0.65), ("top1", 1.0)):
        _bars(axes[0], [found[metric][p] for p in policies], strength, named=metric == "top1")
    axes[0].set_ylim(0, 1.02)
    axes[0].set_ylabel("output arm in the true top 1 / 3 / 5\n(dark, middle, light)")
    shared_legend(figure, axes)
    return figure


def share(rows: Sequence[ResultRow], task: str) -> "Figure | None":
    """Share of the budget on the output arm: bars, a group a budget."""
    found = {s.policy: s for s in series(rows, "share", task, standard_error)}
    policies = [p for p in ON_BARS if p in found]
    if not policies:
        return None
    figure, axes = panels(1, width=11.5, height=3.9)
    _bars(axes[0], [found[p] for p in policies], 1.0, named=True)
    axes[0].set_ylim(0, 1.02)
    axes[0].set_ylabel("share of the budget on the output arm")
    shared_legend(figure, axes)
    return figure


def group_share(shares: Sequence[GroupShare], group: str) -> "Figure | None":
    """Share of the budget on one family over the budget, a panel a task."""
    by_line: dict[str, dict[str, dict[int, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for s in shares:
        if s.group == group:
            by_line[s.run.task][s.run.policy][s.run.budget].append(s.share)
    if not by_line:
        return None
    figure, axes = panels(len(by_line), columns=2, width=5.4, height=3.8)
    for (task, lines), axis in zip(by_line.items(), axes, strict=True):
        kept = [policy for policy in in_order(lines) if policy in ON_GROUPS]
        made = []
        for policy in kept:
            at = dict(sorted(lines[policy].items()))
            bars = [np.std(v, ddof=1) / np.sqrt(len(v)) if len(v) > 1 else 0.0 for v in at.values()]
            means = tuple(float(np.mean(v)) for v in at.values())
            made.append(Series(policy, tuple(at), means, tuple(float(b) for b in bars)))
        _lines(axis, made, None)
        axis.set_ylim(0, 1.02)
        axis.set_title(task)
        axis.set_ylabel(f"share on {group} ± 1 se")
    shared_legend(figure, axes)
    return figure


def draw_all(out: Path) -> list[Path]:
    """Draw every figure that the tables in a folder hold the data of.

    Returns:
        The PNG files.
    """
    check()
    if not (out / "results.csv").exists():
        raise Misuse(f"{out}: no results.csv there; `bhpt bench ... --out {out}` makes one")
    rows, shares = Results(out).rows(), Groups(out).rows()
    if not rows:
        raise Misuse(f"{out / 'results.csv'} has no rows yet")
    tasks = tasks_of(rows)
    made: dict[str, Figure | None] = {"regret": regret(rows, tasks), "loss": loss(rows, tasks, {})}
    for task in tasks:
        made[f"hits_{task}"] = hits(rows, task)
        made[f"share_{task}"] = share(rows, task)
        made[f"exhaustion_{task}"] = exhaustion(rows, task)
        made[f"sampled_{task}"] = sampled(rows, task)
    for group in sorted({s.group for s in shares}):
        made[f"group_{group}"] = group_share(shares, group)
    folder = out / "figures"
    return [
        save(figure, folder, name.replace(":", "_"))
        for name, figure in made.items()
        if figure is not None
    ]


def _line_panels(
    rows: Sequence[ResultRow],
    tasks: Sequence[str],
    metric: str,
    bar: Callable[[Cell], float],
    least: float | None,
) -> "tuple[Figure | None, list[Axes], dict[str, list[Series]]]":
    """A panel a task that has rows."""
    lines = {
        task: [s for s in series(rows, metric, task, bar) if s.policy not in EXTRAS]
        for task in tasks
    }
    lines = {task: found for task, found in lines.items() if found}
    if not lines:
        return None, [], {}
    one = len(lines) == 1
    figure, axes = panels(len(lines), width=8.5 if one else 4.6, height=4.6 if one else 3.7)
    for (task, found), axis in zip(lines.items(), axes, strict=True):
        _lines(axis, found, least)
        if _positive(found):
            log_axis(axis)
        axis.set_title(task)
    return figure, axes, lines


def _positive(lines: Sequence[Series]) -> bool:
    """Whether a logarithmic axis can hold the means and is of use to them."""
    means = [m for line in lines for m in line.means]
    return min(means) >= 0 and max(means) > 3 * max(min(means), _LEAST)


def _of_policies(rows: Sequence[ResultRow], task: str, policies: Sequence[str]) -> "Figure | None":
    """Regret of a few policies on one task; None unless one beside the first is there."""
    found = {s.policy: s for s in series(rows, "regret", task, standard_error)}
    kept = [found[p] for p in policies if p in found]
    if len(kept) < 2 or not any(line.policy in EXTRAS for line in kept):
        return None
    figure, axes = panels(1, width=6.5, height=4.0)
    _lines(axes[0], kept, _LEAST)
    log_axis(axes[0])
    axes[0].set_ylabel("regret ± 1 se")
    axes[0].set_title(task)
    shared_legend(figure, axes)
    return figure


def _lines(axis: "Axes", lines: Sequence[Series], least: float | None) -> None:
    """One line a policy, set apart a little so that bars do not cover each other."""
    budgets = sorted({budget for line in lines for budget in line.budgets})
    for place, line in enumerate(lines):
        style = style_of(line.policy)
        apart = 1 + 0.012 * (place - (len(lines) - 1) / 2)
        means = np.array(line.means)
        low = np.array(line.bars)
        if least is not None:
            means = np.maximum(means, least)
            low = np.minimum(low, means - least)
        elif _positive(lines):
            low = np.minimum(low, 0.999 * means)
        axis.errorbar(
            np.array(line.budgets) * apart,
            means,
            yerr=np.array([low, line.bars]),
            color=style.color,
            linestyle=style.dash,
            linewidth=style.width,
            marker=style.marker,
            markersize=4.5,
            elinewidth=0.7,
            alpha=0.95,
            label=style.label,
        )
    budget_axis(axis, budgets)


def _bars(axis: "Axes", lines: Sequence[Series], strength: float, *, named: bool) -> None:
    """Groups of bars, one group a budget; stronger colour is drawn over a weaker one."""
    from matplotlib.colors import to_rgb

    budgets = sorted({budget for line in lines for budget in line.budgets})
    width = _BAR_ROOM / len(lines)
    for place, line in enumerate(lines):
        style = style_of(line.policy)
        faded = tuple(1 - strength * (1 - channel) for channel in to_rgb(style.color))
        at = [budgets.index(budget) for budget in line.budgets]
        left = np.array(at) - _BAR_ROOM / 2 + (place + 0.5) * width
        axis.bar(left, line.means, 0.92 * width, color=faded, label=style.label if named else None)
    axis.set_xticks(range(len(budgets)), [f"B = {budget}" for budget in budgets])
    axis.grid(visible=False, axis="x")
