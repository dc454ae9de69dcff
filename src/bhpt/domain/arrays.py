"""Names for the array types used everywhere."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def lowest(values: FloatArray, count: int) -> IntArray:
    """Places of the lowest finite values, lowest first and the earlier first where they tie.

    Takes linear time, where sorting all of them does not.
    """
    finite = np.flatnonzero(np.isfinite(values))
    if len(finite) > count:
        bound = np.partition(values[finite], count - 1)[count - 1]
        finite = finite[values[finite] <= bound]
    return finite[np.argsort(values[finite], kind="stable")][:count]
