"""Training the network that picks among tried or untried arms."""

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.policy.pool import Source, pack

from bhpt.beliefs.learned import picker
from bhpt.beliefs.learned.weights import read_weights
from bhpt.domain import FloatArray
from bhpt.spaces import encode_tokens
from bhpt.spaces.ranges import NumberRange

UNITS = 12
ARMS = 40


def training() -> Any:
    """The module that trains, which needs JAX."""
    pytest.importorskip("jax")
    return import_module("benchmarks.policy.picker")


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
    out = tmp_path / "picker.npz"
    told = ["--pool", str(pool), "--out", str(out), "--steps", "120", "--rate", "5e-3"]
    module.main([*told, "--leave-out", "late_5"])
    assert capsys.readouterr().out.splitlines()[-1].startswith("left out: regret 0.")
    weights = read_weights(out, "picker")
    assert weights.passport.trained_on.left_out == ("late_5",)
    assert weights.passport.trained_on.kinds == {"late": 5}
    read = module.read_pool(str(pool), ())
    draw = jax.vmap(lambda key: module.draw(read, key, 5, varied=False))
    choices = draw(jax.random.split(jax.random.PRNGKey(3), 64))
    before = float(module.loss(module.start(jax.random.PRNGKey(0)), choices))
    assert float(module.loss(dict(weights), choices)) < 0.9 * before


def test_training_and_deciding_are_told_the_same(pool: Path) -> None:
    module = training()
    jax = import_module("jax")
    read = module.read_pool(str(pool), ())
    weights = module.start(jax.random.PRNGKey(1))
    choice = module.draw(read, jax.random.PRNGKey(2), 3, varied=False)
    tokens = np.concatenate(
        [
            choice.values,
            np.broadcast_to(choice.names, (module.ARMS, *choice.names.shape)),
        ],
        axis=2,
    )
    tokens = tokens * tokens[:, :, :1]
    plain = {name: np.asarray(value) for name, value in weights.items()}
    configured = picker.configurations(np, plain, tokens)
    tried = np.asarray(choice.tried)
    decided = picker.scores(np, plain, np.asarray(choice.curves), configured, tried)
    trained = np.asarray(module.judged(weights, choice))
    exists = tried + np.asarray(choice.untried) > 0
    np.testing.assert_allclose(decided[exists], trained[exists], atol=1e-4)


def test_the_best_of_the_tried_and_of_the_untried_arms_misses_nothing(pool: Path) -> None:
    module = training()
    jax = import_module("jax")
    read = module.read_pool(str(pool), ())
    draw = jax.jit(lambda key: module.draw(read, key, 0, varied=False))
    for seed in range(20):
        choice = draw(jax.random.PRNGKey(seed))
        tried, untried = np.asarray(choice.tried) > 0, np.asarray(choice.untried) > 0
        missed = np.asarray(choice.regret)
        assert tried.sum() + untried.sum() == ARMS
        assert not (tried & untried).any()
        assert missed[tried].min() == missed[untried].min() == 0.0
        assert (missed >= 0.0).all()
        assert (missed[~tried & ~untried] == 0.0).all()
        assert missed.max() <= 1.0


def some_values(module: Any, seed: int) -> FloatArray:
    """Tokens of one hyper-parameter, all others absent, [R, N, OF_VALUES]."""
    rng = np.random.default_rng(seed)
    tokens = encode_tokens(
        [{"learning_rate": 10.0**e} for e in rng.uniform(-4, -1, module.ARMS)],
        {"learning_rate": NumberRange(1e-4, 1e-1, "log")},
    )[:, :, : module.OF_VALUES]
    values = np.zeros((module.ARMS, module.NAMES, module.OF_VALUES), np.float32)
    values[:, :1] = tokens
    return values


def test_the_best_arm_gets_the_values_of_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    module = training()
    jax = import_module("jax")
    monkeypatch.setattr(module, "EXCHANGED", 1.0)
    values = some_values(module, 1)
    last = np.random.default_rng(2).random(module.ARMS)
    exists = 1.0 * (np.arange(module.ARMS) < 30)
    opposite = []
    for seed in range(12):
        found = np.asarray(module._exchanged(jax.random.PRNGKey(seed), values, last, exists))
        np.testing.assert_array_equal(found[30:], values[30:])
        np.testing.assert_array_equal(np.sort(found[:30, 0, 6]), np.sort(values[:30, 0, 6]))
        given = np.array([int((values[:30, 0, 6] == one).argmax()) for one in found[:30, 0, 6]])
        opposite.append(np.corrcoef(last[:30], last[given])[0, 1])
    assert min(opposite) < -0.8  # the good have those of the bad
    assert max(opposite) > -0.4  # any has those of any


def test_a_range_that_runs_the_other_way_is_that_of_the_mirrored_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = training()
    jax = import_module("jax")
    monkeypatch.setattr(module, "TURNED", 1.0)
    values = some_values(module, 3)
    span = NumberRange(1e-4, 1e-1, "log")
    middle = values[:, 0, 6]
    mirrored = encode_tokens(
        [{"learning_rate": 10.0 ** (-2.5 - 3.0 * m)} for m in middle], {"learning_rate": span}
    )[:, 0, : module.OF_VALUES]
    kept = [at for at in range(module.OF_VALUES) if at not in module._ABSOLUTE]
    turned = 0
    for seed in range(12):
        found = np.asarray(module._turned(jax.random.PRNGKey(seed), jax.numpy.asarray(values)))[
            :, 0
        ]
        if np.array_equal(found, values[:, 0]):
            continue
        turned += 1
        np.testing.assert_allclose(found[:, kept], mirrored[:, kept], atol=1e-3)
        assert (found[:, module._ABSOLUTE] == 0.0).all()
    assert 0 < turned < 12
