"""results.csv of a live benchmark: one row a run, appended as runs end."""

import csv
from dataclasses import astuple, dataclass
from pathlib import Path

from bhpt.bench.table import start_table
from bhpt.domain import Misuse

COLUMNS = ["job", "policy", "budget", "seed", "loss", "seconds"]


@dataclass(frozen=True, order=True)
class LiveKey:
    """What identifies a run.

    Attributes:
        job: Its name.
        policy: Its name, `*N` with N workers, `+first` where all begin with the same arm.
        budget: Epochs, or seconds with an `s`.
        seed: Of the policy.
    """

    job: str
    policy: str
    budget: str
    seed: int


@dataclass(frozen=True)
class LiveRow:
    """A run, the lowest loss that it saw and how long it took."""

    run: LiveKey
    loss: float
    seconds: float


class LiveResults:
    """The table in a folder."""

    def __init__(self, folder: Path) -> None:
        """Open or start the table."""
        self.path = folder / "results.csv"
        start_table(self.path, COLUMNS)

    def append(self, row: LiveRow) -> None:
        """Add one row and flush it."""
        with self.path.open("a", newline="") as file:
            values = [*astuple(row.run), repr(row.loss), f"{row.seconds:.3f}"]
            csv.writer(file, lineterminator="\n").writerow(values)

    def rows(self) -> list[LiveRow]:
        """All rows, in the order written."""
        with self.path.open(newline="") as file:
            reader = csv.DictReader(file)
            if reader.fieldnames != COLUMNS:
                raise Misuse(f"{self.path} is not a table of `bench live`: choose another --out")
            try:
                return [_row(cells) for cells in reader]
            except (TypeError, ValueError) as error:
                raise Misuse(f"{self.path}: {error}") from error


def _row(cells: dict[str, str]) -> LiveRow:
    run = LiveKey(cells["job"], cells["policy"], cells["budget"], int(cells["seed"]))
    return LiveRow(run, float(cells["loss"]), float(cells["seconds"]))
