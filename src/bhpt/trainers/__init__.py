"""Four kinds of trainer, trained unit by unit: a class, a function, a generator, a command."""

from bhpt.trainers.by_value import ByValue
from bhpt.trainers.import_names import find_name, refuse_during_import, resolve
from bhpt.trainers.interface import BadReport, Trained, Trainer, TrainerFailed, Work
from bhpt.trainers.specs import (
    Command,
    Imported,
    TrainerSpec,
    check,
    load,
    spec_from_json,
    spec_of,
    spec_to_json,
)

__all__ = [
    "BadReport",
    "ByValue",
    "Command",
    "Imported",
    "Trained",
    "Trainer",
    "TrainerFailed",
    "TrainerSpec",
    "Work",
    "check",
    "find_name",
    "load",
    "refuse_during_import",
    "resolve",
    "spec_from_json",
    "spec_of",
    "spec_to_json",
]
