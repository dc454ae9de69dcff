"""Prints what to do if the driver's process ends without a word, as Ray ends its drivers.

Ray ends a driver at once when the head of its cluster, or the node that the driver is connected to,
is lost: no Python code runs then, so the driver itself cannot say anything. Run as a script, this
is the process that does: it waits for the driver to end, prints a line unless the driver has called
it off, and leaves the terminal as it was. It imports nothing but the standard library.
"""

import os
import subprocess
import sys
from typing import Any

_OFF = "off\n"
_SHOW_CURSOR = "\x1b[?25h"


class DriverWatch:
    """A process that prints a line when this one ends, unless it is called off before.

    Args:
        line: What to print on standard error.
    """

    def __init__(self, line: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the driver only
            text=True,
        )
        self._write(f"{line}\n")

    def call_off(self) -> None:
        """End it without a line; may be called again."""
        if self._process.stdin is None or self._process.stdin.closed:
            return
        self._write(_OFF)
        self._process.stdin.close()
        self._process.wait()

    def _write(self, text: str) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(text)
            self._process.stdin.flush()


def wait_for_driver() -> None:
    """Wait until standard input is closed; print its first line unless the last one says `off`."""
    before = _terminal()
    line = sys.stdin.readline().strip()
    if sys.stdin.read() == _OFF:
        return
    if before is not None:
        _restore(before)
    sys.stderr.write(f"{line}\n")


def _terminal() -> list[Any] | None:
    """How the terminal is set, None if standard error is none."""
    if sys.platform == "win32" or not os.isatty(sys.stderr.fileno()):
        return None
    import termios

    return termios.tcgetattr(sys.stderr)


def _restore(before: list[Any]) -> None:
    """Set the terminal as it was, with its cursor shown."""
    import termios

    termios.tcsetattr(sys.stderr, termios.TCSADRAIN, before)
    sys.stderr.write(_SHOW_CURSOR)


if __name__ == "__main__":
    wait_for_driver()
