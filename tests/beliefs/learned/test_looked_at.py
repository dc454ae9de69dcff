"""Which arms the networks look at: all of few, of many a bounded number that matters."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.learned.looked_at import MOST_LOOKED_AT, by_standing, looked_at
from bhpt.beliefs.learned.network_inputs import network_inputs, observe
from bhpt.domain import Curves, IntArray, Memory, View
from tests.beliefs.learned.cases import KNOWING, curves_of

EPOCHS = 16


def large(seed: int, arms: int = 600, tried: int = 400, reports: int = 900) -> View:
    """A study that has tried many arms, some of them for long."""
    rng = np.random.default_rng(seed)
    table = curves_of(rng, arms, EPOCHS)
    visited = rng.permutation(arms)[:tried]
    counts = np.ones(tried, np.int64)
    order = list(range(tried))
    for row in rng.integers(0, tried // 4, size=reports):
        if counts[row] < EPOCHS and len(order) < reports:
            counts[row] += 1
            order.append(int(row))
    losses = np.where(np.arange(EPOCHS) < counts[:, None], table[visited], 0.0)
    told = np.stack([np.array(order), np.ones(len(order), np.int64)], axis=1)
    curves = Curves(arms, EPOCHS, visited, losses, counts, told)
    return View(curves, 1, 500.0, np.ones(arms), rng.uniform(size=(arms, 3)), 2.0, seed=seed)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 1000), st.integers(0, 40))
def test_no_more_than_a_bound_are_looked_at(seed: int, flying: int) -> None:
    view = large(seed)
    pending = np.random.default_rng(seed).permutation(view.arms)[:flying]
    view = replace(view, pending=pending)
    rows = looked_at(view, KNOWING)
    assert len(rows) <= MOST_LOOKED_AT
    curves = view.curves
    assert np.all(np.diff(rows) > 0)
    assert np.isin(pending, rows).all()
    assert curves.visited[curves.best_by_row.argmin()] in rows
    assert np.isin(curves.visited[curves.reports[-16:, 0]], rows).all()
    assert np.count_nonzero(view.curves.count_by_arm[rows] == 0) >= 100 - flying
    np.testing.assert_array_equal(looked_at(replace(view, memory=Memory()), KNOWING), rows)


def test_of_few_tried_arms_none_is_left_out() -> None:
    view = large(0, arms=300, tried=150, reports=300)
    assert np.isin(view.curves.visited, looked_at(view, KNOWING)).all()


def naive_standing(curves: Curves) -> IntArray:
    """By stage, one arm after the other."""
    stages: dict[int, list[tuple[float, int]]] = {}
    for row, arm in enumerate(curves.visited):
        stage = int(np.log2(curves.counts[row]))
        stages.setdefault(stage, []).append((float(curves.best_by_row[row]), int(arm)))
    ranked = [
        (rank, loss, arm) for own in stages.values() for rank, (loss, arm) in enumerate(sorted(own))
    ]
    return np.array([arm for _, _, arm in sorted(ranked)], np.int64)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_every_stage_come_first(seed: int) -> None:
    curves = large(seed).curves
    np.testing.assert_array_equal(by_standing(curves, 1), naive_standing(curves))


def test_the_choice_stays_while_known_arms_go_on() -> None:
    """So that what is computed from it can be kept; at every sixteenth report it is made anew."""
    view = large(3)
    start = len(view.curves.reports) // 16 * 16
    base = replace(view, curves=view.curves.first(start))
    rows = looked_at(base, KNOWING)
    leader = int(base.curves.visited[base.curves.best_by_row.argmin()])
    curves = base.curves
    for _ in range(2):
        if curves.count_by_arm[leader] < EPOCHS:
            curves = curves.extend(leader, np.array([curves.best]))
        np.testing.assert_array_equal(looked_at(replace(base, curves=curves), KNOWING), rows)


def played(view: View, units: int, workers: int, seed: int) -> list[IntArray]:
    """The arms looked at before each of so many decisions, every one for an arm looked at."""
    rng = np.random.default_rng(seed)
    seen, flying = [], list[int]()
    view = replace(view, split=workers)
    for _ in range(units):
        view = replace(view, pending=np.array(flying, np.int64))
        rows = looked_at(view, KNOWING)
        seen.append(rows)
        flying.append(int(rng.choice(rows[view.choosable[rows]])))
        if len(flying) == workers:
            arm = flying.pop(int(rng.integers(min(4, workers))))
            view = replace(view, curves=view.curves.extend(arm, rng.uniform(0.1, 1.0, 1)))
    return seen


@pytest.mark.parametrize(("workers", "seed"), [(1, 0), (1, 1), (4, 2), (16, 3), (100, 4)])
def test_the_choice_is_made_anew_every_few_units_only(workers: int, seed: int) -> None:
    """Whatever of it is chosen: so what is computed from it can be kept."""
    seen = played(large(seed, arms=1500, tried=700, reports=1200), 400, workers, seed)[200:]
    changes = sum(not np.array_equal(one, other) for one, other in pairwise(seen))
    assert 1 <= changes <= 2 * len(seen) / 16 + 10
    assert max(map(len, seen)) <= MOST_LOOKED_AT + 2 * min(workers, 64)


def test_with_very_many_workers_the_best_of_those_in_flight_are_looked_at() -> None:
    view = large(1, arms=1500, tried=700, reports=1200)
    order = by_standing(view.curves, 1)
    view = replace(view, split=256, pending=np.sort(order[:255]))
    rows = looked_at(view, KNOWING)
    assert len(rows) <= MOST_LOOKED_AT
    assert np.count_nonzero(np.isin(rows, view.pending)) <= 40 + 64  # and those decided since
    assert view.curves.visited[view.curves.best_by_row.argmin()] in rows
    assert np.count_nonzero(view.choosable[rows]) > 150


def test_inputs_of_the_arms_looked_at_are_those_of_their_own_curves() -> None:
    view = large(5)
    rows = looked_at(view, KNOWING)
    moment, _ = observe(view, rows, KNOWING)
    np.testing.assert_array_equal(moment.n, view.curves.count_by_arm[rows])
    reached = np.minimum(view.curves.best_by_arm[rows], 2.0)
    gained = moment.q[np.arange(len(rows)), moment.n]
    np.testing.assert_allclose(2.0 - gained, reached)
    inputs = network_inputs(view, KNOWING)
    assert np.isfinite(inputs.arms).all()
    assert np.isfinite(inputs.study).all()
