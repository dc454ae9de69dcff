"""The benchmark of intervals: what it prints for a packaged table."""

import re
import sys
from pathlib import Path

import pytest

import bhpt.bench
from benchmarks import intervals

DATA = Path(bhpt.bench.__file__).parent / "data"


def test_a_line_for_each_length_of_units(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(intervals, "ARMS", 12)
    monkeypatch.setattr(sys, "argv", ["intervals", str(DATA), "--tables", "fcnet_mnist"])
    intervals.main()
    short, long = capsys.readouterr().out.splitlines()
    assert short.startswith("units 1 times those of the tables, after 1: ")
    assert long.startswith("units 4 times those of the tables, after 1: ")
    found = re.findall(r"(\d): ([01]\.\d+) ± 0\.000 \(1 tables\)", short)
    assert [units for units, _ in found] == ["1", "2", "4"]
    assert all(0 <= float(share) <= 1 for _, share in found)
    assert " 4: " not in long  # 160 epochs are more than a training has
