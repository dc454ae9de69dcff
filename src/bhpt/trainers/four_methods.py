"""The class with four methods: `__init__(config)`, `step()`, `save(folder)`, `load(folder)`."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, cast

from bhpt.domain.reports import read_reports
from bhpt.domain.results import Usage
from bhpt.domain.stopwatch import Stopwatch
from bhpt.trainers.collecting import collect
from bhpt.trainers.interface import Trained, Work


class FourMethods(Protocol):
    """What a user writes."""

    def step(self) -> object:
        """Train one epoch and return its loss or its metrics, or several and return a list."""
        ...

    def save(self, folder: Path) -> None:
        """Freeze: write everything that `load` needs into an empty folder."""
        ...

    def load(self, folder: Path) -> None:
        """Thaw: restore everything, so that `step` goes on where `save` was called."""
        ...


@dataclass(frozen=True)
class ClassTrainer:
    """Trains instances of a user's class; the last one may stay alive between units."""

    make: Callable[[dict[str, object]], FourMethods]
    name: str
    kind: str = "class"

    def run(self, work: Work, alive: object | None) -> Trained:
        """Thaw if need be, step until all epochs are reported, freeze."""
        model = cast("FourMethods | None", alive)
        moving = Stopwatch()
        if model is None:
            model = self.make(dict(work.config))
            if work.resume.place is not None:
                with moving:
                    model.load(work.resume.place)
        step = model.step
        where = f"{self.name}.step()"
        reports = collect(lambda: read_reports(step(), work.objective, where), work.trained, where)
        with moving:
            model.save(work.freeze_to)
        result = work.result(reports, frozen=True)
        return replace(result, usage=Usage(checkpoint_s=moving.seconds)), model

    def drop(self, alive: object) -> None:
        """Nothing to do: an object ends with its last reference."""
