"""Frozen values that every room shares: curves, units, views, errors. Numpy only, no I/O."""

from bhpt.domain.arrays import BoolArray, FloatArray, IntArray
from bhpt.domain.curves import Curves
from bhpt.domain.errors import Misuse
from bhpt.domain.units import Unit
from bhpt.domain.view import View

__all__ = ["BoolArray", "Curves", "FloatArray", "IntArray", "Misuse", "Unit", "View"]
