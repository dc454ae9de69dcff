"""results.csv: one row a run, appended as runs end, so that a benchmark can go on later."""

import csv
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TypeVar

from bhpt.bench.metrics import Score
from bhpt.domain import Misuse


@dataclass(frozen=True, order=True)
class RunKey:
    """What identifies a row."""

    task: str
    policy: str
    budget: int
    seed: int


@dataclass(frozen=True)
class ResultRow:
    """One run and how good it was."""

    run: RunKey
    score: Score


R = TypeVar("R")

COLUMNS = [f.name for f in fields(RunKey)] + [f.name for f in fields(Score)]


def start_table(path: Path, columns: list[str]) -> None:
    """Write the head of a table that is to be appended to; mend one that was interrupted.

    Raises:
        Misuse: If it cannot be written there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or not path.stat().st_size:
            path.write_text(",".join(columns) + "\n")
        text = path.read_bytes()
        if not text.endswith(b"\n"):  # a last line that was only half written
            path.write_bytes(text[: text.rfind(b"\n") + 1])
    except OSError as error:
        why = "it is no folder" if path.parent.is_file() else error.strerror
        raise Misuse(f"cannot write results to {path.parent}: {why}") from error


def append_rows(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Add rows to a table that was started, and flush them."""
    with path.open("a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def read_rows(path: Path, columns: list[str], parse: Callable[[dict[str, str]], R]) -> list[R]:
    """All rows of a table, in the order written.

    Args:
        path: The table.
        columns: What its columns must be.
        parse: Makes a row of its cells.

    Raises:
        Misuse: It has other columns, or a cell that cannot be parsed.
    """
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != columns:
            raise Misuse(f"{path} is not a table of this benchmark: choose another --out")
        found = []
        for line, cells in enumerate(reader, start=2):
            try:
                found.append(parse(cells))
            except (TypeError, ValueError) as error:
                raise Misuse(f"{path}, line {line}: {error}") from error
    return found


def run_key(cells: dict[str, str]) -> RunKey:
    """The run that a row is of."""
    return RunKey(cells["task"], cells["policy"], int(cells["budget"]), int(cells["seed"]))


class Results:
    """The table in a folder; reading it twice gives the same rows, whatever was interrupted."""

    def __init__(self, folder: Path) -> None:
        """Open or start the table."""
        self.path = folder / "results.csv"
        start_table(self.path, COLUMNS)

    def append(self, row: ResultRow) -> None:
        """Add one row and flush it."""
        values = [*asdict(row.run).values(), *asdict(row.score).values()]
        append_rows(self.path, [values])

    def rows(self) -> list[ResultRow]:
        """All rows, in the order written."""
        return read_rows(self.path, COLUMNS, _result)


def _result(cells: dict[str, str]) -> ResultRow:
    score = Score(
        loss=float(cells["loss"]),
        regret=float(cells["regret"]),
        top1=int(cells["top1"]),
        top3=int(cells["top3"]),
        top5=int(cells["top5"]),
        share=float(cells["share"]),
        decision_s=float(cells["decision_s"]),
    )
    return ResultRow(run_key(cells), score)
