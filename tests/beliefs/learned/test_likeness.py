"""Pairs of configurations are compared once, whichever arms are asked about and when."""

import numpy as np
import pytest

from bhpt.beliefs.learned import likeness
from bhpt.beliefs.learned.geometry import likeness_by_column
from bhpt.beliefs.learned.likeness import Likeness
from bhpt.domain import FloatArray, IntArray


def compared(features: FloatArray, rows: IntArray) -> FloatArray:
    x = features[rows]
    found: FloatArray = likeness_by_column(np, x, x, np.ones(x.shape[1]))
    return found


def test_pairs_are_those_of_all_at_once_to_the_last_bit() -> None:
    rng, kept = np.random.default_rng(0), Likeness()
    features = rng.uniform(size=(900, 5))
    for size in (3, 40, 40, 300, 2, 400, 500, 880, 10):
        rows = np.sort(rng.choice(900, size, replace=False))
        np.testing.assert_array_equal(kept.of(features, rows), compared(features, rows))


def test_the_oracle_of_one_pair() -> None:
    x = np.array([[0.0, 0.5], [0.3, 0.5]])
    expected = (np.exp(-0.5) + 1) / 2  # one width apart in a column, the same in the other
    assert Likeness().of(x, np.arange(2))[0, 1] == pytest.approx(expected)


def test_other_configurations_are_compared_anew() -> None:
    rng, kept, rows = np.random.default_rng(1), Likeness(), np.arange(20)
    first, other = rng.uniform(size=(30, 3)), rng.uniform(size=(30, 3))
    kept.of(first, rows)
    np.testing.assert_array_equal(kept.of(other, rows), compared(other, rows))
    longer = np.concatenate([other, rng.uniform(size=(9, 3))])
    np.testing.assert_array_equal(kept.of(longer, np.arange(39)), compared(longer, np.arange(39)))


def test_known_pairs_are_not_compared_again(monkeypatch: pytest.MonkeyPatch) -> None:
    features, kept, counts = np.random.default_rng(2).uniform(size=(60, 4)), Likeness(), []

    def counted(xp: object, x: FloatArray, others: FloatArray, used: FloatArray) -> FloatArray:
        counts.append(len(x))
        found: FloatArray = likeness_by_column(xp, x, others, used)
        return found

    monkeypatch.setattr(likeness, "likeness_by_column", counted)
    kept.of(features, np.arange(50))
    kept.of(features, np.arange(0, 50, 3))
    kept.of(features, np.arange(52))
    assert counts == [50, 2]
