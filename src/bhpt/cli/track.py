"""`bhpt track`: write the curves of a study to a tracker, now."""

from typing import Annotated

import typer

from bhpt.storage import read_store
from bhpt.trackers import find_tracker
from bhpt.trackers.interface import counts
from bhpt.trackers.thread import TrackedRuns
from bhpt.tuning.tracked import tracked_study


def track(
    study: Annotated[str, typer.Argument(help="Its file or address.", metavar="STUDY")],
    to: Annotated[
        list[str],
        typer.Argument(
            help="tensorboard, mlflow, wandb or optuna, each with its place if you like.",
            metavar="NAME[:PLACE]",
        ),
    ],
) -> None:
    """Write the curves of a study to trackers, where not there yet."""
    trackers = [find_tracker(one) for one in to]
    with read_store(study) as reader:
        state = reader.folded().state
        about = tracked_study(reader.address, reader.identity(), state)
    for name, tracker in zip(to, trackers, strict=True):
        runs = TrackedRuns(tracker, about)
        try:
            runs.update(state)
        finally:
            runs.close()
        print(f"{name.removesuffix(':')}: {len(counts(state))} runs of {about.label}")
