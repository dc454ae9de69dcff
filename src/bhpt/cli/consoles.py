"""Standard output of commands: as wide as the terminal, or a fixed width in a pipe."""

import sys

from rich.console import Console, RenderableType

_PAGE = 120  # columns where there is no terminal


def page() -> Console:
    """A console on standard output."""
    return Console() if sys.stdout.isatty() else Console(width=_PAGE)


def put(console: Console, *parts: RenderableType) -> None:
    """Print renderables; without a terminal, trailing blanks of table rows are removed."""
    if console.is_terminal:
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
        return
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    for line in captured.get().splitlines():
        print(line.rstrip())
