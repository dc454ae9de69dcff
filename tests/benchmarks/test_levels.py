"""The benchmark of levels and falls: what it finds in curves whose ends are known."""

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bhpt.bench
from benchmarks import levels
from bhpt.bench.catalogue import load

DATA = Path(bhpt.bench.__file__).parent / "data"


def test_slopes_are_those_that_the_effect_was_made_with() -> None:
    causes = np.random.default_rng(0).standard_normal((30, 2))
    found = levels.slopes(causes, 3.0 + causes @ np.array([0.7, -0.2]))
    np.testing.assert_allclose(found, [0.7, -0.2])


def test_ends_of_a_packaged_table_follow_levels(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["levels", str(DATA), "--tables", "resnet_cifar10"])
    levels.main()
    ends, predicted, ranks = capsys.readouterr().out.splitlines()
    assert ends == "ends: level 0.75 (0.75 to 0.75), fall 0.27 (0.27 to 0.27) (1 tables)"
    assert predicted.startswith("predicted ends: level ")
    assert ranks.startswith("ranks: predictions 0.")


def test_a_table_that_begins_below_zero_is_left_out_without_a_warning() -> None:
    task = load("resnet_cifar10", 0)
    below = replace(task, losses=task.losses - 2.0, untrained=task.untrained - 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert levels.told(below) is None
