"""What is closed at the end of a `with` block."""

from types import TracebackType
from typing import Self


class Closing:
    """Closes itself when its block ends, however it ends."""

    def close(self) -> None:
        """Let go of everything; may be called again."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
