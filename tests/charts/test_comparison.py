"""Studies side by side, against a count by hand."""

import numpy as np
import pytest

from bhpt.charts.comparison import compare
from bhpt.domain import Misuse
from bhpt.study import State, Study
from tests.study.cases import Greedy


def _state(losses: list[float], budget: str = "20 epochs") -> State:
    study = Study([{"x": 0}, {"x": 1}], budget, policy=Greedy())
    for loss in losses:
        unit = study.ask()
        assert unit is not None
        study.tell(unit, loss, seconds=1.0)
    return study.state


def test_the_best_of_each_after_the_same_use() -> None:
    long = [0.9, 0.8, 0.85, 0.5, 0.6, 0.7, 0.4, 0.3]
    short = [0.7, 0.95, 0.6, 0.65, 0.55, 0.5]
    found = compare([_state(long), _state(short)])
    assert found.used.tolist() == [1, 2, 4, 5, 6]  # whole epochs, as far as the shorter has come
    by_hand = [[min(one[: int(used)]) for used in found.used] for one in (long, short)]
    assert found.best == pytest.approx(np.array(by_hand))


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(Misuse, match="different kinds of budget"):
        compare([_state([0.5]), _state([0.5], "2h")])
    with pytest.raises(Misuse, match="without any result"):
        compare([_state([0.5]), _state([])])
