"""Where a command prints its answer: as wide as the terminal, or a wide page in a pipe."""

import sys

from rich.console import Console, RenderableType

_PAGE = 120  # columns where nobody says how many there are


def page() -> Console:
    """Standard output."""
    return Console() if sys.stdout.isatty() else Console(width=_PAGE)


def put(console: Console, *parts: RenderableType) -> None:
    """Print, without the blanks that fill up a table's cells where there is no terminal."""
    if console.is_terminal:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
        return
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    for line in captured.get().splitlines():
        print(line.rstrip())
