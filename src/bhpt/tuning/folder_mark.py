"""Whose folder it is, and how far the study was when something was last written there.

The mark is a small file in the study's folder. It is written after the log has acknowledged
events, so it is never ahead of a log that is whole: a log that lacks the marked event was copied
without its write-ahead log, restored from an older copy, or damaged. A checksum shows a mark that
is itself damaged: it is ignored, since it is no evidence against a log that is whole.

A mark has the same size however far the study is and fits into one sector of a disk, so a driver
writes the next one over it: that is one short write, where a new file with the old one's name would
make the disk work at every event.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bhpt.checkpoints.disk import sync, write_private
from bhpt.storage import Store
from bhpt.study import State
from bhpt.study.events import Event
from bhpt.study.log import FoldingLog

NAME = "study.json"
_LARGEST = 1 << 16
_CHECKSUM = 16  # hexadecimal digits
_SIZE = 512  # bytes of a mark, with blanks at its end


@dataclass(frozen=True, slots=True)
class FolderMark:
    """What a folder remembers of its study.

    Attributes:
        identity: Of the study.
        position: How many events it had.
        digest: Of the last of them.
    """

    identity: str
    position: int
    digest: str

    @classmethod
    def read(cls, root: Path) -> "FolderMark | None":
        """The mark of a folder; None if there is none that can be read."""
        try:
            descriptor = os.open(root / NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                fields = json.loads(file.read(_LARGEST))
            mark = cls(fields["identity"], fields["position"], fields["digest"])
            checksum = fields.get("checksum")
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        right = isinstance(mark.identity, str) and isinstance(mark.digest, str)
        if not right or type(mark.position) is not int or mark.position < 0:
            return None
        earlier_version = checksum is None  # wrote marks without one
        return mark if earlier_version or checksum == mark.checksum() else None

    def checksum(self) -> str:
        """Of all fields."""
        text = json.dumps([self.identity, self.position, self.digest])
        return hashlib.sha256(text.encode()).hexdigest()[:_CHECKSUM]

    def write(self, root: Path, *, durable: bool = False) -> None:
        """Replace the mark of a folder, whatever is there, in one step.

        Args:
            root: The folder.
            durable: Whether to wait for the disk. Without it a power cut may leave an older mark,
                which is true as well.
        """
        temporary = root / f".{NAME}.tmp"
        write_private(temporary, self._to_bytes())
        if durable:
            sync(temporary)
        os.rename(temporary, root / NAME)  # noqa: PTH104  # one syscall
        if durable:
            sync(root)

    def overwrite(self, file: Path) -> None:
        """Put this mark in place of the one in a file that `write` has made, in one write."""
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, self._to_bytes())
        finally:
            os.close(descriptor)

    def _to_bytes(self) -> bytes:
        """The content of the file."""
        fields = {**asdict(self), "checksum": self.checksum()}
        return json.dumps(fields).ljust(_SIZE - 1).encode() + b"\n"


class MarkedLog(FoldingLog):
    """A store whose every append is noted in the study's folder.

    Args:
        store: The study.
        root: Its folder.
    """

    def __init__(self, store: Store, root: Path) -> None:
        self._store = store
        self._identity = store.identity()
        self._file = root / NAME
        self._mark().write(root, durable=True)

    def append(self, events: Sequence[Event], expected: int) -> None:
        """Add events after the first `expected` ones, then note that they are there."""
        self._store.append(events, expected)
        self._mark().overwrite(self._file)

    def read(self, after: int = 0) -> list[Event]:
        """All events but the first `after`."""
        return self._store.read(after)

    def fold(self) -> State:
        """The state after all events."""
        return self._store.fold()

    def keep(self, state: State) -> State:
        """Keep the state after all events where that pays."""
        return self._store.keep(state)

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def _mark(self) -> FolderMark:
        """How far the study is now."""
        head = self._store.head()
        return FolderMark(self._identity, head.position, head.digest)
