"""Very many arms: what is kept from one look to the next changes nothing but the time."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.freeze_thaw import asymptotes
from bhpt.beliefs.freeze_thaw import belief as freeze_thaw
from bhpt.beliefs.freeze_thaw.hypers import Structure
from bhpt.beliefs.freeze_thaw.kernel_rows import KernelRows
from bhpt.beliefs.freeze_thaw.kernels import asymptote_covariance
from bhpt.domain import FloatArray, View
from tests.beliefs.cases import Case, draw

CORRELATED = [Structure("se", anchored=True), Structure("matern52", anchored=False)]
ROOMS = [0, 3 * 40, 2**20]  # doubles: no row is kept, three are, all are


def moments(case: Case, view: View) -> tuple[FloatArray, FloatArray]:
    found = case.belief().condition(view).components[0].asymptotes
    return found.mean, found.variance


@pytest.mark.parametrize("room", ROOMS)
@pytest.mark.parametrize("structure", CORRELATED)
def test_new_units_are_worked_in_as_if_all_were_seen_at_once(
    structure: Structure, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = draw(structure, 2, arms=40)
    full = case.view()
    reports = len(full.curves.reports)
    steps = [1, 2, 5, *range(6, reports + 1), 4, 5, reports]  # forward, and back again
    views = [replace(full, curves=full.curves.first(step)) for step in steps]
    views += [replace(view, pending=np.array([0, 7])) for view in views]
    expected = [moments(case, view) for view in views]
    monkeypatch.setattr(asymptotes, "_BLOCK", 7)
    monkeypatch.setattr(asymptotes, "_FEW", 6)
    monkeypatch.setattr(freeze_thaw, "_ROOM", room)
    belief = case.belief()
    for view, (mean, variance) in zip(views, expected, strict=True):
        found = belief.condition(view).components[0].asymptotes
        assert found.informed is not None
        assert found.informed.rows is not None
        np.testing.assert_allclose(found.mean, mean, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(found.variance, variance, rtol=1e-9, atol=1e-10)


def test_other_candidates_are_a_new_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asymptotes, "_BLOCK", 7)
    case = draw(CORRELATED[0], 4, arms=12)
    belief = case.belief()
    belief.condition(case.view())
    moved = replace(case, features=case.features[::-1].copy())
    found = belief.condition(moved.view()).components[0].asymptotes
    mean, variance = moments(moved, moved.view())
    np.testing.assert_allclose(found.mean, mean, atol=1e-12)
    np.testing.assert_allclose(found.variance, variance, atol=1e-12)


@pytest.mark.parametrize("structure", CORRELATED)
def test_few_rows_of_the_covariance_with_many_columns(
    structure: Structure, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = draw(structure, 6, arms=30)
    found = case.mixture().components[0].asymptotes
    _, covariance = case.dense.asymptotes(case.values, case.counts)
    some, everyone = np.array([0, 3, 11]), np.arange(30)
    assert found.informed is not None
    assert 3 < len(found.informed.visited) < 30
    monkeypatch.setattr(asymptotes, "_BLOCK", 100)
    np.testing.assert_allclose(found.covariance(some, everyone), covariance[some], atol=1e-8)
    limit = np.outer(found.shared_deviation, found.shared_deviation)
    off = ~np.eye(30, dtype=bool)
    assert np.all(np.abs(covariance)[off] <= limit[off] + 1e-9)


@pytest.mark.parametrize("room", ROOMS)
def test_rows_of_the_kernel(room: int) -> None:
    case = draw(CORRELATED[1], 1, arms=200)
    hypers, features = case.hypers, case.features
    prior = asymptote_covariance("matern52", hypers, features, features, np.eye(200))
    rows = KernelRows("matern52", hypers, features, room * 5)
    rng = np.random.default_rng(0)
    for size in (3, 70, 150):
        arms = rng.permutation(200)[:size]
        rows.keep(arms)
        weights = rng.standard_normal((2, size))
        np.testing.assert_allclose(rows.weighted(arms, weights), weights @ prior[arms], atol=1e-11)
        part = slice(20, 90)
        np.testing.assert_allclose(rows.block(arms, part), prior[arms, part], atol=1e-12)
