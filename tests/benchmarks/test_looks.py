"""The benchmark of looks: what a budget reaches with them, and what it prints."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import bhpt.bench
from benchmarks import looks
from bhpt.bench.catalogue import load

DATA = Path(bhpt.bench.__file__).parent / "data"


def test_what_is_left_goes_to_the_arm_that_is_lowest_after_its_look() -> None:
    paths = np.array([[[9, 5, 4, 3, 2, 1], [9, 4, 4, 2.5, 2.5, 2.5], [9, 8, 0, 0, 0, 0]]], float)
    reached = [looks.after_looks(paths, 1, 5, k)[0] for k in (0, 1, 2)]
    assert reached == [1, 2.5, 2.5]
    assert looks.after_looks(paths, 1, 3, 2)[0] == 4  # nothing is left: the best look
    assert looks.after_looks(paths, 1, 50, 0)[0] == 1  # no training goes beyond its end


def test_paths_of_a_table_fall_from_the_untrained_loss() -> None:
    task = load("vae_mnist", 0)
    paths = looks.real_paths(task, np.arange(task.arms))
    assert paths.shape == (task.arms, task.epochs + 1)
    assert (paths[:, 0] == task.untrained).all()
    assert (np.diff(paths, axis=1) <= 0).all()


def test_a_line_for_each_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(DATA), "--tables", "fcnet_mnist", "--budgets", "5,10", "--seeds", "1"]
    monkeypatch.setattr(sys, "argv", ["looks", *arguments])
    looks.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(",")[0] for line in lines] == ["B = 5", "B = 10"]
    found = [float(x) for x in re.findall(r"found ([\d. ]+)", lines[0])[0].split()]
    assert len(found) == 4
    assert all(0 <= x <= 1 for x in found)
