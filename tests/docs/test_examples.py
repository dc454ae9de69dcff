import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from benchmarks.postgres_server import PostgresServer, Unavailable

from bhpt.cli.deferred import load_command
from bhpt.cli.main import COMMANDS
from tests.docs.blocks import ROOT, pages, steps

SLOW = {"cluster.md"}  # starts a cluster


def _marked(page: Path) -> object:
    marks = [pytest.mark.slow] if page.name in SLOW else []
    return pytest.param(page, marks=marks, id=page.name)


@pytest.fixture
def server(page: Path) -> Iterator[PostgresServer | None]:
    """A PostgreSQL server for a page that asks for one; None where there can be none."""
    if not any(step.needs == "postgresql" for step in steps(page)):
        yield None
        return
    try:
        made = PostgresServer()
    except Unavailable:
        yield None
        return
    try:
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        made.remove()


@pytest.mark.timeout(900)  # a page may start many programs
@pytest.mark.parametrize("page", [_marked(page) for page in pages()])
def test_examples_run(page: Path, tmp_path: Path, server: PostgresServer | None) -> None:
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    if server is not None:
        environment |= {"PGHOST": str(server.sockets), "PGUSER": server.user}
    for step in steps(page):
        if step.kind == "file":
            (tmp_path / step.name).write_text(step.text)
            continue
        if not _is_there(step.needs, server):
            continue
        done = subprocess.run(
            ["bash", "-euc", step.text],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=400 if page.name in SLOW else 120,
            check=False,
        )
        assert done.returncode == 0, f"{step.text}\n{done.stdout}\n{done.stderr}"


def _is_there(needs: str | None, server: PostgresServer | None) -> bool:
    if needs == "postgresql":
        return server is not None
    return needs is None or find_spec(needs) is not None


def test_there_are_examples() -> None:
    names = {page.name for page in pages()}
    assert {
        "README.md",
        "CONTRIBUTING.md",
        "quickstart.md",
        "trainers.md",
        "spaces.md",
        "python.md",
    } <= names


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    targets = [target for target in re.findall(r"\]\(([^)#]+)", text) if "://" not in target]
    missing = [target for target in targets if not (ROOT / target).exists()]
    assert targets
    assert not missing


def test_every_option_is_on_the_page_of_commands() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    for entry in COMMANDS:
        command = load_command(entry.target)
        for one in (command, *_subcommands(command)):
            options = [option for parameter in one.params for option in parameter.opts]
            missing = [
                option for option in options if option.startswith("--") and option not in text
            ]
            assert missing == [], entry.name


def _subcommands(command: object) -> list[Any]:
    return [load_command(one._target) for one in getattr(command, "commands", {}).values()]


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "site" / "index.html").read_text()
    loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', page)
    assert not loaded, "the site must work offline"


def test_the_picture_shows_the_live_view() -> None:
    svg = (ROOT / "docs" / "images" / "live.svg").read_text()
    text = re.sub(r"<[^>]+>", " ", svg).replace("&#160;", " ")
    for part in ("budget", "best", "at the end", "epochs", "why", "curve"):
        assert part in text
    assert "@font-face" not in svg
