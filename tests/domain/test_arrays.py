"""Numbers of arrays as NumPy has them, only sooner."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from bhpt.domain import FloatArray
from bhpt.domain.arrays import median, places_of_lowest

NUMBERS = st.floats(-1e300, 1e300, allow_nan=False)


@given(arrays(np.float64, array_shapes(min_dims=1, max_dims=1, max_side=30), elements=NUMBERS))
def test_the_median_is_that_of_numpy(values: FloatArray) -> None:
    assert median(values) == np.median(values)


ANY = st.sampled_from([0.0, -1.0, 2.5, 3.0, np.nan, np.inf, -np.inf])


@given(arrays(np.float64, st.integers(0, 12), elements=ANY), st.integers(0, 14))
def test_the_lowest_are_those_of_a_stable_sort(values: FloatArray, count: int) -> None:
    finite = np.flatnonzero(np.isfinite(values))
    wanted = finite[np.argsort(values[finite], kind="stable")][:count]
    assert places_of_lowest(values, count).tolist() == wanted.tolist()
