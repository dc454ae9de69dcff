"""A range from 0 to 1 whose ends are whole numbers has two values."""

import pytest

import bhpt
from bhpt.study.whole_ends import note_of_whole_ends


@pytest.mark.parametrize("space", [{"drop": (0, 1)}, {"drop": {"min": 0, "max": 1}, "n": (1, 9)}])
def test_it_is_said(space: dict[str, object]) -> None:
    line = note_of_whole_ends(bhpt.Study(space, "4 epochs").state.plan)
    assert line == (
        "note: 'drop': from 0 to 1 in whole numbers is 0 or 1; write 0.0 and 1.0 for all between"
    )


@pytest.mark.parametrize(
    "space",
    [{"drop": (0.0, 1.0)}, {"bias": [0, 1]}, {"depth": (1, 2)}, [{"drop": 0}, {"drop": 1}]],
)
def test_other_ranges_are_as_they_were_meant(space: object) -> None:
    assert note_of_whole_ends(bhpt.Study(space, "4 epochs").state.plan) is None
