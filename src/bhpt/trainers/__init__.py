"""Three kinds of trainer, trained unit by unit: a class, a generator function, a command."""

from bhpt.trainers.import_names import name_of, refuse_during_import, resolve
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
    "Command",
    "Imported",
    "Trained",
    "Trainer",
    "TrainerFailed",
    "TrainerSpec",
    "Work",
    "check",
    "load",
    "name_of",
    "refuse_during_import",
    "resolve",
    "spec_from_json",
    "spec_of",
    "spec_to_json",
]
