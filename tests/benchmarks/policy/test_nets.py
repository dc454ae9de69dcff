"""Tables of small networks for training the policy: plans, data, and with JAX the training."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.policy.nets.arms import DEFAULTS, LAYERS, stack
from benchmarks.policy.nets.data import (
    COLOUR,
    GREY,
    HELD,
    IMAGES,
    OUTPUTS,
    ROWS,
    SEQUENCES,
    VECTORS,
    draw_examples,
)
from benchmarks.policy.nets.space import LONGEST, Plan, draw_plan
from hypothesis import given, settings
from hypothesis import strategies as st


def small_sets() -> dict[str, Any]:
    """Images that can be told apart: each class is bright in rows of its own."""
    rng = np.random.default_rng(0)
    sets: dict[str, Any] = {}
    for name in IMAGES:
        labels = rng.integers(0, 10, 1600).astype(np.uint8)
        images = rng.integers(0, 60, (1600, 16, 16))
        images[np.arange(1600), labels] += 190
        flat = images.reshape(1600, GREY)
        sets[f"{name}_x"] = (flat.repeat(3, axis=1) if name == "cifar10" else flat).astype(np.uint8)
        sets[f"{name}_y"] = labels
    return sets


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), number=st.integers(0, 10**4))
def test_plans_are_within_bounds(seed: int, number: int) -> None:
    plan = draw_plan(seed, number)
    assert 12 <= plan.units <= 52
    assert plan.steps % 4 == 0
    assert 4 <= plan.steps * plan.units <= LONGEST
    assert 3 <= len(plan.ranges) <= 9
    assert 8 <= len(plan.configs) <= 100
    assert len({tuple(c.values()) for c in plan.configs}) == len(plan.configs)
    names = [r.name for r in plan.ranges]
    assert len(set(names)) == len(names)
    for config, setting in zip(plan.configs, plan.settings, strict=True):
        assert list(config) == names
        assert setting["accum"] >= 1
    rows = stack(plan.settings)
    assert np.all((rows.drop >= 0) & (rows.drop < 1))
    assert np.all((rows.width >= 1) & (rows.lr[:, None] > 0))
    assert np.all((rows.depth >= 1) & (rows.depth <= LAYERS))


def test_a_plan_depends_on_seed_and_number_only() -> None:
    assert draw_plan(3, 5) == draw_plan(3, 5)
    assert draw_plan(3, 5) != draw_plan(3, 6)
    assert draw_plan(3, 5) != draw_plan(4, 5)
    assert draw_plan(3, 5, shrink=10).configs == draw_plan(3, 5).configs[:10]


def test_tables_are_of_many_kinds() -> None:
    plans = [draw_plan(0, number) for number in range(200)]
    assert {plan.family for plan in plans} == {"mlp", "cnn", "vae", "rnn", "attention"}
    assert {plan.dataset for plan in plans} >= {*IMAGES, *VECTORS, "adding"}
    assert len({plan.metric for plan in plans}) == 4
    assert len({r.name for plan in plans for r in plan.ranges}) > 40


@pytest.mark.parametrize("name", [*IMAGES, *VECTORS, *SEQUENCES])
def test_examples_have_the_shapes_that_programs_expect(name: str) -> None:
    sets = small_sets()
    for seed in range(4):
        for family in ("mlp", "cnn") if name in IMAGES else ("mlp",):
            made = draw_examples(np.random.default_rng(seed), name, family, sets)
            features = COLOUR if family == "cnn" else GREY
            assert made.x.shape == (ROWS, features)
            assert made.held_x.shape == (HELD, features)
            assert made.targets.shape == (ROWS, OUTPUTS)
            assert 1 <= made.count <= ROWS
            assert not made.targets[:, made.outputs :].any()
            if not made.values:
                np.testing.assert_array_equal(made.held_targets.sum(axis=1), 1)
                assert np.all(made.held_targets.sum(axis=0)[: made.outputs] > 0)


# What follows needs JAX; its modules are loaded by name, as mypy runs where it is not installed.


def nets(name: str) -> Any:
    pytest.importorskip("jax")
    return import_module(f"benchmarks.policy.nets.{name}")


def plan_of(family: str, dataset: str, arms: list[dict[str, Any]], second: bool = False) -> Plan:
    rows = [{**DEFAULTS, "width": 24, **arm} for arm in arms]
    return Plan((0, 0), family, dataset, 16, 16, 5, True, second, "", (), {}, arms, rows)


@pytest.mark.slow  # each compiles a program
@pytest.mark.parametrize(
    ("family", "dataset"),
    [
        ("mlp", "mnist"),
        ("mlp", "regression"),
        ("cnn", "cifar10"),
        ("vae", "mnist"),
        ("rnn", "echo"),
        ("attention", "most"),
    ],
)
def test_networks_learn_stand_still_and_fail(family: str, dataset: str) -> None:
    training = nets("training")
    arms: list[dict[str, Any]]
    arms = [{"lr": 3e-3}, {"lr": 0.0}, {"lr": 1e30, "optimizer": "sgd"}, {"lr": 3e-3, "accum": 4}]
    plan = plan_of(family, dataset, arms)
    made = draw_examples(np.random.default_rng(1), dataset, family, small_sets())
    table = training.train(plan, training.prepare(plan, made, 5), training.compiled(family, 16, 5))
    assert table.shape == (4, 6)
    assert np.all(np.isfinite(table[[0, 1, 3]]))
    np.testing.assert_allclose(table[:, 0], table[0, 0], rtol=1e-4)
    np.testing.assert_allclose(table[1], table[1, 0], rtol=1e-4)
    assert table[0, -1] < table[0, 0]
    assert table[3, -1] < table[3, 0]
    assert table[3, -1] != table[0, -1]
    assert np.isnan(table[2, -1]) or table[2, -1] > 1e6


@pytest.mark.slow
def test_every_optimizer_learns() -> None:
    training, arms = nets("training"), nets("arms")
    rates = {"sgd": 0.05, "nesterov": 0.05, "adagrad": 0.02}
    tried = [{"optimizer": name, "lr": rates.get(name, 3e-3)} for name in arms.OPTIMIZERS]
    plan = plan_of("mlp", "mnist", tried, second=True)
    made = draw_examples(np.random.default_rng(1), "mnist", "mlp", small_sets())
    table = training.train(plan, training.prepare(plan, made, 6), training.compiled("mlp", 16, 6))
    assert np.all(table[:, -1] < 0.8 * table[:, 0])
    assert np.all((table >= 0) & (table <= 1))


def test_schedules_by_hand() -> None:
    optimise, arms = nets("optimise"), nets("arms")
    tried = [{"lr": 2.0, "schedule": s, "gamma": 0.5, "period": 4.0} for s in arms.SCHEDULES]
    tried += [{"lr": 2.0, "warmup": 10.0}]
    rows = arms.stack(tried)
    jax = import_module("jax")
    rates = jax.vmap(lambda arm: optimise.rate(arm, 4.5, 9.0))(rows)
    expected = [2.0, 2 / 16, 1.0, 1.0, 2 / 3, 2 * 4.55 / 10]
    np.testing.assert_allclose(rates, expected, rtol=1e-5)


@pytest.mark.slow
def test_the_command_writes_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main = nets("__main__").main
    np.savez(tmp_path / "data.npz", **small_sets())
    options = ["--data", str(tmp_path / "data.npz"), "--out", str(tmp_path / "tables")]
    main([*options, "--tables", "2", "--first", "7", "--shrink", "20"])
    assert capsys.readouterr().out.count("net_") == 2
    for number in (7, 8):
        plan = draw_plan(0, number, shrink=20)
        words = json.loads((tmp_path / "tables" / f"net_{number:03d}.json").read_text())
        assert words["configs"] == plan.configs
        assert words["epochs_per_unit"] == 1
        assert words["kind"] in ("mlp", "cnn", "autoencoder", "rnn", "attention")
        assert words["metric"] == plan.metric
        with np.load(tmp_path / "tables" / f"net_{number:03d}.npz") as arrays:
            loss = arrays["loss"]
        assert loss.shape == (len(plan.configs), plan.units + 1)
        assert loss.dtype == np.float32
        assert np.isfinite(loss).mean() > 0.3
