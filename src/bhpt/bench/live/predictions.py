"""predictions.csv of a live benchmark: what studies predicted of their own ends, and what came."""

from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np

from bhpt.bench.live.runs import EndPrediction
from bhpt.bench.live.table import LiveKey, live_key
from bhpt.bench.table import append_rows, read_rows, start_table

_COLUMNS = [
    *("job", "policy", "budget", "seed"),
    *("at", "best", "expected", "low", "high", "reached"),
]


@dataclass(frozen=True)
class KeptPrediction:
    """A prediction of a run, and the loss that the run reached."""

    run: LiveKey
    prediction: EndPrediction
    reached: float


class LivePredictions:
    """The table in a folder."""

    def __init__(self, folder: Path) -> None:
        """Open or start the table."""
        self.path = folder / "predictions.csv"
        start_table(self.path, _COLUMNS)

    def append(self, run: LiveKey, predictions: tuple[EndPrediction, ...], reached: float) -> None:
        """Add the predictions of a run and flush them."""
        numbers = ((*astuple(one), reached) for one in predictions)
        append_rows(
            self.path,
            ([*astuple(run), *(repr(float(number)) for number in row)] for row in numbers),
        )

    def rows(self) -> list[KeptPrediction]:
        """All rows, in the order written."""
        return read_rows(self.path, _COLUMNS, _row)


def _row(cells: dict[str, str]) -> KeptPrediction:
    run = live_key(cells)
    names = ("at", "best", "expected", "low", "high")
    return KeptPrediction(
        run, EndPrediction(*(float(cells[name]) for name in names)), float(cells["reached"])
    )


@dataclass(frozen=True)
class Honesty:
    """How good the predictions of a policy were.

    Attributes:
        policy: Its name.
        covered: The part of 90% intervals that held what was reached.
        ratio: The median of predicted over actual gain, where there was a gain; NaN if nowhere.
        predictions: How many.
    """

    policy: str
    covered: float
    ratio: float
    predictions: int

    def __str__(self) -> str:
        """One line for a person."""
        gained = f"median of predicted over actual gain {self.ratio:.2f}"
        return (
            f"{self.policy}: {self.predictions} predictions of its end, {self.covered:.0%} of 90% "
            f"intervals held, {'nothing was gained' if np.isnan(self.ratio) else gained}"
        )


def honesty(rows: list[KeptPrediction]) -> list[Honesty]:
    """How good predictions were, by policy."""
    found = []
    for policy in sorted({row.run.policy for row in rows}):
        own = [row for row in rows if row.run.policy == policy]
        _, best, expected, low, high, reached = np.array(
            [(*astuple(row.prediction), row.reached) for row in own]
        ).T
        covered = float(np.mean((low <= reached) & (reached <= high)))
        gained = best > reached
        ratios = (best - expected)[gained] / (best - reached)[gained]
        ratio = float(np.median(ratios)) if len(ratios) else float("nan")
        found.append(Honesty(policy, covered, ratio, len(own)))
    return found
