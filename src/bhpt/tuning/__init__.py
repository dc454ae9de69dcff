"""Tuning for real: one session of a study with its executor, checkpoints and store."""

from bhpt.tuning.errors import Paused, TrainerBroken
from bhpt.tuning.options import Options
from bhpt.tuning.result import Result
from bhpt.tuning.tune import open_study, resume, stored, tune

__all__ = ["Options", "Paused", "Result", "TrainerBroken", "open_study", "resume", "stored", "tune"]
