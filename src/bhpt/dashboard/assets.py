"""The files that a browser is sent: the page, its style, its scripts and plotly.js.

plotly.js comes from the installed `plotly` package, so nothing is fetched from elsewhere.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from bhpt.domain import Misuse

SCRIPTS = ("model.js", "figures.js", "views.js", "app.js")
STYLE = "style.css"
PLOTLY = "plotly.min.js"
_PLACEHOLDERS = "<!-- placeholders -->"
_GUARD = re.compile(r'document\.getElementById\("([0-9a-f]{64})"\)')
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file for a browser.

    Attributes:
        content: Its bytes.
        media_type: What it is.
        digest: Of its content, quoted as an HTTP entity tag.
    """

    content: bytes
    media_type: str
    digest: str


@cache
def static(name: str) -> Asset | None:
    """A file by its name, None if there is none."""
    if name not in (*SCRIPTS, STYLE, PLOTLY):
        return None
    content = plotly_script() if name == PLOTLY else read(name)
    digest = hashlib.sha256(content.encode()).hexdigest()[:32]
    return Asset(content.encode(), _TYPES[Path(name).suffix], f'"{digest}"')


@cache
def page() -> str:
    """The page of a live dashboard."""
    return read("index.html").replace(_PLACEHOLDERS, placeholders())


def read(name: str) -> str:
    """A file of this package as text."""
    return resources.files("bhpt.dashboard").joinpath("static", name).read_text("utf-8")


@cache
def plotly_script() -> str:
    """plotly.js.

    Raises:
        Misuse: plotly is not installed.
    """
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise Misuse("the dashboard needs plotly: pip install 'bhpt[dashboard]'")
    return Path(spec.origin).parent.joinpath("package_data", PLOTLY).read_text("utf-8")


@cache
def placeholders() -> str:
    """Empty style elements in place of those that plotly.js would fill with text of its own.

    They are for maps, which are not drawn here, and the content policy forbids them; plotly.js
    makes none that is there already.
    """
    return "".join(f'<style id="{one}"></style>' for one in _GUARD.findall(plotly_script()))
