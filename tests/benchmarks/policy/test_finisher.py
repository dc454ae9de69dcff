"""Training the network that says which tried arm to go on with."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.policy.pool import Source, pack

from bhpt.beliefs.learned import finisher
from bhpt.beliefs.learned.weights import read_weights
from bhpt.domain import FloatArray
from bhpt.spaces import encode_tokens
from bhpt.spaces.ranges import NumberRange

UNITS = 12
ARMS = 40


def training() -> Any:
    """The module that trains, which needs JAX."""
    pytest.importorskip("jax")
    return import_module("benchmarks.policy.finisher")


def everything(pool: Path) -> Any:
    """All tasks of a pool as training draws from them."""
    tables = import_module("benchmarks.policy.named_tasks").Tables(str(pool))
    return tables.on_device(tables.named())


def late_gains(seed: int) -> Source:
    """A table whose arms look alike until a third of their training, and then go by their rate."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(0.0, 1.0, ARMS)
    start = np.minimum(np.arange(UNITS + 1), 4) / 8 + 0.002 * rng.random((ARMS, 1))
    later = np.maximum(np.arange(UNITS + 1) - 4, 0) / 16
    curves: FloatArray = start + rates[:, None] * later
    curves[:, 0] = 0.0
    tokens = encode_tokens(
        [{"late_rate": rate} for rate in rates], {"late_rate": NumberRange(0, 1)}
    )
    return Source("others", f"late_{seed}", "late", curves, rates[:, None], tokens, ("late_rate",))


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pool") / "pool.npz"
    pack([late_gains(seed) for seed in range(6)], file)
    return file


def test_it_learns_which_arms_gain_late(
    pool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = training()
    monkeypatch.setattr(module, "STUDIES", 16)
    monkeypatch.setattr(module, "STRIDE", 20)
    jax = import_module("jax")
    out = tmp_path / "finisher.npz"
    told = ["--pool", str(pool), "--out", str(out), "--steps", "120", "--rate", "5e-3"]
    module.main([*told, "--leave-out", "late_5"])
    assert capsys.readouterr().out.splitlines()[-1].startswith("left out: regret 0.")
    weights = read_weights(out, "finisher")
    assert weights.passport.trained_on.left_out == ("late_5",)
    assert weights.passport.trained_on.kinds == {"late": 5}
    read = everything(pool)
    draw = jax.vmap(lambda key: module.draw(read, key, 5, varied=False))
    choices = draw(jax.random.split(jax.random.PRNGKey(3), 64))
    before = float(module.loss(module.start(jax.random.PRNGKey(0)), choices))
    assert float(module.loss(dict(weights), choices)) < 0.9 * before


def test_training_and_deciding_are_told_the_same(pool: Path) -> None:
    module = training()
    jax = import_module("jax")
    read = everything(pool)
    weights = module.start(jax.random.PRNGKey(1))
    choice = module.draw(read, jax.random.PRNGKey(2), 3, varied=False)
    tokens = np.concatenate(
        [
            choice.values,
            np.broadcast_to(choice.names, (finisher.MOST, *choice.names.shape)),
        ],
        axis=2,
    )
    tokens = tokens * tokens[:, :, :1]
    plain = {name: np.asarray(value) for name, value in weights.items()}
    configured = finisher.configurations(np, plain, tokens)
    seen = np.asarray(choice.seen)
    decided = finisher.scores(np, plain, np.asarray(choice.curves), configured, seen)
    trained = np.asarray(module.judged(weights, choice))
    np.testing.assert_allclose(decided[seen > 0], trained[seen > 0], atol=1e-4)


def test_going_on_with_the_best_arm_misses_nothing(pool: Path) -> None:
    module = training()
    jax = import_module("jax")
    read = everything(pool)
    draw = jax.jit(lambda key: module.draw(read, key, 0, varied=False))
    for seed in range(20):
        choice = draw(jax.random.PRNGKey(seed))
        seen = np.asarray(choice.seen) > 0
        missed = np.asarray(choice.regret)
        assert missed[seen].min() == 0.0
        assert (missed >= 0.0).all()
        assert (missed[~seen] == 0.0).all()
        assert missed.max() <= 1.0


def test_any_part_of_a_large_task_is_drawn_from(pool: Path) -> None:
    pytest.importorskip("jax")
    module, jax = import_module("benchmarks.policy.named_tasks"), import_module("jax")
    read = everything(pool)
    large = read._replace(table=read.table.at[0].set(jax.numpy.array([7, module.ROWS + 5, UNITS])))
    parts = [module.window(large, jax.random.PRNGKey(seed), 0) for seed in range(60)]
    assert {int(first) for first, _ in parts} == {7, 8, 9, 10, 11, 12}
    assert {int(count) for _, count in parts} == {module.ROWS}
    first, count, _ = (int(number) for number in read.table[1])
    assert [int(n) for n in module.window(read, jax.random.PRNGKey(0), 1)] == [first, count]


def test_arms_are_drawn_once_while_there_are_enough_and_then_again() -> None:
    pytest.importorskip("jax")
    module, jax = import_module("benchmarks.policy.named_tasks"), import_module("jax")
    allowed = jax.numpy.arange(module.ROWS) % 50 == 3  # 3, 53, 103, 153, 203, 253
    for seed in range(20):
        few = np.asarray(module.some_of(jax.random.PRNGKey(seed), allowed, 4))
        assert len({*few.tolist()}) == 4
        many = np.asarray(module.some_of(jax.random.PRNGKey(seed), allowed, 13))
        counts = np.unique(many, return_counts=True)
        assert counts[0].tolist() == [3, 53, 103, 153, 203, 253]
        assert {*counts[1].tolist()} == {2, 3}


def test_tasks_are_drawn_by_their_shares(pool: Path) -> None:
    read = everything(pool)
    module, jax = import_module("benchmarks.policy.named_tasks"), import_module("jax")
    shares = np.array([0.5, 0.0, 0.125, 0.25, 0.125, 0.0])
    uneven = read._replace(shares=jax.numpy.asarray(shares))
    drawn = np.asarray(module.drawn_tasks(uneven, jax.random.PRNGKey(0), 40_000))
    np.testing.assert_allclose(np.bincount(drawn, minlength=6) / 40_000, shares, atol=0.01)
