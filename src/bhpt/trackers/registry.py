"""Trackers by name: our own, and those that installed packages announce by entry points.

A package adds one with an entry point of the group `bhpt.trackers`, named as people write it, that
leads to something which is called with a place, the text behind the colon, and gives a tracker.
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from bhpt.domain.errors import Misuse
from bhpt.trackers.interface import Tracker

GROUP = "bhpt.trackers"
_OWN = {
    "tensorboard": "bhpt.trackers.tensorboard:TensorBoard",
    "mlflow": "bhpt.trackers.mlflow:MLflow",
    "wandb": "bhpt.trackers.wandb:WeightsAndBiases",
    "optuna": "bhpt.trackers.optuna:OptunaJournal",
}


def tracker_names() -> list[str]:
    """The names of all trackers, whether or not the packages that they need are installed."""
    return sorted(_points())


def find_tracker(wanted: object) -> Tracker:
    """A tracker from its name, `NAME` or `NAME:PLACE`; one that is an object already is taken.

    Raises:
        Misuse: There is none of that name, or the package that it needs is missing.
    """
    if isinstance(wanted, Tracker) and not isinstance(wanted, type):
        return wanted
    if not isinstance(wanted, str):
        raise Misuse(f"{type(wanted).__name__} is no tracker: it needs begin, epochs, write, close")
    name, _, place = wanted.partition(":")
    points = _points()
    if name not in points:
        raise Misuse(f"there is no tracker {name!r}: use one of {', '.join(sorted(points))}")
    try:
        make = cast("Callable[[str], Tracker]", points[name].load())
    except ImportError as error:
        raise Misuse(
            f"the tracker {name!r} needs a package that is not installed ({error}): "
            f"pip install 'bhpt[{name}]'"
        ) from error
    return make(place)


def _points() -> dict[str, EntryPoint]:
    own = {name: EntryPoint(name, where, GROUP) for name, where in _OWN.items()}
    return {point.name: point for point in entry_points(group=GROUP)} | own
