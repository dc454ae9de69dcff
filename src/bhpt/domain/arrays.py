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

    Takes linear time, where sorting all of them does not.
    """
    if len(values) > count:
        bound = np.partition(values, count - 1)[count - 1]  # NaN is taken for the highest
        places = np.flatnonzero(values <= bound)
        places = places[np.isfinite(values[places])]
    if len(values) <= count or len(places) < count:  # some of the lowest are not finite
        places = np.flatnonzero(np.isfinite(values))
    return places[np.argsort(values[places], kind="stable")][:count]
