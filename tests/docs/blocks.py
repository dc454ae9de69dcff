"""Examples in the documentation that are marked to be tested.

A comment of its own line before a block says what to do with it:

    <!-- file: NAME -->     write the block to a file
    <!-- run -->            run the block in a shell
    <!-- run: COMMAND -->   run a command; no block follows
    <!-- run with NAME -->, <!-- run with NAME: COMMAND -->   where a package is installed, or with
                            `postgresql` where there is a server
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[2]
_MARK = re.compile(r"<!-- (file|run)(?: with (\w+))?(?:: (.+?))? -->")
_FENCE = re.compile(r"```\w*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """Something to do in the order of the page."""

    kind: Literal["file", "run"]
    name: str
    text: str
    needs: str | None = None


def pages() -> list[Path]:
    """Every page that has something to be tested."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [page for page in found if _MARK.search(page.read_text())]


def steps(page: Path) -> list[Step]:
    """What a page asks to be done."""
    text = page.read_text()
    found = []
    for mark in _MARK.finditer(text):
        kind, needs, name = mark.groups()
        if kind == "run" and name:
            found.append(Step("run", name, name, needs))
            continue
        fence = _FENCE.match(text, mark.end() + 1)
        assert fence is not None, f"{page.name}: no block follows {mark[0]}"
        found.append(Step("file" if kind == "file" else "run", name or "", fence[1], needs))
    return found
