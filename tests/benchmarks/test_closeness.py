"""What closeness to documented defaults says of how configurations end."""

import numpy as np
import pytest
from benchmarks.closeness import agreement, covered

from bhpt.bench.tasks import Task, from_table


def task(losses: list[float], untrained: float = 1.0) -> Task:
    configs = [{"n_factors": n, "colour_of_it": 1.0 + n} for n in (100, 120, 140, 160)]
    table = np.array([[untrained, loss] for loss in losses])
    return from_table("one", table, configs, 1)


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([0.1, 0.2, 0.3, 0.4], 1.0),  # n_factors is 100 in the library that has this name
        ([0.4, 0.3, 0.2, 0.1], -1.0),
        ([0.2, 0.2, 0.2, 0.2], 0.0),
        ([3.0, 2.0, np.nan, 5.0], 0.0),  # nothing ends below the untrained model
    ],
)
def test_agreement_is_with_the_best_losses(losses: list[float], expected: float) -> None:
    assert agreement(task(losses)) == pytest.approx(expected)


def test_a_name_without_default_is_not_covered() -> None:
    assert covered(task([0.1, 0.2, 0.3, 0.4])) == [True, False]
