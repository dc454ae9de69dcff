"""Ant colonies and additive models: their parts do what they say."""

import numpy as np
import pytest
from benchmarks.policy.jobs.additive import _steps
from benchmarks.policy.jobs.colonies import _order, _tour, _walked, ant_colony
from benchmarks.policy.jobs.ranges import draw_configs, draw_ranges


@pytest.mark.parametrize("tours", [True, False])
def test_ants_visit_every_place_once_and_prefer_what_is_near(tours: bool) -> None:
    task = (_tour if tours else _order)(np.random.default_rng(3))
    flat, draw = np.ones_like(task.eager), np.random.default_rng(0)
    eager = _walked(task, flat, {"alpha": 1.0, "beta": 4.0, "n_ants": 30}, draw)
    blind = _walked(task, flat, {"alpha": 1.0, "beta": 0.0, "n_ants": 30}, draw)
    assert (np.sort(eager, axis=1) == np.arange(len(flat))).all()
    assert task.cost(eager).mean() < task.cost(blind).mean()


def test_the_best_of_a_colony_never_gets_worse() -> None:
    rng = np.random.default_rng(4)
    jobs = [ant_colony(rng) for _ in range(6)]
    job = next(one for one in jobs if "best" in one.metric)
    (config,) = draw_configs(rng, draw_ranges(rng, job.axes), 1)
    losses = job.train(config, 0)
    assert len(losses) == job.units + 1
    assert (np.diff(losses[1:]) <= 0).all()


def test_a_step_has_few_leaves_of_enough_rows() -> None:
    rng = np.random.default_rng(0)
    slope, weight, count = rng.standard_normal(20), np.ones(20), np.full(20, 3.0)
    for leaves in (2, 3, 5):
        config = {"max_leaves": leaves, "min_samples_leaf": 9}
        step = _steps(slope, weight, count, config, None)
        values, rows = np.unique(step, return_counts=True)
        assert len(values) == leaves
        assert (3 * rows >= 9).all()
    halves = np.repeat([1.0, -1.0], 10)
    two = _steps(halves, weight, count, {"max_leaves": 2, "min_samples_leaf": 1}, None)
    np.testing.assert_allclose(two, -halves, atol=1e-6)
    damped = _steps(halves, weight, count, {"max_leaves": 2, "reg_lambda": 10.0}, None)
    np.testing.assert_allclose(damped, -halves / 2, atol=1e-6)
