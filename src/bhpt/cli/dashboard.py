"""`bhpt dashboard`: studies in the browser, live while they run."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from bhpt.domain import Misuse
from bhpt.views.consoles import page

TOKEN = "BHPT_DASHBOARD_TOKEN"  # the name of a variable


def dashboard(
    studies: Annotated[list[str], typer.Argument(help="Files or addresses.", metavar="STUDY")],
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for any that is free.")] = 8766,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine's need a token.")
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(
            help=f"File with the secret that visitors must send; or set {TOKEN}.", metavar="FILE"
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            help="A further host name under which the page is reached; repeatable.", metavar="NAME"
        ),
    ] = None,
) -> None:
    """Show studies in the browser, live while they run."""
    try:
        from bhpt.dashboard.security import access_to
        from bhpt.dashboard.server import serve
    except ImportError as error:
        raise Misuse(f"the dashboard needs {error.name}: pip install 'bhpt[dashboard]'") from None
    access = access_to(host, _token(token_file), allow_host or [])
    console = page()

    def ready(found: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        ask = "/?token=…" if access.token else "/"
        console.print(Text(f"http://{shown}:{found}{ask}"), soft_wrap=True)
        console.print(Text("Ctrl-C stops the page, not the study"), soft_wrap=True)

    serve(studies, host, port, access, ready)


def _token(file: Path | None) -> str | None:
    """The secret that visitors must send, None if there is none.

    Raises:
        Misuse: The file cannot be read.
    """
    if file is None:
        return os.environ.get(TOKEN) or None
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"cannot read the token in {file}: {error}") from None
