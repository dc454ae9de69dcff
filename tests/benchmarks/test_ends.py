"""Spread of the ends of a table: what counts as an end, and which way it spreads."""

import sys
from pathlib import Path

import numpy as np
import pytest

import bhpt.bench
from benchmarks import ends
from bhpt.bench.tasks import from_table

DATA = Path(bhpt.bench.__file__).parent / "data"


def test_ends_are_logarithms_of_the_lowest_losses_of_arms_that_learn() -> None:
    curves = [[2.0, 0.5, 0.7], [1.9, 1.0, 1.0], [2.0, 2.0, 2.0], [2.0, np.nan, 3.0]]
    table = np.hstack([np.full((4, 1), 2.0), curves])
    task = from_table("some", table, [{"x": k} for k in range(4)], unit=1)
    np.testing.assert_allclose(ends.ends_of(task), np.log([0.25, 0.5]))


def test_ends_that_spread_upwards_are_skewed_and_two_parts_fit_them_better() -> None:
    rng = np.random.default_rng(0)
    low, high = rng.normal(-2.0, 0.1, 60), rng.normal(-1.7, 0.2, 40)
    mixed = np.append(low, high)
    assert ends.skewness(mixed) > 0.5 > abs(ends.skewness(rng.normal(size=2000)))
    assert ends.fitted(mixed, 0.4, 3.0, 2.0) > ends.fitted(mixed) + 5
    assert ends.fitted(low, 0.4, 3.0, 2.0) < ends.fitted(low)


def test_a_gaussian_is_fitted_by_its_moments() -> None:
    found = np.array([-1.0, -2.0, -1.5, -1.25, -1.75])
    expected = -len(found) * (np.log(found.std()) + 0.5)
    assert ends.fitted(found) == pytest.approx(expected, abs=1e-6)


def test_a_line_for_each_prior_of_two_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ends, "PARTS", ((0.4, (2.0, 2.0)),))
    monkeypatch.setattr(sys, "argv", ["ends", str(DATA), "--tables", "fcnet_mnist,vae_mnist"])
    ends.main()
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("skewness of 2 tables")
    assert second.startswith("p = 0.4, a = 2.0, b = 2.0:")
