"""Types as somebody sees them who keeps events elsewhere; mypy reads this file, nothing runs it."""

from collections.abc import Sequence
from pathlib import Path
from typing import assert_type

import bhpt


class TextLog:
    """One event a line of a file."""

    def __init__(self, file: Path, first: Sequence[bhpt.Event] = ()) -> None:
        self.file = file
        if first:
            file.touch()
            self.append(first, 0)

    def append(self, events: Sequence[bhpt.Event], expected: int) -> None:
        if len(self.read()) != expected:
            raise bhpt.Conflict(f"{self.file} does not have {expected} events")
        with self.file.open("a") as stream:
            stream.writelines(bhpt.encode_event(event) + "\n" for event in events)

    def read(self, after: int = 0) -> list[bhpt.Event]:
        return [bhpt.decode_event(line) for line in self.file.read_text().splitlines()[after:]]

    def close(self) -> None:
        """Nothing is held."""


class ForgetfulLog:
    """Nothing can be read from it."""

    def append(self, events: Sequence[bhpt.Event], expected: int) -> None: ...

    def close(self) -> None: ...


good: bhpt.EventLog = TextLog(Path("events"))
bad: bhpt.EventLog = ForgetfulLog()  # type: ignore[assignment]


def kept() -> None:
    study = bhpt.Study([{"x": 1}], "5 epochs", keep=lambda first: TextLog(Path("events"), first))
    assert_type(study, bhpt.Study)
    assert_type(bhpt.Study.resume(TextLog(Path("events"))), bhpt.Study)
