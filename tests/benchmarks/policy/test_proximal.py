"""PPO of many arms: who learns when, who stops, and that a game is learnt."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
batched = import_module("benchmarks.policy.jobs.batched")
deep_job = import_module("benchmarks.policy.jobs.deep_job")
proximal = import_module("benchmarks.policy.jobs.proximal")

SETTINGS: dict[str, object] = {
    "lr": 3e-3, "explore_part": 0.2, "penalty": 0.003, "gain": 0.5, "clip": 0.5, "mix": 1.0,
    "margin": 1e9, "passes": 4, "batch": 64, "steps": 32, "activation": "tanh", "frequency": 1e6,
}  # fmt: skip


def _model(arms: list[dict[str, object]]) -> tuple[Any, Any, Any]:
    """The learner of a corridor of seven, its hyper-parameters and its model."""
    h = batched.hypers([{**SETTINGS, **one} for one in arms], "cpu")
    draw = torch.Generator().manual_seed(1)
    world = proximal._corridor(7)
    weights = deep_job.stack(h, draw, True, (world.observed, 8, 8, world.actions), "actor")
    weights |= deep_job.stack(h, draw, True, (world.observed, 8, 8, 1), "critic")
    learner = proximal._Learner(world, h, draw, weights, 4)
    model = batched.Model(
        weights, learner.loss, learner.play.loss, 1, begin=learner.begin, moving=learner.moving
    )
    return learner, h, model


def test_an_arm_learns_when_its_own_rollout_is_complete() -> None:
    learner, _, model = _model([{"steps": 16}, {"steps": 32}])
    assert learner.begin(model.weights) == 4  # an epoch of 16 x 4 steps is one batch of 64
    assert learner.left.tolist() == [4, 0]
    assert learner.begin(model.weights) == 8
    assert learner.left.tolist() == [4, 8]


def test_a_minibatch_is_a_part_of_the_rollout_where_arms_say_how_many() -> None:
    learner, _, _ = _model([{"parts": 4}, {"batch": 1000}])
    assert learner.size.tolist() == [32, 128]
    assert learner.wanted.tolist() == [16, 4]


def test_an_arm_that_has_moved_too_far_stops_until_its_next_rollout() -> None:
    _, h, model = _model([{"margin": 1e-7}, {}])
    before = {name: w.clone() for name, w in model.weights.items()}
    batched.train(model, h, 2, 1, 0)
    apart = [
        sum(float((model.weights[n] - w).detach()[arm].abs().sum()) for n, w in before.items())
        for arm in (0, 1)
    ]
    assert 0 < apart[0] < apart[1] / 2


def test_a_corridor_is_learnt() -> None:
    torch.set_num_threads(1)
    _, h, model = _model([{}, {"lr": 1e-7}])
    losses = batched.train(model, h, 10, 6, 0)
    assert losses[0, -1] < -0.95
    assert losses[0, -1] < losses[1, -1] - 0.1
    assert np.isfinite(losses).all()
