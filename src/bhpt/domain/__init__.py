"""Frozen values that every room shares: curves, units, results, views. Numpy only, no I/O."""

from bhpt.domain.arrays import BoolArray, FloatArray, IntArray
from bhpt.domain.curves import Curves
from bhpt.domain.errors import Misuse
from bhpt.domain.memory import Memory, Slot
from bhpt.domain.objective import Objective
from bhpt.domain.reports import BadReport
from bhpt.domain.results import Failure, FailureKind, Saved, UnitResult, Usage
from bhpt.domain.resume import Resume
from bhpt.domain.units import Unit
from bhpt.domain.view import View

__all__ = [
    "BadReport",
    "BoolArray",
    "Curves",
    "Failure",
    "FailureKind",
    "FloatArray",
    "IntArray",
    "Memory",
    "Misuse",
    "Objective",
    "Resume",
    "Saved",
    "Slot",
    "Unit",
    "UnitResult",
    "Usage",
    "View",
]
