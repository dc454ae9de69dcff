"""Values that share what they hold: no value ever changes, whichever of them is added to."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain.arrays import places_of_lowest
from bhpt.domain.growing import GrowingList, GrowingRows

_STEPS = st.lists(st.tuples(st.integers(0, 20), st.lists(st.integers(0, 9), max_size=4)))


@given(_STEPS)
@settings(deadline=None)
def test_any_interleaving_of_lists_equals_copying(steps: list[tuple[int, list[int]]]) -> None:
    made: list[tuple[GrowingList[int], list[int]]] = [(GrowingList(), [])]
    for pick, added in steps:
        grown, copied = made[-1 - pick % len(made)]
        made.append((grown.plus(added), [*copied, *added]))
    for grown, copied in made:
        assert list(grown) == copied
        assert grown == copied
        assert len(grown) == len(copied)
        assert grown[1:-1] == copied[1:-1]
        assert [grown[at] for at in range(-len(copied), len(copied))] == [*copied, *copied]


@given(_STEPS)
@settings(deadline=None)
def test_any_interleaving_of_rows_equals_copying(steps: list[tuple[int, list[int]]]) -> None:
    made = [(GrowingRows.of(np.zeros((1, 2))), np.zeros((1, 2)))]
    for pick, added in steps:
        grown, copied = made[-1 - pick % len(made)]
        rows = np.array(added, float).reshape(-1, 1) * [1.0, 2.0]
        made.append((grown.plus(rows), np.vstack([copied, rows])))
    for grown, copied in made:
        np.testing.assert_array_equal(grown.array, copied)
        assert not grown.array.flags.writeable


@given(
    st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan, np.inf, -np.inf]), max_size=12),
    st.integers(1, 5),
)
def test_the_lowest_are_those_of_a_stable_sort(values: list[float], count: int) -> None:
    array = np.array(values, float)
    order = [int(at) for at in np.argsort(array, kind="stable") if np.isfinite(array[at])]
    assert places_of_lowest(array, count).tolist() == order[:count]
