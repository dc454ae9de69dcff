"""The code that trains the learned policy: worlds, the pool, and with JAX the studies it plays."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.policy.pool import FEATURES, UNITS, WEIGHTS, Source, by_unit, pack, sources
from benchmarks.policy.worlds import world
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.learned.observing import see
from bhpt.bench.synthetic import synthetic
from bhpt.bench.tasks import PACKAGED, Task, packaged
from bhpt.domain import Curves, Misuse, View


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), arms=st.integers(2, 60), units=st.integers(2, UNITS))
def test_worlds_improve_from_nothing_to_at_most_one(seed: int, arms: int, units: int) -> None:
    improved, x = world(np.random.default_rng(seed), arms, units)
    assert improved.shape == (arms, units + 1)
    assert not improved[:, 0].any()
    assert np.all(np.diff(improved, axis=1) >= 0)
    assert improved.max() in (0, 1)
    assert x.shape[0] == arms
    assert np.all((x >= 0) & (x <= 1))


def test_worlds_differ_and_their_configurations_matter() -> None:
    """Arms that lie near each other end more alike than others, in most worlds."""
    nearer = []
    for seed in range(30):
        improved, x = world(np.random.default_rng(seed), 128, 20)
        distance = ((x[:, None] - x[None, :]) ** 2).sum(axis=2) + 1e9 * np.eye(128)
        end = improved[:, -1]
        apart = np.abs(end - end[distance.argmin(axis=1)]).mean()
        nearer.append(apart < np.abs(end[:, None] - end[None, :]).mean())
    assert np.mean(nearer) > 0.8


def test_improvements_by_unit_by_hand() -> None:
    losses = np.array([[3.0, 1.0, 2.0, np.nan, 0.0], [5.0, np.inf, 6.0, 4.0, 3.0]])
    task = Task("small", losses, 4.0, 2, np.zeros((2, 1)))
    np.testing.assert_allclose(by_unit(task), [[0, 0.75, 0.75, 1], [0, 0, 0, 0.25]])
    useless = Task("useless", np.full((2, 4), 9.0), 4.0, 2, np.zeros((2, 1)))
    assert not by_unit(useless).any()


@pytest.mark.parametrize("name", PACKAGED)
def test_training_and_deciding_see_the_same_curves(name: str) -> None:
    """A unit more of each arm in turn: improvements by unit are those of the table."""
    task = packaged(name)
    table = by_unit(task)
    for units in (1, 3, table.shape[1] - 1):
        curves = Curves.of(list(task.losses[:, : units * task.unit]), task.epochs)
        view = View(
            curves, task.unit, 5.0, np.ones(task.arms), task.features, untrained=task.untrained
        )
        moment = see(view).moment
        assert moment.total == table.shape[1] - 1
        expected = table[:, : units + 1] / table[:, units].max()
        np.testing.assert_allclose(moment.q / moment.q.max(), expected, atol=1e-12)


def small_folder(folder: Path) -> Path:
    """LCBench and TaskSet of four arms and three epochs."""
    rng = np.random.default_rng(0)
    for name, listing, tasks in (("lcbench", "datasets", 18), ("taskset", "tasks", 6)):
        loss = rng.uniform(0.1, 1.0, size=(tasks, 4, 4))
        loss[:, :, 0] = 2.0
        np.savez(
            folder / f"{name}_dev.npz",
            loss=loss,
            X=rng.uniform(size=(4, 2)),
            hp_names=["rate", "size"],
            **{listing: [f"{name}{i}" for i in range(tasks)]},  # type: ignore[arg-type]
        )
    return folder


@pytest.fixture(scope="module")
def pool_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pool")
    out = folder / "pool.npz"
    pack(sources(small_folder(folder), drawn=2, worlds=3), out)
    return out


def test_the_pool_holds_what_was_packed(pool_file: Path) -> None:
    packed = list(sources(pool_file.parent, drawn=2, worlds=3))
    assert {source.suite for source in packed} == set(WEIGHTS)
    with np.load(pool_file) as arrays:
        assert [tuple(row) for row in arrays["names"]] == [(s.suite, s.name) for s in packed]
        assert arrays["table"][-1][:2].sum() == len(arrays["curves"]) == len(arrays["features"])
        for source, (start, rows, units, used) in zip(packed, arrays["table"], strict=True):
            here = slice(start, start + rows)
            found = arrays["curves"][here, : units + 1] / 65535
            np.testing.assert_allclose(found, source.improvements, atol=1e-5)
            last = arrays["curves"][here, units:]
            assert np.all(last == last[:, :1])
            features = source.features[:, :FEATURES]
            assert used == features.shape[1]
            np.testing.assert_allclose(arrays["features"][here, :used], features, atol=1e-3)
            assert not arrays["features"][here, used:].any()


def test_sets_that_benchmarks_run_are_not_in_the_pool(pool_file: Path) -> None:
    drawn = [s.improvements for s in sources(pool_file.parent, 2, 0) if s.suite == "drawn"]
    for seed in range(20):
        for anchored in (True, False):
            table = by_unit(synthetic(seed, anchored=anchored))
            assert not any(np.array_equal(table, other) for other in drawn)


def test_a_task_that_is_too_long_is_refused(tmp_path: Path) -> None:
    long = Source("worlds", "long", np.zeros((2, UNITS + 2)), np.zeros((2, 1)))
    with pytest.raises(Misuse, match="long has 53 units"):
        pack([long], tmp_path / "pool.npz")


# What follows needs JAX; its modules are loaded by name, as mypy runs where it is not installed.


def training(name: str) -> Any:
    pytest.importorskip("jax")
    return import_module(f"benchmarks.policy.{name}")


def instance_of(task: Task, budget: int, costs: Any) -> Any:
    """The study that training would play on a table, padded."""
    studies, features = training("studies"), import_module("bhpt.beliefs.learned.features")
    jnp = import_module("jax.numpy")
    table = by_unit(task)
    arms, units, columns = task.arms, table.shape[1] - 1, task.features.shape[1]
    q = np.zeros((studies.ARMS, UNITS + 1))
    q[:arms] = table[:, np.minimum(np.arange(UNITS + 1), units)]
    x = np.zeros((studies.ARMS, FEATURES))
    x[:arms, :columns] = task.features
    exists = jnp.asarray(1.0 * (np.arange(studies.ARMS) < arms))
    used = jnp.asarray(1.0 * (np.arange(FEATURES) < columns))
    shape = features.geometry(jnp, jnp.asarray(x), exists, used)
    prices = np.ones(studies.ARMS)
    prices[:arms] = costs
    return studies.Instance(
        jnp.asarray(q),
        exists,
        jnp.asarray(prices),
        jnp.asarray(units),
        jnp.asarray(float(budget)),
        shape.near,
        shape.prior,
    )


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("name", ["fcnet_mnist", "arch2_cifar10", "synthetic"])
def test_training_and_deciding_are_told_the_same(name: str, uneven: bool) -> None:
    studies = training("studies")
    look, run = import_module("jax").jit(studies.look), import_module("jax").jit(studies.run)
    task = synthetic(0) if name == "synthetic" else packaged(name)
    rng = np.random.default_rng(0)
    costs = rng.choice([0.5, 1.0, 2.0], task.arms) if uneven else np.ones(task.arms)
    left = 60.0
    instance = instance_of(task, 60, costs)
    state = studies.begin(instance)
    curves = Curves.empty(task.arms, task.epochs)
    for step in range(40):
        view = View(curves, task.unit, left, costs, task.features, untrained=task.untrained)
        if not view.choosable.any():
            break
        sight = see(view)
        arms, study, can = look(instance, state)
        np.testing.assert_allclose(np.asarray(arms)[: task.arms], sight.arms, atol=1e-3)
        np.testing.assert_allclose(study, sight.study, atol=1e-3)
        np.testing.assert_array_equal(np.asarray(can)[: task.arms] > 0, view.choosable)
        again = step > 3 and rng.random() < 0.5
        able = np.flatnonzero(view.choosable & (~again | (curves.count_by_arm > 0)))
        arm = int(rng.choice(able))
        at = int(curves.count_by_arm[arm])
        curves = curves.extend(arm, task.losses[arm, at : at + task.unit])
        left -= float(costs[arm])
        state = run(instance, state, arm, 1.0)
    assert step > 20


@pytest.mark.slow
def test_the_policy_learns_without_harm(pool_file: Path) -> None:
    """One taught iteration and one of its own, with budgets that end before the steps do."""
    train, studies, adam = training("train"), training("studies"), training("adam")
    jax = import_module("jax")
    pool = studies.read_pool(str(pool_file), ("lcbench:0",))
    key = jax.random.PRNGKey(0)
    weights = train.start(pool, key)
    moments, rng = adam.still(weights), np.random.default_rng(0)
    for taught in (True, False):
        before = weights
        turn = train.Turn(4, 5, 10, 1e-3, 0.004, taught)
        weights, moments, regret = train.iterate(weights, moments, pool, key, turn, rng)
        assert 0 <= regret <= 1
        assert all(np.isfinite(value).all() for value in weights.values())
        assert any(not np.array_equal(weights[k], before[k]) for k in weights)
    words = train.tries(
        weights, {"lcbench": studies.read_pool(str(pool_file), (), ("lcbench:0",))}, (10,)
    )
    assert 0 <= float(words.removeprefix("lcbench ")) <= 1


def test_shipped_weights_can_be_trained_on(pool_file: Path) -> None:
    train, studies = training("train"), training("studies")
    jax = import_module("jax")
    pool = studies.read_pool(str(pool_file), ())
    folder = Path(import_module("bhpt.beliefs.learned").__file__ or "").parent / "data"
    weights = train.start(pool, jax.random.PRNGKey(0), str(folder / "policy.npz"))
    with np.load(folder / "policy.npz") as kept:
        for name in kept:
            np.testing.assert_array_equal(weights[name], kept[name])
        assert set(weights) - set(kept) == {"worth"}
    short = np.asarray(train._grown(weights["arm"][:36], weights["arm"].shape))
    np.testing.assert_array_equal(short[:36], weights["arm"][:36])
    assert not short[36:].any()


@pytest.mark.slow
def test_the_predictor_learns(pool_file: Path) -> None:
    ends, studies, adam = training("ends"), training("studies"), training("adam")
    jax = import_module("jax")
    pool, mix = studies.read_pool(str(pool_file), ()), studies.Mix(costs=0.0)
    key = jax.random.PRNGKey(0)
    weights = ends.start(pool, key, mix)
    moments = adam.still(weights)
    instances = studies.draw_many(pool, key, 8, 10, 10, mix)
    losses = []
    for _ in range(10):
        weights, moments, loss = ends.improve(weights, moments, instances, key, 5e-3)
        losses.append(float(loss))
    assert losses[0] == pytest.approx(np.log(42), rel=1e-3)  # all bins alike
    assert losses[-1] < 0.9 * losses[0]


def test_adam_follows_its_definition() -> None:
    adam = training("adam")
    rng = np.random.default_rng(0)
    w, m, v = rng.normal(size=3), np.zeros(3), np.zeros(3)
    weights, moments = {"w": w.astype(np.float32)}, adam.still({"w": w.astype(np.float32)})
    for step in range(1, 6):
        g = rng.normal(size=3)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
        w = w - 0.1 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.99**step)) + 1e-6)
        weights, moments = adam.adam(weights, moments, {"w": g.astype(np.float32)}, 0.1)
    np.testing.assert_allclose(weights["w"], w, atol=1e-4)


def test_tasks_to_leave_out_must_be_there(pool_file: Path) -> None:
    studies = training("studies")
    with pytest.raises(Misuse, match="not in the pool: lcbench:99"):
        studies.read_pool(str(pool_file), ("lcbench:99",))
    pool = studies.read_pool(str(pool_file), ("lcbench:0", "vae_mnist"))
    with np.load(pool_file) as arrays:
        names = [name for _, name in arrays["names"]]
    weights = np.asarray(pool.weights)
    assert weights.sum() == pytest.approx(1)
    assert {names[at] for at in np.flatnonzero(weights == 0)} == {"lcbench:0", "vae_mnist"}
