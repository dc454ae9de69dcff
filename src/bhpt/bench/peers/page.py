"""One HTML page with all figures and tables in it: it opens anywhere and loads nothing."""

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass

from bhpt.bench.peers.standings import ALL, Gap, PeerStanding

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 1rem 0; }
th, td { padding: .15rem .7rem; text-align: right; } th:first-child, td:first-child,
td.word { text-align: left; } thead th { border-bottom: 1px solid #999; }
td.best { font-weight: 700; } td.behind { color: #b00020; font-weight: 700; }
img { max-width: 100%; } pre { background: #f4f4f4; padding: .7rem; overflow-x: auto; }
.note { color: #555; }
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
    parts += [_figure(figure) for figure in figures]
    if gaps:
        parts.append(_gaps(gaps))
    parts.append("<h2>Mean rank</h2>" + _table(standings, ALL, "rank"))
    for suite in dict.fromkeys(s.suite for s in standings):
        title = "mean of the suites" if suite == ALL else suite
        parts.append(f"<h2>Mean normalised regret: {html.escape(title)}</h2>")
        parts.append(_table(standings, suite, "regret"))
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>bhpt: methods compared</title><style>{_STYLE}</style></head>"
        f"<body>\n{body}\n</body></html>\n"
    )


def _figure(figure: PeerFigure) -> str:
    data = base64.b64encode(figure.svg.encode()).decode()
    title = html.escape(figure.title)
    return f'<h2>{title}</h2><img alt="{title}" src="data:image/svg+xml;base64,{data}">'


def _table(standings: Sequence[PeerStanding], suite: str, metric: str) -> str:
    """Policies × budgets, the best of each column bold."""
    own = [s for s in standings if s.suite == suite]
    budgets = sorted({s.budget for s in own})
    value = {(s.policy, s.budget): getattr(s, metric) for s in own}
    best = {b: min(e.mean for (_, at), e in value.items() if at == b) for b in budgets}
    rows = []
    for policy in dict.fromkeys(s.policy for s in own):
        cells = []
        for budget in budgets:
            e = value[policy, budget]
            digits = 2 if metric == "rank" else 4
            mark = " class=best" if e.mean <= best[budget] else ""
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
