"""Write the report of an evaluation: figures, tables, CSV files, paper.html."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bhpt.bench import figures
from bhpt.bench.figure_style import in_order, save
from bhpt.bench.paper import action_value, tables
from bhpt.bench.paper.claim import PaperClaim
from bhpt.bench.paper.claims import TIMED_BUDGET, Timing, judge, timings
from bhpt.bench.paper.evidence import PaperEvidence
from bhpt.bench.paper.page import SavedFigure, Section, page
from bhpt.bench.paper.plan import SYNTHETIC, Collected, optima
from bhpt.bench.table import ResultRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Drawn = tuple[SavedFigure, Figure | None]
    """What is said of a figure, and the figure; None where no row is there to draw."""


def write_report(collected: Collected, out: Path, command: str) -> list[PaperClaim]:
    """Write figures/, data/ and paper.html below `out`; returns the verdicts."""
    claims = judge(collected)
    folder, data = out / "figures", out / "data"
    data.mkdir(parents=True, exist_ok=True)
    drawn = []
    for about, figure in draw(collected, data):
        if figure is not None:
            save(figure, folder, about.name)
            drawn.append(about)
    timed = timings(PaperEvidence(collected.rows), in_order(r.run.policy for r in collected.rows))
    tables.write_summary(collected.rows, data / "summary.csv")
    tables.write_records(claims, data / "claims.csv")
    tables.write_records(timed, data / "decision_times.csv")
    sections = list(_sections(collected, timed))
    text = page(command, about_run(collected), claims, drawn, sections, folder)
    (out / "paper.html").write_text(text)
    return claims


def about_run(collected: Collected) -> list[str]:
    """The evaluation's scope as sentences for the page."""
    scope = collected.scope
    said = (
        f"A {scope.name} run: {scope.synthetic_seeds} synthetic sets, {scope.real_seeds} seeds on "
        f"each of {len(scope.tasks)} real tasks, with the units of their tables and with units as "
        "long as the paper's (NAME@EPOCHS). Every method has the same arms, the same units "
        "and a hard stop at B; a unit is counted once, and arms resume where they stand."
    )
    honest = (
        "The synthetic sets are anchored (see the documentation): the paper does not say how its "
        "curves start. The real tables are our own: networks trained anew, not the authors' "
        "curves. Budgets go up to where BHPT finds the optimum, at most to the longest of the plan."
    )
    lines = [said, honest]
    if collected.left_out:
        names = ", ".join(collected.left_out)
        lines.append(f"Left out because its extra is not installed: {names}.")
    if "default" in scope.real_methods:
        lines.append(
            "default (ours) is no part of the paper, and on the real tasks no fair rival: the "
            "network that it ends with was trained on studies of these tables among many others."
        )
    missing = [m for m in ("rollout",) if m not in scope.real_methods]
    if missing:
        lines.append(f"Left out on the real tasks in this run: {', '.join(missing)}.")
    return lines


def draw(collected: Collected, data: Path) -> "Iterator[Drawn]":
    """Every figure of the paper, in its order."""
    yield from _on_synthetic(collected.rows)
    yield from _on_real(collected, collected.real, "real", "")
    yield from _on_real(collected, collected.long, "long", " with units as long as the paper's")
    yield from _families(collected)
    yield from _variants(collected.rows)
    yield _action_value(data)


def _on_synthetic(rows: Sequence[ResultRow]) -> "Iterator[Drawn]":
    """Regret, hits and share on the synthetic sets."""
    yield (
        SavedFigure(
            "Regret over the budget",
            "Normalised regret on the synthetic sets; regrets below 0.0001 are drawn there.",
            "regret_synthetic",
        ),
        figures.regret(rows, (SYNTHETIC,)),
    )
    yield (
        SavedFigure(
            "Exploration: is the output arm among the true best",
            "Top-1, top-3 and top-5 hit rate on the synthetic sets, dark to light.",
            "hits_synthetic",
        ),
        figures.hits(rows, SYNTHETIC),
    )
    yield (
        SavedFigure(
            "Exploitation: share of the budget on the output arm",
            "Mean over the synthetic sets.",
            "share_synthetic",
        ),
        figures.share(rows, SYNTHETIC),
    )


def _variants(rows: Sequence[ResultRow]) -> "Iterator[Drawn]":
    """BHPT without its rule to commit, and with sampled hyper-parameters."""
    yield (
        SavedFigure(
            "The exhaustion rule left out",
            "BHPT and BHPT-ε beside Q alone and Q-ε alone on the synthetic sets.",
            "exhaustion_synthetic",
        ),
        figures.exhaustion(rows, SYNTHETIC),
    )
    yield (
        SavedFigure(
            "Sampled against true hyper-parameters",
            "BHPT with the true hyper-parameters of the synthetic sets, and with sampled ones.",
            "sampled_synthetic",
        ),
        figures.sampled(rows, SYNTHETIC),
    )


def _action_value(data: Path) -> "Drawn":
    """One step of a run; its numbers are written to `data`."""
    moment = action_value.find_moment()
    action_value.write_csv(moment, data / "action_value.csv")
    about = SavedFigure(
        "The action value at one step",
        "Left: Q[a] is the lowest mean μ¹ less what the red tail below it promises, Q[ĉ] is μ¹ "
        "less what the blue tail above the runner-up μ² threatens. Then all leading arms.",
        "action_value",
    )
    return about, action_value.draw(moment)


def _on_real(
    collected: Collected, tasks: tuple[str, ...], name: str, units: str
) -> "Iterator[Drawn]":
    """Loss and regret on the real tasks, with either kind of units."""
    yield (
        SavedFigure(
            f"Loss over the budget on the real tasks{units}",
            "Mean and one standard deviation over seeds; dotted: what the best arm would have "
            "given had it been known.",
            f"loss_{name}",
        ),
        figures.loss(collected.rows, tasks, optima(collected.budgets, tasks)),
    )
    yield (
        SavedFigure(
            f"Regret over the budget on the real tasks{units}",
            "The same runs relative to the optimum; regrets below 0.0001 are drawn there.",
            f"regret_{name}",
        ),
        figures.regret(collected.rows, tasks),
    )


def _families(collected: Collected) -> "Iterator[Drawn]":
    """One figure for the slow family of the architecture tasks."""
    groups = sorted({share.group for share in collected.shares})
    group = "resnet" if "resnet" in groups else groups[0] if groups else ""
    yield (
        SavedFigure(
            "Share of the budget by architecture",
            f"Part of the units that went to {group}; the rest went to the other family. In "
            "arch2_cifar10, which was made for this figure, it learns more slowly and ends lower.",
            "architecture_share",
        ),
        figures.group_share(collected.shares, group),
    )


def _sections(collected: Collected, timed: Sequence[Timing]) -> Iterator[Section]:
    """The tables of the page: times, properties, runs, and regret of every method on every task."""
    yield Section(
        "Decision times",
        f"Seconds spent deciding in one run of B = {TIMED_BUDGET} on the synthetic task, one "
        "thread; the paper's numbers beside ours.",
        tables.timing_table(timed),
    )
    yield Section("Methods by property", "", tables.properties_table())
    yield Section(
        "Runs of every cell",
        "Seeds, with the budgets that have so many; empty where a method did not run.",
        tables.seeds_table(collected.rows),
    )
    for task in (SYNTHETIC, *collected.scope.all_tasks):
        note = "Mean ± standard error over seeds; the lowest of each column in bold."
        yield Section(
            f"Normalised regret: {task}", note, tables.metric_table(collected.rows, task, "regret")
        )
