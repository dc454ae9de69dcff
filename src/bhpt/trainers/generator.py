"""The generator function: `def train(config): ...; yield loss`, one loss or mapping an epoch.

It cannot be frozen, so it stays alive in its worker; what is lost with the worker is trained
again from the first epoch, and paid for.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import cast

from bhpt.domain.reports import BadReport, EpochReport, read_reports
from bhpt.trainers.collecting import collect
from bhpt.trainers.interface import Trained, Work


@dataclass(frozen=True)
class GeneratorTrainer:
    """Trains by drawing reports from the generators of a user's function."""

    make: Callable[[dict[str, object]], Iterator[object]]
    name: str
    kind: str = "generator"

    def run(self, work: Work, alive: object | None) -> Trained:
        """Draw the reports; a generator that is not kept starts from its first epoch."""
        reports_of = cast("Iterator[object] | None", alive)
        if reports_of is None:
            reports_of = self.make(dict(work.config))
        end = object()

        def draw() -> tuple[EpochReport, ...]:
            value = next(reports_of, end)
            if value is end:
                raise BadReport(
                    f"{self.name} ended before epoch {work.resume.epochs + work.trained}: "
                    "let it yield one loss an epoch for as long as it is asked, or give max_epochs"
                )
            return read_reports(value, work.objective, self.name)

        reports = collect(draw, work.trained, self.name)
        return work.result(reports, frozen=False), reports_of

    def drop(self, alive: object) -> None:
        """Close the generator: its `finally` and `with` blocks run."""
        if isinstance(alive, Generator):
            alive.close()
