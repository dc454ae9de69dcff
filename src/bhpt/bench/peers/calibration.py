"""How well ends of curves are predicted, from a CSV that another command or person has made.

One line for each suite and part of a curve seen: `suite,seen,coverage,error,last_value`, where
`seen` is the part in percent, `coverage` the share of ends within their 90% interval, and the last
two the mean absolute error of the prediction and of the last value seen.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

from bhpt.domain import Misuse

COLUMNS = ["suite", "seen", "coverage", "error", "last_value"]


@dataclass(frozen=True)
class Calibration:
    """One line."""

    suite: str
    seen: float
    coverage: float
    error: float
    last_value: float


def read(file: Path) -> list[Calibration]:
    """All lines of the file.

    Raises:
        Misuse: If it is not such a file.
    """
    try:
        with file.open(newline="") as text:
            reader = csv.DictReader(text)
            header, lines = reader.fieldnames, list(reader)
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"calibration file {file} cannot be read: {error}") from error
    if header != COLUMNS:
        raise Misuse(f"calibration file {file} needs the columns {','.join(COLUMNS)}")
    try:
        return [
            Calibration(line["suite"], *(float(line[name]) for name in COLUMNS[1:]))
            for line in lines
        ]
    except (TypeError, ValueError) as error:
        raise Misuse(f"calibration file {file}: {error}") from error
