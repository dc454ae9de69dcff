"""A study as one HTML file that needs nothing else: to look at later, or to send to a colleague."""

import base64
import hashlib
from datetime import UTC, datetime
from html import escape

from bhpt.charts.decision import logged_decision
from bhpt.charts.plain import plain
from bhpt.dashboard import assets, messages
from bhpt.dashboard.feed import StudyFeed
from bhpt.dashboard.messages import Message, text_of
from bhpt.dashboard.security import EMPTY_STYLE
from bhpt.domain import Misuse

_DECISIONS = 2000  # past decisions that can be looked at: the newest
_LINK = '<link rel="stylesheet" href="/static/{}">\n'
_PRELOAD = '<link rel="preload" href="/static/{}" as="script">\n'
_SCRIPT = '<script src="/static/{}" defer></script>\n'


def report_page(feed: StudyFeed) -> str:
    """The dashboard of a study as it stands, as one file."""
    style = assets.read(assets.STYLE)
    scripts = [_inline(assets.read(name)) for name in assets.SCRIPTS]
    scripts.append(_inline(assets.plotly_script()))
    data = text_of(_content(feed, datetime.now(UTC)))
    page = assets.page().replace(_LINK.format(assets.STYLE), "")
    page = page.replace(_PRELOAD.format(assets.PLOTLY), "")
    for name in assets.SCRIPTS:
        page = page.replace(_SCRIPT.format(name), "")
    page = page.replace("<title>", f"{_policy(style, scripts)}<style>{style}</style>\n<title>", 1)
    body = f'<script type="application/json" id="content">{data}</script>\n'
    body += "\n".join(f"<script>{script}</script>" for script in scripts)
    return page.replace("</body>", f"{body}\n</body>")


def _content(feed: StudyFeed, made: datetime) -> Message:
    """Everything that the page would ask a server for."""
    scene = feed.scene
    attempts = list(scene.state.attempts)[-_DECISIONS:]
    answers: Message = {
        f"why/{one.number}": plain(logged_decision(scene.state, one)) for one in attempts
    }
    if attempts:
        answers[f"why/{attempts[-1].number}"] = plain(feed.why(attempts[-1].number))
    answers["parameters"] = plain(feed.parameters())
    answers["forecast"] = _forecast(feed)
    predicted = messages.prediction(feed.predict(), scene.state)
    whole = {**messages.whole(feed, scene), "prediction": predicted}
    return {"made": made.strftime("%Y-%m-%d %H:%M UTC"), "study": whole, "answers": answers}


def _forecast(feed: StudyFeed) -> Message:
    """What more budget would buy, or why that is not known."""
    try:
        found = messages.forecast(feed)
    except Misuse as error:
        return {"error": str(error)}
    return found


def _inline(script: str) -> str:
    """A script that can stand between tags: nothing in it ends its element or begins a comment."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(style: str, scripts: list[str]) -> str:
    """A content policy that allows these texts and nothing else."""
    allowed = " ".join(_hash(script) for script in scripts)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)} {EMPTY_STYLE}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
