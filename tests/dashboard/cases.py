"""Studies to look at."""

from pathlib import Path

import bhpt
from tests.reports.cases import SPACE, loss_at

HOSTILE = "<script>alert(1)</script>"


def stored_study(file: Path, units: int = 15, **more: object) -> bhpt.Study:
    """A study on the disk after so many units, still open; one value of it is hostile."""
    space = {**SPACE, "kind": [HOSTILE, "plain"]}
    study = bhpt.Study(space, "30 epochs", max_epochs=20, keep=bhpt.stored(file), **more)  # type: ignore[arg-type]
    advance(study, units)
    return study


def advance(study: bhpt.Study, units: int) -> None:
    """Train so many units."""
    for _ in range(units):
        unit = study.ask()
        if unit is None:
            return
        study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0)
