"""results.csv of a live benchmark: one row a run, appended as runs end."""

from dataclasses import astuple, dataclass
from pathlib import Path

from bhpt.bench.table import append_rows, read_rows, start_table

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
        values = [*astuple(row.run), repr(row.loss), f"{row.seconds:.3f}"]
        append_rows(self.path, [values])

    def rows(self) -> list[LiveRow]:
        """All rows, in the order written."""
        return read_rows(self.path, COLUMNS, _row)


def live_key(cells: dict[str, str]) -> LiveKey:
    """The run that a row is of."""
    return LiveKey(cells["job"], cells["policy"], cells["budget"], int(cells["seed"]))


def _row(cells: dict[str, str]) -> LiveRow:
    return LiveRow(live_key(cells), float(cells["loss"]), float(cells["seconds"]))
