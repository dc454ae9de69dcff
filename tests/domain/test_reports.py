import math
from fractions import Fraction

import numpy as np
import pytest

from bhpt.domain import BadReport, Misuse, Objective, UnitResult
from bhpt.domain.reports import EpochReport, read_reports

LOSS = Objective()
ACC = Objective("acc", "max")


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
    assert tuple(one.loss for one in read_reports(value, LOSS, "step()")) == losses


def test_nan_is_kept() -> None:
    assert math.isnan(read_reports(float("nan"), LOSS, "step()")[0].loss)


@pytest.mark.parametrize(
    "value",
    [None, "0.5", True, np.bool_(True), b"1", {}, {"loss": None}, {"acc": 0.5}, 1j, [0.5, None],
     [[0.5]], [], np.ones((2, 2)), object()],
)  # fmt: skip
def test_anything_else_is_named_and_refused(value: object) -> None:
    with pytest.raises(BadReport, match=r"Net\.step\(\) gave .*loss"):
        read_reports(value, LOSS, "Net.step()")


def test_a_mapping_is_kept_whole_and_its_metric_becomes_the_loss() -> None:
    value = {"acc": np.float32(0.5), "loss": 2, "odd": math.inf}
    (report,) = read_reports(value, ACC, "step()")
    assert report == EpochReport(-0.5, {"acc": 0.5, "loss": 2.0, "odd": math.inf})


def test_several_epochs_may_be_numbers_or_mappings() -> None:
    reports = read_reports([0.25, {"acc": 0.5}], ACC, "step()")
    result = UnitResult.of(reports, frozen=True)
    assert (result.losses, result.metrics) == ((-0.25, -0.5), ({}, {"acc": 0.5}))
    assert UnitResult.of(read_reports([1, 2], ACC, "step()")).metrics == ()


def test_nan_beside_the_objective_is_kept() -> None:
    (report,) = read_reports({"acc": 0.5, "f1": math.nan}, ACC, "step()")
    assert report.loss == -0.5
    assert math.isnan(report.metrics["f1"])


@pytest.mark.parametrize(
    ("value", "match"),
    [
        ({"loss": 1.0, "f1": 0.5}, r"step\(\) gave 'loss', 'f1' but no 'acc': .* a new study"),
        ({}, r"step\(\) gave an empty mapping but no 'acc'"),
        ({f"m{i}": i for i in range(20)}, r"'m7', \.\.\. but no 'acc'"),
        ({"acc": "high"}, "not a number: acc must be one"),
        ({"acc": 0.5, "f1": None}, "not a number: f1 must be one"),
        ({"acc": 0.5, 3: 1.0}, "a metric named 3"),
        ([{"acc": 0.5}, {"f1": 0.5}], "gave 'f1' but no 'acc'"),
    ],
)
def test_a_bad_mapping_says_what_was_there(value: object, match: str) -> None:
    with pytest.raises(BadReport, match=match) as caught:
        read_reports(value, ACC, "step()")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [0.0, 2.5, -1.0, math.inf, -math.inf])
def test_a_value_becomes_a_loss_and_comes_back(value: float) -> None:
    assert ACC.from_loss(ACC.to_loss(value)) == value == LOSS.to_loss(value)
    assert ACC.to_loss(value) == -value
    assert (ACC.to_loss(value) < ACC.to_loss(0.5)) == (value > 0.5)


@pytest.mark.parametrize(
    ("metric", "mode"),
    [
        ("", "min"),
        ("two words", "min"),
        (3, "min"),
        ("loss", "up"),
        (" x", "max"),
        ("\x1b[2J", "max"),
    ],
)
def test_an_objective_that_makes_no_sense_is_refused(metric: str, mode: str) -> None:
    with pytest.raises(Misuse):
        Objective(metric, mode)  # type: ignore[arg-type]
