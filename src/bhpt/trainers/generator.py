"""The generator function: `def train(config): ...; yield loss`, one loss an epoch.

It cannot be frozen, so it stays alive in its worker; what is lost with the worker is trained
again from the first epoch, and paid for.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

from bhpt.trainers.interface import BadReport, Trained, Work
from bhpt.trainers.losses import as_losses, collect


@dataclass(frozen=True)
class GeneratorTrainer:
    """Trains by drawing losses from the generators of a user's function."""

    make: Callable[[dict[str, object]], Iterator[object]]
    name: str
    kind: str = "generator"

    def run(self, work: Work, alive: object | None) -> Trained:
        """Draw the losses; a generator that is not kept starts from its first epoch."""
        losses_of = cast("Iterator[object] | None", alive)
        if losses_of is None:
            losses_of = self.make(dict(work.config))
        end = object()

        def draw() -> tuple[float, ...]:
            value = next(losses_of, end)
            if value is end:
                raise BadReport(
                    f"{self.name} ended before its {work.start + work.epochs} epochs: "
                    "let it yield one loss an epoch for as long as it is asked"
                )
            return as_losses(value, self.name)

        losses = collect(draw, work.epochs, self.name)
        return Trained(tuple(losses), frozen=False, alive=losses_of)
