"""What a worker prints: straight into a file, bounded in size, with its last lines at hand.

The worker writes to the file itself, so it never waits for a driver that is busy, and its last
words are there even if both of them die.
"""

import os
from pathlib import Path

from bhpt.checkpoints.disk import is_disk_full, naming_full_disk

TAIL_LINES = 20
_TAIL_BYTES = 8192
_LONGEST_LINE = 400


class SlotLog:
    """The log of one slot, shared by its workers one after another.

    Args:
        path: The file; appended to, private.
        cap: Bytes after which its older half is cut off.
    """

    def __init__(self, path: Path, cap: int) -> None:
        self._path = path
        self._cap = cap
        self._mark = 0

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._path

    def open(self) -> int:
        """A descriptor to append with, for a worker's standard output and error.

        Raises:
            DiskFull: There is no room even for an empty file.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with naming_full_disk(self._path.parent):
            return os.open(self._path, flags, 0o600)

    def mark(self, title: str) -> None:
        """Write a heading; the tail starts after it. For want of space it is left out."""
        self.trim()
        self._append(f"--- {title}\n".encode())
        self._mark = self._path.stat().st_size

    def tail(self, lines: int = TAIL_LINES) -> tuple[str, ...]:
        """The last lines since the last heading, safe to show in a terminal."""
        if not self._path.exists():
            return ()
        size = self._path.stat().st_size
        start = max(size - _TAIL_BYTES, self._mark if self._mark <= size else 0)
        with self._path.open("rb") as file:
            file.seek(start)
            content = file.read(_TAIL_BYTES)
        return readable(content, lines)

    def trim(self) -> None:
        """Cut off the older half of a file that has outgrown its cap.

        A worker that appends at this very moment may lose those lines.
        """
        if not self._path.exists() or (size := self._path.stat().st_size) <= self._cap:
            return
        with self._path.open("r+b") as file:
            file.seek(size - self._cap // 2)
            kept = file.read(self._cap // 2)
            file.truncate(0)
        self._append(b"--- older lines were cut off\n" + kept)
        self._mark = 0

    def _append(self, content: bytes) -> None:
        descriptor = self.open()
        try:
            os.write(descriptor, content)
        except OSError as error:
            if not is_disk_full(error):  # then the checkpoint says so, and the study pauses
                raise
        finally:
            os.close(descriptor)


def readable(content: bytes, lines: int) -> tuple[str, ...]:
    """The last lines of raw output, without control characters; a carriage return ends a line."""
    text = content.decode("utf-8", errors="replace").replace("\r", "\n")
    clean = ("".join(c for c in line if c.isprintable() or c == "\t") for line in text.split("\n"))
    shown = [line[:_LONGEST_LINE].rstrip() for line in clean]
    return tuple([line for line in shown if line][-lines:])
