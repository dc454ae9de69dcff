import math
from fractions import Fraction

import numpy as np
import pytest

from bhpt.trainers import BadReport
from bhpt.trainers.losses import as_losses, collect


class Scalar:
    """Like a tensor of one number in any library."""

    def __float__(self) -> float:
        return 0.25


@pytest.mark.parametrize(
    ("value", "losses"),
    [
        (0.5, (0.5,)),
        (3, (3.0,)),
        (np.float32(0.5), (0.5,)),
        (np.array(0.5), (0.5,)),
        (np.array([0.5, 0.25]), (0.5, 0.25)),
        (Scalar(), (0.25,)),
        (Fraction(1, 4), (0.25,)),
        ([0.5, 1, np.float64(2)], (0.5, 1.0, 2.0)),
        ((0.5,), (0.5,)),
        (math.inf, (math.inf,)),
        ([-math.inf], (-math.inf,)),
    ],
)
def test_numbers_become_losses(value: object, losses: tuple[float, ...]) -> None:
    assert as_losses(value, "step()") == losses


def test_nan_is_kept() -> None:
    assert math.isnan(as_losses(float("nan"), "step()")[0])


@pytest.mark.parametrize(
    "value",
    [None, "0.5", True, np.bool_(True), b"1", {}, {"loss": 0.5}, 1j, [0.5, None], [[0.5]], [],
     np.ones((2, 2)), object()],
)  # fmt: skip
def test_anything_else_is_named_and_refused(value: object) -> None:
    with pytest.raises(BadReport, match=r"Net\.step\(\) gave .*loss"):
        as_losses(value, "Net.step()")


def test_losses_are_collected_until_there_are_enough() -> None:
    batches = iter([(1.0,), (2.0, 3.0), (4.0,)])
    assert collect(lambda: next(batches), 3, "step()") == [1.0, 2.0, 3.0]


def test_more_losses_than_were_due_are_refused() -> None:
    with pytest.raises(BadReport, match="gave 4 losses where 3 were due"):
        collect(lambda: (1.0, 2.0), 3, "step()")
