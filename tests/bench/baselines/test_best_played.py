"""Simulate, then choose."""

from typing import Self

import numpy as np

from bhpt.bench.baselines.best_played import BestPlayed
from bhpt.bench.baselines.registry import make_rule, networks
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray, IntArray, View


class _Oracle:
    """A predictor that knows the table, or the table of another study."""

    def __init__(self, table: FloatArray) -> None:
        self._table = table

    def predict(self, _: View) -> Self:
        return self

    def paths(self, arms: IntArray, size: int, _: np.random.Generator) -> FloatArray:
        curves = np.concatenate([np.full((len(self._table), 1), 9.0), self._table], axis=1)
        return np.tile(curves[arms], (size, 1, 1))


def _task(seed: int) -> Task:
    rng = np.random.default_rng(seed)
    drops = rng.exponential(size=(15, 9)) * rng.lognormal(sigma=1.0, size=(15, 1))
    table = 8 * np.exp(-0.1 * drops.cumsum(axis=1)) + rng.random((15, 1))
    return Task("x", table, 9.0, 1, np.linspace(0, 1, 15)[:, None])


def test_with_a_right_predictor_it_ends_no_worse_than_the_best_of_its_policies() -> None:
    for seed in range(8):
        task = _task(seed)
        policies = tuple(make_rule(name) for name in ("random", "asha", "sh"))
        ends = [simulate(task, policy, 40, 0).best for policy in policies[1:]]
        chooser = BestPlayed(policies, _Oracle(task.losses), draws=2)  # type: ignore[arg-type]
        first = simulate(task, policies[0], 1, 0).arms[0]  # it decides before anything is known
        assert simulate(task, chooser, 40, 0).arms[0] == first
        assert simulate(task, chooser, 40, 0).best <= min(ends) + 0.5


def test_it_has_networks_and_a_name() -> None:
    assert networks("best-played") == networks("default") != {}
    task = _task(0)
    assert np.array_equal(
        simulate(task, make_rule("best-played"), 3, 0).arms,
        simulate(task, make_rule("best-played"), 3, 0).arms,
    )
