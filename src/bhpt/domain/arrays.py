"""Names for the array types used everywhere."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def median(values: FloatArray) -> float:
    """The median of numbers, none of them NaN; NumPy's takes several times as long for few."""
    middles = [len(values) // 2, (len(values) - 1) // 2]
    ordered = np.partition(values, middles)
    return float(ordered[middles[0]] + ordered[middles[1]]) / 2


def places_of_lowest(values: FloatArray, count: int) -> IntArray:
    """Places of the lowest finite values, lowest first and the earlier first where they tie.

    One after the other: of a few of them that takes less time than sorting or parting all.
    """
    left = np.where(np.isfinite(values), values, np.inf)
    found: list[int] = []
    while len(found) < min(count, len(left)) and left[place := int(left.argmin())] < np.inf:
        found.append(place)
        left[place] = np.inf
    return np.array(found, np.int64)
