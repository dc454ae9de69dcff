"""One HTML page with everything in it: it opens anywhere and loads nothing."""

import base64
import html
from collections.abc import Sequence

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem;
  color: #1a1a1a; background: #fff; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .8rem 0; }
th, td { padding: .2rem .7rem; text-align: right; vertical-align: top; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 1px solid #999; } tbody tr:nth-child(even) { background: #f7f7f7; }
td.strong { font-weight: 700; }
figure { margin: 1rem 0; } img { max-width: 100%; }
figcaption, .note { color: #555; } pre { background: #f4f4f4; padding: .7rem; overflow-x: auto; }
"""


def html_page(title: str, parts: Sequence[str], style: str = "") -> str:
    """The page.

    Args:
        title: Of its window.
        parts: Its content, as HTML.
        style: Rules for what only this page has.
    """
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}{style}</style></head>"
        f"<body>\n{body}\n</body></html>\n"
    )


def html_figure(title: str, svg: bytes, caption: str = "") -> str:
    """A drawing under its heading, as HTML."""
    data = base64.b64encode(svg).decode()
    name = html.escape(title)
    below = f"<figcaption>{html.escape(caption)}</figcaption>" if caption else ""
    return (
        f'<h2>{name}</h2><figure><img alt="{name}" src="data:image/svg+xml;base64,{data}">'
        f"{below}</figure>"
    )
