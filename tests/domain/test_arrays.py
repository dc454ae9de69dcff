"""Numbers of arrays as NumPy has them, only sooner."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from bhpt.domain import FloatArray
from bhpt.domain.arrays import median

NUMBERS = st.floats(-1e300, 1e300, allow_nan=False)


@given(arrays(np.float64, array_shapes(min_dims=1, max_dims=1, max_side=30), elements=NUMBERS))
def test_the_median_is_that_of_numpy(values: FloatArray) -> None:
    assert median(values) == np.median(values)
