"""The benchmark of units outside a family: what is noted of them, and what it prints."""

import re
import sys

import numpy as np
import pytest
from benchmarks.outside import OutsideUnit

from benchmarks import outside
from bhpt.bench.catalogue import load
from bhpt.bench.simulate import simulate
from bhpt.policies.registry import make_rule


def test_every_unit_outside_is_noted_and_the_run_is_that_of_the_rule() -> None:
    task = load("arch2_cifar10@6", 0)
    units = outside.play(task, "resnet", 14, 1, priced=True)
    run = simulate(task, make_rule("bhpt-shapes"), 14, 1)
    arms = [int(arm) for arm in run.arms if task.groups[arm] != "resnet"]
    assert [unit.look for unit in units] == [arms[: k + 1].count(a) for k, a in enumerate(arms)]
    left = [14 - at for at, arm in enumerate(run.arms) if task.groups[arm] != "resnet"]
    for unit, units_left in zip(units, left, strict=True):
        assert unit.to_go <= min(8 - unit.look + 1, units_left)


def test_lines_are_means_over_looks() -> None:
    units = [
        OutsideUnit(1, 8, family=False, untried=True),
        OutsideUnit(1, 6, family=True, untried=False),
        OutsideUnit(2, 5, family=True, untried=False),
        OutsideUnit(3, 4, family=True, untried=False),
    ]
    first, later = outside.lines(units, 4)
    assert first.startswith("look 1: 0.5 units a run, 7.0 to go")
    assert "family in 0.50, an arm never tried in 0.50" in first
    assert later.startswith("look 2 and later: 0.5 units a run, 4.5 to go")
    assert "family in 1.00, an arm never tried in 0.00" in later


def test_both_rules_are_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["arch2_cifar10@6", "resnet", "--budget", "6", "--seeds", "1"]
    monkeypatch.setattr(sys, "argv", ["outside", *arguments])
    outside.main()
    heads = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    shares = [float(re.findall(r"[\d.]+$", head)[0]) for head in heads]
    assert [head.split(":")[0] for head in heads] == ["Q", "Q by the unit"]
    assert np.all((np.array(shares) >= 0) & (np.array(shares) <= 1))
