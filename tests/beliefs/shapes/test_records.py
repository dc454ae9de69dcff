"""Curves through their records, beside a loop that draws the lines one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bhpt.beliefs.shapes.records import are_records, through_records
from bhpt.domain import Curves


@given(st.lists(st.lists(st.floats(0.1, 9.0), max_size=9), min_size=1, max_size=4))
def test_lines_run_from_record_to_record(prefixes: list[list[float]]) -> None:
    curves = Curves.of(prefixes, 9)
    losses = curves.losses[:, : curves.longest]
    values = np.minimum.accumulate(np.where(curves.observed, losses, np.inf), axis=1)
    found = through_records(values, are_records(curves))
    for row, arm in enumerate(curves.visited):
        seen = np.array(prefixes[arm])
        best = np.minimum.accumulate(seen)
        records = np.flatnonzero(seen <= best)
        drawn = np.interp(np.arange(len(seen)), records, seen[records])
        np.testing.assert_allclose(found[row, : len(seen)], drawn)
        assert np.all(np.diff(found[row, : len(seen)]) <= 1e-12)


def test_what_is_not_a_number_is_no_record() -> None:
    curves = Curves.of([[2.0, float("nan"), 1.0, float("inf"), 3.0]], 6)
    np.testing.assert_array_equal(are_records(curves)[0], [True, False, True, False, False])
    values = np.array([[2.0, 2.0, 1.0, 1.0, 1.0]])
    np.testing.assert_allclose(through_records(values, are_records(curves)), [[2, 1.5, 1, 1, 1]])


def test_nothing_observed_is_left_alone() -> None:
    none = Curves.empty(3, 5)
    assert through_records(np.zeros((0, 0)), are_records(none)).shape == (0, 0)
