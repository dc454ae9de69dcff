"""The comparison as Markdown tables, for a document."""

from collections.abc import Callable, Sequence

from bhpt.bench.peers.standings import ALL, Gap, PeerStanding

CellText = Callable[[PeerStanding], tuple[float, str]]


def markdown(standings: Sequence[PeerStanding], gaps: Sequence[Gap]) -> str:
    """Ranks, regrets by suite, time of a decision, and how far `default` is ahead."""
    parts = [_policies("Mean rank, all blocks", [s for s in standings if s.suite == ALL], _rank)]
    for suite in dict.fromkeys(s.suite for s in standings):
        title = "mean of the suites" if suite == ALL else suite
        own = [s for s in standings if s.suite == suite]
        parts.append(_policies(f"Mean normalised regret, {title}", own, _regret))
    if gaps:
        parts.append(_gaps(gaps))
    return "\n".join(parts)


def _rank(standing: PeerStanding) -> tuple[float, str]:
    e = standing.rank
    return e.mean, f"{e.mean:.2f} ± {(e.high - e.low) / 2:.2f}"


def _regret(standing: PeerStanding) -> tuple[float, str]:
    return standing.regret.mean, f"{standing.regret.mean:.4f}"


def _policies(title: str, own: Sequence[PeerStanding], cell: CellText) -> str:
    """Policies × budgets, the best of each column bold, with the time of a decision."""
    budgets = sorted({s.budget for s in own})
    at = {(s.policy, s.budget): s for s in own}
    best = {b: min(cell(s)[0] for s in own if s.budget == b) for b in budgets}
    blocks = max((s.blocks for s in own), default=0)
    head = ["policy", *(f"B = {b}" for b in budgets), "ms a decision"]
    lines = [f"### {title} ({blocks} blocks)\n", _line(head), _line(["---"] * len(head))]
    for policy in dict.fromkeys(s.policy for s in own):
        cells = []
        for budget in budgets:
            value, text = cell(at[policy, budget])
            cells.append(f"**{text}**" if value <= best[budget] else text)
        lines.append(_line([policy, *cells, f"{1e3 * at[policy, budgets[-1]].step_s:.3g}"]))
    return "\n".join(lines) + "\n"


def _gaps(gaps: Sequence[Gap]) -> str:
    head = ["suite", "B", "best other", "default less the best other", "95%"]
    lines = ["### `default` beside the best other\n", _line(head), _line(["---"] * len(head))]
    for gap in gaps:
        d = gap.difference
        interval = f"{d.low:+.4f} to {d.high:+.4f}"
        lines.append(_line([gap.suite, str(gap.budget), gap.rival, f"{d.mean:+.4f}", interval]))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
