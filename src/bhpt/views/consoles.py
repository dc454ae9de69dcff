"""Standard output of commands: as wide as the terminal, or a fixed width in a pipe.

What is printed may hold text of a study, a trainer or another machine. Nothing of it
reaches a terminal as a control character: see `SafeConsole`.
"""

import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from bhpt.views.formatting import printable

_PAGE = 120  # columns where there is no terminal


class SafeConsole(Console):
    """A console on which only rich itself can move the cursor or change colours."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of a renderable, without control characters in any text."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or segment.text == "\n":
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


def page() -> Console:
    """A console on standard output."""
    return SafeConsole() if sys.stdout.isatty() else SafeConsole(width=_PAGE)


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
