"""results.csv: one row a run, appended as runs end, so that a benchmark can go on later."""

import csv
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

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
        raise Misuse(f"cannot write results to {path.parent}: {error.strerror}") from error


class Results:
    """The table in a folder; reading it twice gives the same rows, whatever was interrupted."""

    def __init__(self, folder: Path) -> None:
        """Open or start the table."""
        self.path = folder / "results.csv"
        start_table(self.path, COLUMNS)

    def append(self, row: ResultRow) -> None:
        """Add one row and flush it."""
        values = [*asdict(row.run).values(), *asdict(row.score).values()]
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(values)

    def rows(self) -> list[ResultRow]:
        """All rows, in the order written."""
        with self.path.open(newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames != COLUMNS:
                raise Misuse(f"{self.path} is not a table of this benchmark: choose another --out")
            return list(self._parsed(reader))

    def _parsed(self, reader: "csv.DictReader[str]") -> Iterator[ResultRow]:
        for line, cells in enumerate(reader, start=2):
            try:
                run = RunKey(
                    cells["task"], cells["policy"], int(cells["budget"]), int(cells["seed"])
                )
                score = Score(
                    loss=float(cells["loss"]),
                    regret=float(cells["regret"]),
                    top1=int(cells["top1"]),
                    top3=int(cells["top3"]),
                    top5=int(cells["top5"]),
                    share=float(cells["share"]),
                    decision_s=float(cells["decision_s"]),
                )
            except (TypeError, ValueError) as error:
                raise Misuse(f"{self.path}, line {line}: {error}") from error
            yield ResultRow(run, score)
