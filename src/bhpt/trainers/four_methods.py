"""The class with four methods: `__init__(config)`, `step()`, `save(folder)`, `load(folder)`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from bhpt.trainers.interface import Trained, Work
from bhpt.trainers.losses import as_losses, collect


class FourMethods(Protocol):
    """What a user writes."""

    def step(self) -> object:
        """Train one epoch and return its loss, or several and return a list."""
        ...

    def save(self, folder: Path) -> None:
        """Freeze: write everything that `load` needs into an empty folder."""
        ...

    def load(self, folder: Path) -> None:
        """Thaw: go on as if nothing had happened."""
        ...


@dataclass(frozen=True)
class ClassTrainer:
    """Trains instances of a user's class; the last one may stay alive between units."""

    make: Callable[[dict[str, object]], FourMethods]
    name: str
    kind: str = "class"

    def run(self, work: Work, alive: object | None) -> Trained:
        """Thaw if need be, step until the losses have come, freeze."""
        model = cast("FourMethods | None", alive)
        if model is None:
            model = self.make(dict(work.config))
            if work.thaw_from is not None:
                model.load(work.thaw_from)
        step = model.step
        where = f"{self.name}.step()"
        losses = collect(lambda: as_losses(step(), where), work.epochs, where)
        model.save(work.freeze_to)
        return Trained(tuple(losses), frozen=True, alive=model)
