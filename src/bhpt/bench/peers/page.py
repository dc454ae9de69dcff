"""The page of the comparison with other tuners: figures and tables."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bhpt.bench.html_page import html_figure, html_page
from bhpt.bench.peers.standings import ALL, Estimate, Gap, PeerStanding

_STYLE = """
td.word { text-align: left; } td.behind { color: #b00020; font-weight: 700; }
"""
HOW = (
    "Every method has the same arms, units and hard stop. A block is one task with one seed. "
    "Intervals are 95%, by drawing blocks again. Peers are told the lowest loss so far, at most "
    "that of the untrained model; arms that they come back to go on where they stand; what a peer "
    "leaves over goes to its best arm. Seconds are those of deciding alone, on one thread."
)


@dataclass(frozen=True)
class PeerFigure:
    """A figure and what it shows."""

    title: str
    svg: str


def page(
    command: str,
    figures: Sequence[PeerFigure],
    standings: Sequence[PeerStanding],
    gaps: Sequence[Gap],
) -> str:
    """The whole page."""
    parts = [f"<h1>Methods compared</h1><pre>{html.escape(command)}</pre>"]
    parts.append(f"<p class=note>{html.escape(HOW)}</p>")
    parts += [html_figure(figure.title, figure.svg.encode()) for figure in figures]
    if gaps:
        parts.append(_gaps(gaps))
    parts.append("<h2>Mean rank</h2>" + _table(standings, ALL, lambda s: s.rank, digits=2))
    for suite in dict.fromkeys(s.suite for s in standings):
        title = "mean of the suites" if suite == ALL else suite
        parts.append(f"<h2>Mean normalised regret: {html.escape(title)}</h2>")
        parts.append(_table(standings, suite, lambda s: s.regret, digits=4))
    return html_page("bhpt: methods compared", parts, _STYLE)


def _table(
    standings: Sequence[PeerStanding],
    suite: str,
    metric: Callable[[PeerStanding], Estimate],
    digits: int,
) -> str:
    """Policies × budgets, the best of each column bold."""
    own = [s for s in standings if s.suite == suite]
    budgets = sorted({s.budget for s in own})
    value = {(s.policy, s.budget): metric(s) for s in own}
    best = {b: min(e.mean for (_, at), e in value.items() if at == b) for b in budgets}
    rows = []
    for policy in dict.fromkeys(s.policy for s in own):
        cells = []
        for budget in budgets:
            e = value[policy, budget]
            mark = " class=strong" if e.mean <= best[budget] else ""
            cells.append(
                f'<td{mark} title="{e.low:.{digits}f} to {e.high:.{digits}f}">'
                f"{e.mean:.{digits}f}</td>"
            )
        rows.append(f"<tr><td>{html.escape(policy)}</td>{''.join(cells)}</tr>")
    head = "".join(f"<th>B={budget}</th>" for budget in budgets)
    return f"<table><thead><tr><th>policy</th>{head}</tr></thead>{''.join(rows)}</table>"


def _gaps(gaps: Sequence[Gap]) -> str:
    """Where `default` is behind by more than the interval stands out."""
    rows = []
    for gap in gaps:
        d = gap.difference
        mark = " class=behind" if d.low > 0 else ""
        rows.append(
            f"<tr><td>{html.escape(gap.suite)}</td><td>{gap.budget}</td>"
            f"<td class=word>{html.escape(gap.rival)}</td>"
            f"<td{mark}>{d.mean:+.4f}</td><td>{d.low:+.4f} to {d.high:+.4f}</td></tr>"
        )
    return (
        "<h2>default beside the best other</h2><p class=note>Difference of the regrets; below zero "
        "is ahead. Red: behind by more than the interval.</p><table><thead><tr><th>suite</th>"
        "<th>B</th><th>best other</th><th>difference</th><th>95%</th></tr></thead>"
        f"{''.join(rows)}</table>"
    )
