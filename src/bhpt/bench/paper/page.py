"""The page of the paper's evaluation: claims, figures and tables."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bhpt.bench.html_page import html_figure, html_page
from bhpt.bench.paper.claim import PaperClaim
from bhpt.bench.paper.tables import PaperTable

_STYLE = """
th, td { white-space: nowrap; }
table.words td, table.words th { text-align: left; white-space: normal; }
table.words td:first-child { width: 20rem; } table.words td:nth-child(2) { white-space: nowrap; }
.wide { overflow-x: auto; } .wide table { font-size: 13px; }
.wide th, .wide td { padding: .2rem .5rem; }
.holds { color: #176b32; font-weight: 700; } .fails { color: #b00020; font-weight: 700; }
.between { color: #8a5a00; font-weight: 700; }
"""
_CLASS = {"holds": "holds", "does not hold": "fails"}


@dataclass(frozen=True)
class SavedFigure:
    """A figure that has been saved.

    Attributes:
        title: Its heading.
        caption: What the figure shows.
        name: File name without ending.
    """

    title: str
    caption: str
    name: str


@dataclass(frozen=True)
class Section:
    """A table under a heading."""

    title: str
    note: str
    table: PaperTable


def page(
    command: str,
    about: Sequence[str],
    claims: Sequence[PaperClaim],
    figures: Sequence[SavedFigure],
    sections: Sequence[Section],
    folder: Path,
) -> str:
    """The whole page; figures are read from `folder`."""
    parts = [f"<h1>The paper, run again</h1><pre>{html.escape(command)}</pre>"]
    parts += [f'<p class="note">{html.escape(line)}</p>' for line in about]
    parts.append("<h2>Claims</h2>" + _claims(claims))
    parts += [_figure(drawn, folder) for drawn in figures]
    for section in sections:
        parts.append(f"<h2>{html.escape(section.title)}</h2>")
        if section.note:
            parts.append(f'<p class="note">{html.escape(section.note)}</p>')
        parts.append(_table(section.table))
    return html_page("bhpt: the paper, run again", parts, _STYLE)


def _claims(claims: Sequence[PaperClaim]) -> str:
    rows = []
    for claim in claims:
        kind = _CLASS.get(claim.verdict, "between")
        rows.append(
            f"<tr><td>{html.escape(claim.says)}</td>"
            f'<td class="{kind}">{html.escape(claim.verdict)}</td>'
            f"<td>{html.escape(claim.measured)}</td></tr>"
        )
    return (
        '<table class="words"><thead><tr><th>The paper says</th><th>Here</th>'
        "<th>Measured (± half of the 95% interval over seeds)</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _figure(drawn: SavedFigure, folder: Path) -> str:
    return html_figure(drawn.title, (folder / f"{drawn.name}.svg").read_bytes(), drawn.caption)


def _table(table: PaperTable) -> str:
    head = "".join(f"<th>{html.escape(word)}</th>" for word in table.head)
    rows = []
    for i, row in enumerate(table.rows):
        cells = [
            f"<td{' class=strong' if (i, j) in table.strong else ''}>{html.escape(word)}</td>"
            for j, word in enumerate(row)
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
