"""The code that trains the learned policy: worlds, the pool, and with JAX the studies it plays."""

import csv
import json
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.policy.pool import (
    FEATURES,
    LOWEST,
    NAMES,
    OF_VALUES,
    UNITS,
    WEIGHTS,
    Labels,
    Source,
    by_unit,
    main,
    pack,
    packed,
    read_labels,
    source,
    sources,
)
from benchmarks.policy.worlds import world
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs import experts
from bhpt.beliefs.learned.arm_opinions import ask_experts, expected
from bhpt.beliefs.learned.geometry import OPINIONS, geometry
from bhpt.beliefs.learned.name_opinions import opinions
from bhpt.beliefs.learned.network import outputs, preferences, trunk
from bhpt.beliefs.learned.network_inputs import network_inputs
from bhpt.beliefs.learned.passport import TrainedOn
from bhpt.beliefs.learned.schema import ARM_FEATURES, STUDY_FEATURES, arm_column
from bhpt.beliefs.learned.weights import (
    read_any_weights,
    read_weights,
    shipped,
    shipped_policy,
    write_weights,
)
from bhpt.bench.synthetic import synthetic
from bhpt.bench.tasks import PACKAGED, Task, packaged
from bhpt.domain import Curves, FloatArray, Misuse, View
from bhpt.policies.registry import make_policy
from bhpt.policies.whole_trainings import WholeTrainings
from bhpt.spaces import encode_tokens
from bhpt.spaces.ranges import NumberRange
from bhpt.spaces.tokens import NAME_HASH, column
from tests.beliefs.learned.cases import named, posterior, some_tokens


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
    np.testing.assert_allclose(by_unit(task), [[0, 0.75, 0.75, 1], [0, -0.25, 0, 0.25]])
    useless = Task("useless", np.array([[5.0] * 4, [np.nan] * 4]), 4.0, 2, np.zeros((2, 1)))
    np.testing.assert_allclose(by_unit(useless), [[0.0, -1.0, -1.0], [0.0, LOWEST, LOWEST]])


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
        moment = network_inputs(view, shipped("policy")).moment
        assert moment.total == table.shape[1] - 1
        seen = table[:, : units + 1] - min(np.median(table[:, 1]), 0)
        seen[:, 0] = 0
        expected = np.maximum(seen, 0) / seen[:, units].max()
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
            hp_names=["learning_rate", "size"],
            **{listing: [f"{name}{i}" for i in range(tasks)]},  # type: ignore[arg-type]
        )
    nets = folder / "nets"
    nets.mkdir()
    for name in ("net0", "net1"):
        loss = np.column_stack([np.full(5, 2.0), rng.uniform(0.1, 1.0, size=(5, 7))])
        np.savez(nets / f"{name}.npz", loss=loss)
        configs = [{"lr": 10.0**-k, "optimizer": "adam"} for k in range(1, 6)]
        (nets / f"{name}.json").write_text(json.dumps({"kind": "cnn", "configs": configs}))
    others = folder / "others"
    others.mkdir()
    for name, kind, key in (
        ("tree0", "trees", "lr"),
        ("tree1", "trees", "lr"),
        ("odd", "odd", "x"),
    ):
        loss = np.column_stack([np.full(6, 2.0), rng.uniform(0.1, 1.0, size=(6, UNITS + 4))])
        np.savez(others / f"{name}.npz", loss=loss)
        configs = [{key: 10.0**-k} for k in range(6)]
        (others / f"{name}.json").write_text(json.dumps({"kind": kind, "configs": configs}))
    return folder


def small_sources(folder: Path) -> list[Source]:
    return list(
        sources(folder, drawn=2, worlds=3, nets=folder / "nets", tables=[folder / "others"])
    )


@pytest.fixture(scope="module")
def pool_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pool")
    out = folder / "pool.npz"
    pack(small_sources(small_folder(folder)), out)
    return out


def test_the_pool_holds_what_was_packed(pool_file: Path) -> None:
    made = small_sources(pool_file.parent)
    assert {source.suite for source in made} == set(WEIGHTS)
    with np.load(pool_file) as arrays:
        assert [tuple(row) for row in arrays["names"]] == [(s.suite, s.name) for s in made]
        assert arrays["table"][-1][:2].sum() == len(arrays["curves"]) == len(arrays["features"])
        assert arrays["kinds"].tolist() == [s.kind for s in made]
        for source, (start, rows, units, used) in zip(made, arrays["table"], strict=True):
            here = slice(start, start + rows)
            found = LOWEST + (1 - LOWEST) * (arrays["curves"][here, : units + 1] / 65535)
            np.testing.assert_allclose(found, source.improvements, atol=4e-5)
            last = arrays["curves"][here, units:]
            assert np.all(last == last[:, :1])
            features = source.features[:, :FEATURES]
            assert used == features.shape[1]
            np.testing.assert_allclose(arrays["features"][here, :used], features, atol=1e-3)
            assert not arrays["features"][here, used:].any()
            told = arrays["tokens"][here]
            assert told.shape == (rows, NAMES, OF_VALUES)
            if source.tokens is None:
                assert source.suite in ("drawn", "worlds")
                assert not told.any()
            else:
                count = source.tokens.shape[1]
                kept = source.tokens[:, :, :OF_VALUES]
                np.testing.assert_allclose(told[:, :count], kept, rtol=1e-3, atol=1e-3)
                assert not told[:, count:].any()
        spoken = arrays["hyperparameters"]
    for source, names in zip(made, spoken, strict=True):
        assert tuple(name for name in names if name) == source.hyperparameters


def test_weights_are_written_with_their_passport(tmp_path: Path) -> None:
    files = {name: str(tmp_path / f"{name}.npz") for name in ("knowledge", "out")}
    own = shipped("policy")
    options = import_module("benchmarks.policy.options")
    words = ["--pool", "p", "--knowledge", files["knowledge"], "--out", files["out"]]
    made = options.parser("train", "", 1.0, 1.0, "")
    options.save(options.parsed(made, words), "policy", own, TrainedOn({"nets": 3}))
    weights = read_weights(Path(files["out"]), "policy")
    assert set(weights) == set(own)  # what was said of the pool is not shipped
    passport = weights.passport
    assert passport.command.startswith("python -m benchmarks.policy.train --pool p --knowledge ")
    assert passport.trained_on == TrainedOn({"nets": 3})
    assert passport.arrays == shipped("policy").digest
    for name, value in shipped("policy").items():
        np.testing.assert_array_equal(weights[name], value)


def test_sets_that_benchmarks_run_are_not_in_the_pool(pool_file: Path) -> None:
    drawn = [s.improvements for s in sources(pool_file.parent, 2, 0) if s.suite == "drawn"]
    for seed in range(20):
        for anchored in (True, False):
            table = by_unit(synthetic(seed, anchored=anchored))
            assert not any(np.array_equal(table, other) for other in drawn)


def test_a_task_that_is_too_long_is_refused(tmp_path: Path) -> None:
    long = Source("worlds", "long", "invented", np.zeros((2, UNITS + 2)), np.zeros((2, 1)))
    with pytest.raises(Misuse, match="long has 53 units"):
        pack([long], tmp_path / "pool.npz")


def test_every_table_has_a_kind(pool_file: Path) -> None:
    labels = read_labels(pool_file)
    kinds = dict(zip(labels.names, labels.kinds, strict=True))
    expected = {
        "lcbench:3": "mlp",
        "fcnet_mnist": "mlp",
        "resnet_cifar10": "cnn",
        "vae_mnist": "autoencoder",
        "taskset:5": "language-model",
        "net0": "cnn",
        "tree1": "trees",
        "drawn:0": "freeze-thaw",
        "worlds:2": "invented",
    }
    assert {name: kinds[name] for name in expected} == expected
    assert labels.chosen(["lcbench:1*"], ["trees"]) == (
        *("lcbench:1", *(f"lcbench:{i}" for i in range(10, 18))),
        *("tree0", "tree1"),
    )
    with pytest.raises(Misuse, match="not in the pool: bushes, lcbench:99; its kinds are auto"):
        labels.chosen(["lcbench:99"], ["bushes"])
    seen = labels.training(["tree0", "vae_mnist"])
    assert seen.suites["others"] == 2
    assert seen.kinds["trees"] == 1
    assert "autoencoder" not in seen.kinds
    assert "tree1" in seen.tasks
    assert not {"drawn:0", "worlds:0", "tree0"} & {*seen.tasks}


def test_suites_share_by_weight_and_other_tables_by_kind() -> None:
    suites = ("a", "a", "a", "others", "others", "others", "others", "others")
    names = tuple("abcdefgh")
    kinds = ("x", "x", "y", "t", "t", "t", "t", "u")
    labels = Labels(suites, names, kinds)
    shares = labels.shares({"a": 0.6, "others": 0.3}, [True] * 8)
    np.testing.assert_allclose(shares[:3], 0.2 / 0.9)
    np.testing.assert_allclose(shares[3:7], 0.3 / 0.9 * 2 / 3 / 4)  # the root of 4 beside that of 1
    np.testing.assert_allclose(shares[7], 0.3 / 0.9 * 1 / 3)
    some = labels.shares({"a": 0.6, "others": 0.3}, [False] * 4 + [True] * 4)
    np.testing.assert_allclose(some, np.array([0, 0, 0, 0, *[3**-0.5] * 3, 1]) / (3**0.5 + 1))
    with pytest.raises(Misuse, match="nothing is left"):
        labels.shares({"b": 1.0}, [True] * 8)


def test_tables_need_a_kind_and_a_name_of_their_own(tmp_path: Path) -> None:
    task = Task("strange", np.full((2, 3), 0.5), 1.0, 1, np.zeros((2, 1)))
    with pytest.raises(Misuse, match=r"strange has no kind: write one into strange\.json"):
        source("others", task)
    made = source("others", replace(task, kind="new"))
    with pytest.raises(Misuse, match="in the pool twice: strange"):
        pack([made, made], tmp_path / "pool.npz")
    wide = Source("others", "wide", "new", np.zeros((2001, 3)), np.zeros((2001, 1)))
    with pytest.raises(Misuse, match="2001 arms, the pool has room for 2000"):
        pack([wide], tmp_path / "pool.npz")


def test_a_long_training_is_packed_whole_in_larger_units() -> None:
    """157 epochs in units of 2 become 40 of 4, the last of one epoch."""
    losses = np.linspace(0.9, 0.1, 3 * UNITS + 1)[None, :].repeat(2, axis=0)
    made = source("others", Task("long", losses, 1.0, 2, np.zeros((2, 1)), kind="new"))
    assert made.improvements.shape == (2, 40 + 1)
    gained = (1.0 - losses[:, [3, 7, -1]]) / 0.9
    np.testing.assert_allclose(made.improvements[:, [1, 2, -1]], gained)


def test_the_pool_can_be_packed_without_a_kind(pool_file: Path, tmp_path: Path) -> None:
    data = pool_file.parent
    words = ["--data", data, "--tables", data / "others", "--drawn", "1", "--worlds", "1"]
    words += ["--out", tmp_path / "pool.npz", "--leave-out-kind", "mlp,odd"]
    main([str(word) for word in words])
    kinds = {*read_labels(tmp_path / "pool.npz").kinds}
    assert kinds == {"cnn", "autoencoder", "language-model", "trees", "freeze-thaw", "invented"}
    with pytest.raises(Misuse, match="no NAME"):
        main([*map(str, words), "--nets", str(tmp_path / "nowhere")])


def test_a_pool_without_kinds_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "old.npz", names=np.array([("a", "b")]))
    with pytest.raises(Misuse, match="pack it anew"):
        read_labels(tmp_path / "old.npz")


# What follows needs JAX; its modules are loaded by name, as mypy runs where it is not installed.


def training(name: str) -> Any:
    pytest.importorskip("jax")
    return import_module(f"benchmarks.policy.{name}")


@pytest.fixture(scope="module")
def knowledge_file(pool_file: Path) -> Path:
    """Any opinions about the pool."""
    with np.load(pool_file) as arrays:
        rows = len(arrays["curves"])
    rng = np.random.default_rng(0)
    said = (0.3 * rng.standard_normal((rows, OPINIONS))).astype(np.float16)
    said[:, -1] = np.abs(said[:, -1])
    out = pool_file.parent / "knowledge.npz"
    np.savez(out, opinions=said[None])
    return out


def instance_of(
    task: Task, budget: float, costs: Any, workers: int = 1, *, timed: bool = False
) -> Any:
    """The study that training would play on a table, padded."""
    studies = training("studies")
    jnp = import_module("jax.numpy")
    table = by_unit(task)
    arms, units, columns = task.arms, table.shape[1] - 1, task.features.shape[1]
    q = np.zeros((studies.ARMS, UNITS + 1))
    q[:arms] = table[:, np.minimum(np.arange(UNITS + 1), units)]
    x = np.zeros((studies.ARMS, FEATURES))
    x[:arms, :columns] = task.features
    said = np.ones((studies.ARMS, OPINIONS))  # of padding, too, but nobody listens
    said[:arms] = 0.0
    if task.tokens is not None:
        asked = ask_experts(task.tokens, None, shipped_policy())
        said[:arms] = experts.combined(asked, experts.weights(asked, []))
    exists = jnp.asarray(1.0 * (np.arange(studies.ARMS) < arms))
    used = jnp.asarray(1.0 * (np.arange(FEATURES) < columns))
    shape = geometry(jnp, jnp.asarray(x), exists, used, jnp.asarray(said))
    prices = np.ones(studies.ARMS)
    prices[:arms] = costs
    return studies.Instance(
        q=jnp.asarray(q),
        exists=exists,
        costs=jnp.asarray(prices),
        guessed=jnp.asarray(prices),
        lasts=jnp.asarray(prices),
        units=jnp.asarray(units),
        budget=jnp.asarray(float(budget)),
        workers=jnp.asarray(workers),
        timed=jnp.asarray(1.0 * timed),
        shape=vars(shape),
    )


class Deciding:
    """A study as deciding sees it: units are reported when they end.

    Args:
        task: The table.
        budget: In all; of the time of each worker if it is `timed`.
        costs: Of a unit of each arm, in time or in what a total is counted in.
        workers: How many units fly at once.
        timed: Whether the budget is a deadline.
    """

    def __init__(
        self, task: Task, budget: float, costs: FloatArray, workers: int, *, timed: bool
    ) -> None:
        self.task, self.left, self.costs, self.workers = task, budget, costs, workers
        self.timed, self.now = timed, 0.0
        self.curves = Curves.empty(task.arms, task.epochs)
        self.flying: list[tuple[int, float]] = []

    def view(self) -> View:
        return View(
            self.curves,
            self.task.unit,
            self.left - self.now if self.timed else self.left,
            self.costs,
            self.task.features,
            untrained=self.task.untrained,
            pending=np.array([arm for arm, _ in self.flying], int),
            lanes=self.workers if self.timed else 1,
            split=1 if self.timed else self.workers,
            tokens=self.task.tokens,
        )

    def set_off(self, arm: int) -> None:
        self.flying.append((arm, self.now + float(self.costs[arm])))
        self.left -= 0.0 if self.timed else float(self.costs[arm])

    def land(self) -> None:
        """Report all that end next if nobody is free, or if nothing can be set off."""
        busy = len(self.flying) >= self.workers or not self.view().choosable.any()
        if not self.flying or not busy:
            return
        self.now = min(end for _, end in self.flying)
        for arm, end in self.flying:
            if end == self.now and not (self.timed and end > self.left):
                at = int(self.curves.count_by_arm[arm])
                losses = self.task.losses[arm, at : at + self.task.unit]
                self.curves = self.curves.extend(arm, losses)
        self.flying = [(arm, end) for arm, end in self.flying if end > self.now]


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("workers", [1, 2, 5, 12])
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("name", ["fcnet_mnist", "arch2_cifar10", "synthetic", "named", "late"])
def test_training_and_deciding_are_told_the_same(
    name: str, uneven: bool, workers: int, timed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Apart from how far experts are trusted, which training leaves as it is at the start."""
    monkeypatch.setattr(experts, "standings", lambda *_: [])
    studies, jit = training("studies"), import_module("jax").jit
    look, set_off, land = jit(studies.look), jit(studies.set_off), jit(studies.land)
    task = packaged(name) if name in PACKAGED else synthetic(0)
    if name == "named":  # some arms lack some of its hyper-parameters
        task = replace(task, tokens=some_tokens(0, task.arms))
    if name == "late":  # most arms start above it
        task = replace(task, untrained=float(np.quantile(task.losses[:, :4], 0.2)))
    rng = np.random.default_rng(0)
    costs = rng.choice([0.5, 1.0, 2.0], task.arms) if uneven else np.ones(task.arms)
    instance = instance_of(task, 60, costs, workers, timed=timed)
    left = 60.0 / workers if timed else 60.0
    state, study = studies.begin(instance), Deciding(task, left, costs, workers, timed=timed)
    ready, flown = jit(studies.ready), 0
    for step in range(40):
        state = land(instance, state)
        while (np.asarray(state.flying) >= 0).any() and not ready(instance, state):
            state = land(instance, state)  # more units end together than one step reports
        study.land()
        view = study.view()
        if not view.choosable.any():
            break
        inputs = network_inputs(view, shipped_policy())
        arms, whole, can = look(instance, state)
        np.testing.assert_array_equal(inputs.rows, np.arange(task.arms))
        np.testing.assert_allclose(np.asarray(arms)[: task.arms], inputs.arms, atol=2e-3)
        assert not np.asarray(arms)[task.arms :].any()
        np.testing.assert_allclose(whole, inputs.study, atol=1e-3)
        np.testing.assert_array_equal(np.asarray(can)[: task.arms] > 0, view.choosable)
        flown = max(flown, int(inputs.arms[:, arm_column("in_flight")].sum()))
        again = step > 3 and rng.random() < 0.5
        able = view.choosable & (view.curves.count_by_arm > 0)
        arm = int(rng.choice(np.flatnonzero(able if again and able.any() else view.choosable)))
        study.set_off(arm)
        state = set_off(instance, state, arm, 1.0)
    assert step > 18
    assert flown == workers - 1  # one of them is free when a unit is chosen
    of_names = [at for at, name in enumerate(ARM_FEATURES) if "opinion" in name]
    assert len(of_names) == 9
    assert inputs.arms[:, of_names].any() == (task.tokens is not None)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("workers", [1, 2, 3, 11])
def test_units_fly_side_by_side_and_land_when_they_end(
    workers: int, timed: bool, seed: int
) -> None:
    """Whatever is chosen: nothing is lost, nothing paid twice, no arm flies twice at once."""
    studies, jit = training("studies"), import_module("jax").jit
    set_off, land, look = jit(studies.set_off), jit(studies.land), jit(studies.look)
    ready, rng = jit(studies.ready), np.random.default_rng(seed)
    arms, units = 14, 4
    budget = 15.0 * workers if timed else 30.0
    task = Task("few", rng.uniform(0, 1, size=(arms, units)), 1.0, 1, rng.uniform(size=(arms, 2)))
    costs = rng.choice([0.5, 1.0, 1.5], arms)
    instance = instance_of(task, budget, costs, workers, timed=timed)
    state = studies.begin(instance)
    flying: list[tuple[float, int]] = []  # in the order in which they took off
    chosen: list[int] = []
    landed: list[int] = []
    now = 0.0
    for _ in range(120):
        if flying and (len(flying) >= workers or not look(instance, state)[2].any()):
            now = min(flying)[0]
        over = [one for one in flying if one[0] <= now][: studies.TOGETHER]
        landed += [arm for _, arm in over]
        flying = [one for one in flying if one not in over]
        state = land(instance, state)
        np.testing.assert_array_equal(state.n[:arms], np.bincount(landed, minlength=arms))
        assert np.asarray(state.flying)[: len(flying)].tolist() == [arm for _, arm in flying]
        assert (np.asarray(state.flying)[len(flying) :] == -1).all()
        assert np.flatnonzero(state.last).tolist() == landed[-1:]
        left = budget / workers - now if timed else budget - costs[chosen].sum()
        assert float(state.left) == pytest.approx(left, abs=1e-4)
        can = np.asarray(look(instance, state)[2])
        assert not can[[arm for _, arm in flying]].any()
        free = len(flying) < workers and not any(end <= now for end, _ in flying)
        assert bool(ready(instance, state)) == free
        if can.any() and free:
            arm = int(rng.choice(np.flatnonzero(can)))
            state = set_off(instance, state, arm, 1.0)
            flying.append((now + costs[arm], arm))
            chosen.append(arm)
        else:  # what is set off nevertheless is not
            idle = set_off(instance, state, 3, 0.0)
            assert float(idle.left) == float(state.left)
            np.testing.assert_array_equal(idle.flying, state.flying)
    assert not flying
    assert sorted(landed) == sorted(chosen)
    assert len(chosen) > 12
    prior, seen = np.asarray(instance.shape["prior"], float), np.asarray(state.n) > 0
    np.testing.assert_allclose(state.covariance, posterior(prior, seen), atol=1e-3)


def test_units_in_flight_count_when_a_total_is_spent() -> None:
    """They have been paid for, and they will land; a worker has half of the four units."""
    studies = training("studies")
    losses = np.array([[0.6, 0.5], [0.9, 0.1], [0.8, 0.7]])
    task = Task("three", losses, 1.0, 1, np.zeros((3, 1)))
    instance = instance_of(task, 4, np.ones(3), workers=2)
    state = studies.begin(instance)
    assert float(studies.regret(instance, state)) == pytest.approx(1)
    # the best improvement that two units can buy is 0.9, the second unit of the second arm
    for arm, regret in ((1, 0.8 / 0.9), (0, 0.5 / 0.9), (1, 0.0)):
        state = studies.set_off(instance, studies.land(instance, state), arm, 1.0)
        assert float(studies.regret(instance, state)) == pytest.approx(regret, abs=1e-4)
    assert (np.asarray(state.flying) >= 0).sum() == 1


def test_what_is_in_flight_at_a_deadline_is_lost() -> None:
    """Two workers with the time of three units each; the last arm takes longer than it promised."""
    studies = training("studies")
    losses = np.array([[0.6, 0.5, 0.5], [0.9, 0.1, 0.0], [0.8, 0.0, 0.0]])
    task = Task("three", losses, 1.0, 1, np.zeros((3, 1)))
    instance = instance_of(task, 6, np.array([1.0, 1.0, 2.0]), workers=2, timed=True)
    instance = instance._replace(guessed=instance.guessed.at[2].set(1.0))
    state = studies.begin(instance)
    for arm in (1, 0):
        state = studies.set_off(instance, studies.land(instance, state), arm, 1.0)
    for arm in (1, 2):
        state = studies.set_off(instance, studies.land(instance, state), arm, 1.0)
    state = studies.land(instance, state)  # the second unit of arm 1; arm 2 ends with the time
    assert (np.asarray(state.n)[:3].tolist(), float(state.left)) == ([1, 2, 0], 1.0)
    assert np.asarray(studies.look(instance, state)[2])[:3].tolist() == [1, 1, 0]
    late = studies.set_off(instance, state, 2, 1.0)  # as if it were not in flight already
    assert float(studies.regret(instance, late)) == pytest.approx(0.1, abs=1e-4)
    state = studies.land(instance, studies.land(instance, late))
    assert (np.asarray(state.n)[:3].tolist(), float(state.left)) == ([1, 2, 1], 0.0)
    for _ in range(2):
        state = studies.land(instance, state)
    assert np.asarray(state.n)[2] == 1  # the unit that would have ended later is never reported
    assert (np.asarray(state.flying) == -1).all()


def test_studies_of_many_workers_have_what_they_are_drawn_for(
    pool_file: Path, knowledge_file: Path
) -> None:
    studies, jax = training("studies"), import_module("jax")
    names = tuple(n for n in read_labels(pool_file).names if n.startswith("worlds"))
    pool = studies.read_pool(str(pool_file), str(knowledge_file), (), names)
    drawn = studies.draw_many(pool, jax.random.PRNGKey(3), 256, 100, 400, studies.MANY, 160)
    exists = np.asarray(drawn.exists).sum(axis=1)
    assert drawn.exists.shape == (256, 160)
    assert exists.max() > studies.ARMS
    workers, budget = np.asarray(drawn.workers), np.asarray(drawn.budget)
    several = workers > 1
    assert 0.7 < several.mean() < 0.95
    assert workers.max() > 40
    assert (workers <= studies.WORKERS).all()
    assert np.median(budget[several] / workers[several]) < 20
    timed, lasts = np.asarray(drawn.timed) > 0, np.asarray(drawn.lasts)
    assert 0.4 < timed.mean() < 0.6
    np.testing.assert_allclose(lasts[timed], np.asarray(drawn.costs)[timed])
    apart = np.abs(lasts / np.asarray(drawn.costs) - 1).max(axis=1) > 0.1
    assert 0.2 < apart[~timed].mean() < 0.4
    alike = (np.asarray(drawn.guessed) == 1).all(axis=1) & (np.ptp(drawn.costs, axis=1) > 0.1)
    assert 0.01 < alike.mean() < 0.3


def kinds_of(pool_file: Path, knowledge_file: Path, suites: tuple[str, ...], **mix: float) -> Any:
    """Many studies of these suites with nothing changed but what is said."""
    studies, jax = training("studies"), import_module("jax")
    with np.load(pool_file) as arrays:
        names = tuple(str(name) for suite, name in arrays["names"] if suite in suites)
    pool = studies.read_pool(str(pool_file), str(knowledge_file), (), names)
    none = dict.fromkeys((field.name for field in fields(studies.Mix)), 0.0)
    return studies.draw_many(
        pool, jax.random.PRNGKey(3), 32, 10, 20, studies.Mix(**{**none, **mix})
    )


def test_prices_have_a_median_of_one_without_padding(pool_file: Path, knowledge_file: Path) -> None:
    for suites in (("tables",), ("lcbench",)):  # fewer arms than there is room for, or very few
        drawn = kinds_of(pool_file, knowledge_file, suites, costs=1.0, fewer=1.0)
        exists, costs = np.asarray(drawn.exists) > 0, np.asarray(drawn.costs)
        assert len(set(exists.sum(axis=1))) > 1 or suites == ("lcbench",)
        assert exists.sum(axis=1).max() < exists.shape[1]
        for mine, here in zip(costs, exists, strict=True):
            assert np.median(mine[here]) == pytest.approx(1, abs=1e-5)
        assert np.ptp(costs[exists]) > 0.5
    plain = kinds_of(pool_file, knowledge_file, ("tables",))
    np.testing.assert_allclose(np.asarray(plain.costs), 1, atol=1e-6)


def test_studies_hear_the_truth_nothing_or_lies(pool_file: Path, knowledge_file: Path) -> None:
    truth, none, lies = (
        kinds_of(pool_file, knowledge_file, ("tables",), **mix).shape
        for mix in ({}, {"nameless": 1.0}, {"misled": 1.0})
    )
    assert np.ptp(truth["standard"], axis=1).min() > 1
    for name in ("opinion", "standard", "certainty"):
        assert not np.asarray(none[name]).any()
    np.testing.assert_allclose(lies["opinion"][..., :-1], -truth["opinion"][..., :-1], atol=1e-5)
    np.testing.assert_allclose(lies["opinion"][..., -1], truth["opinion"][..., -1], atol=1e-5)
    np.testing.assert_allclose(lies["standard"], -truth["standard"], atol=1e-4)


def test_opinions_stay_with_their_arms(pool_file: Path, knowledge_file: Path) -> None:
    """An arm of a drawn study is a row of the pool: its curve and what is said of it."""
    drawn = kinds_of(pool_file, knowledge_file, ("tables",))
    with np.load(pool_file) as arrays, np.load(knowledge_file) as known:
        curves = LOWEST + (1 - LOWEST) * (arrays["curves"] / 65535)
        said = known["opinions"][0].astype(float)
    apart = said[:, -1]  # the one that is not centred
    for study in range(4):
        exists = np.asarray(drawn.exists[study]) > 0
        found = np.asarray(drawn.q[study])[exists]
        rows = [int(np.abs(curves - q).sum(axis=1).argmin()) for q in found]
        np.testing.assert_allclose(curves[rows], found, atol=1e-5)
        told = np.asarray(drawn.shape["opinion"][study])[exists]
        alone = [rows.count(row) == 1 for row in rows]  # some curves are there twice
        assert sum(alone) > 30
        np.testing.assert_allclose(told[alone, -1], apart[rows][alone], atol=1e-4)


def test_workers_are_drawn(pool_file: Path, knowledge_file: Path) -> None:
    studies = training("studies")
    alone = kinds_of(pool_file, knowledge_file, ("tables",)).workers
    beside = np.asarray(kinds_of(pool_file, knowledge_file, ("tables",), beside=1.0).workers)
    assert (np.asarray(alone) == 1).all()
    assert beside.min() >= 2
    assert beside.max() <= studies.WORKERS
    assert len(set(beside)) > 3


def test_what_is_asked_of_names_by_hand() -> None:
    """Ranks at the end, their 8th powers and early ranks, each about zero; equals share a rank."""
    targets = training("knowledge").targets
    curves = np.array([[0, 0.1, 0.2, 0.9], [0, 0.3, 0.4, 0.5], [0, 0.2, 0.3, 0.5], [0, 0, 0, 0.1]])
    end = np.array([4, 2.5, 2.5, 1]) / 4
    early = np.array([2, 4, 3, 1]) / 4
    expected = np.column_stack([end, end**8, early])
    np.testing.assert_allclose(targets(curves), expected - expected.mean(axis=0))


@pytest.mark.parametrize(("units", "early"), [(1, 1), (8, 1), (9, 2), (16, 2), (51, 7)])
def test_early_is_after_an_eighth(units: int, early: int) -> None:
    targets = training("knowledge").targets
    rng = np.random.default_rng(units)
    curves = rng.uniform(size=(20, units + 1))
    ranks = (np.argsort(np.argsort(curves[:, early])) + 1) / 20
    np.testing.assert_allclose(targets(curves)[:, 2], ranks - ranks.mean())


def test_invented_opinions_are_good_bad_or_none() -> None:
    knowledge = training("knowledge")
    target = knowledge.targets(np.random.default_rng(0).uniform(size=(60, 21)))
    alike, none = [], 0
    for seed in range(300):
        said = knowledge.invented(np.random.default_rng(seed), target)
        assert said.shape == (60, OPINIONS)
        assert np.isfinite(said).all()
        if not said.any():
            none += 1
            continue
        assert np.all(said[:, -1] > 0)
        assert np.all(said[:, :-1].std(axis=0) > 0)
        alike.append(np.corrcoef(said[:, 0], target[:, 0])[0, 1])
    assert 0.25 < none / 300 < 0.45
    assert max(alike) > 0.8
    assert min(alike) < -0.2
    assert np.mean(alike) > 0.2  # mostly they help


def test_batches_are_of_the_tasks_asked_for(pool_file: Path) -> None:
    knowledge, jax = training("knowledge"), import_module("jax")
    tables = knowledge.Tables(str(pool_file))
    named = tables.named()
    assert {tables.suites[t] for t in named} == {"lcbench", "taskset", "tables", "nets", "others"}
    assert len(named) == 18 + 6 + len(PACKAGED) + 2 + 3
    asked = [t for t in named if tables.names[t] in ("lcbench:3", "vae_mnist", "fcnet_mnist")]
    pool, target = tables.on_device(asked), knowledge.all_targets(tables, asked)
    draw = jax.jit(lambda key: knowledge.batch(pool, jax.numpy.asarray(target), key, 16))
    widths = {len(tables.spoken[task]) for task in asked}
    drawn = set()
    for seed in range(5):
        told, names, target = map(np.asarray, draw(jax.random.PRNGKey(seed)))
        each = (knowledge.NETWORKS, 16)
        assert told.shape == (*each, knowledge.BATCH, NAMES, OF_VALUES)
        assert names.shape == (*each, NAMES, NAME_HASH)
        assert target.shape == (*each, knowledge.BATCH, OPINIONS - 1)
        assert np.isfinite(told).all()
        np.testing.assert_allclose(target.mean(axis=2), 0.0, atol=1e-6)
        there = told[..., column("present")].any(axis=2).sum(axis=2)
        drawn |= set(there.ravel().tolist())
        absent = told[..., column("present")] == 0
        assert not told[absent].any()
    assert widths <= drawn


def test_arms_of_a_batch_keep_their_tokens_and_targets(pool_file: Path) -> None:
    """What is not told otherwise is what the pool holds, beside the target of the same arm."""
    knowledge, jax = training("knowledge"), import_module("jax")
    tables = knowledge.Tables(str(pool_file))
    task = tables.names.index("vae_mnist")
    rows, at = tables.rows(task), tables.spoken[task].index("lr")
    magnitude = column("magnitude")  # changed by no way of telling
    target = knowledge.all_targets(tables, [task])
    pool = tables.on_device([task])
    told, _, asked = knowledge.batch(pool, jax.numpy.asarray(target), jax.random.PRNGKey(0), 16)
    told, asked = np.asarray(told)[0], np.asarray(asked)[0]
    held = tables.tokens[rows, at, magnitude].astype(float)
    assert len({*held.tolist()}) == len(held)
    seen = 0
    for values, wanted in zip(told[:, :, at], asked, strict=True):
        if not values[:, column("present")].any():  # kept from this task
            continue
        which = rows[np.abs(values[:, magnitude][:, None] - held[None]).argmin(axis=1)]
        np.testing.assert_allclose(wanted, target[which] - target[which].mean(axis=0), atol=1e-6)
        seen += 1
    assert seen > 8


def test_ranges_that_are_cut_are_told_as_if_they_had_been_declared_so() -> None:
    knowledge = training("knowledge")
    values = np.linspace(0.2, 0.6, 5)
    configs = [{"eta0": float(v)} for v in values]
    wide = encode_tokens(configs, {"eta0": NumberRange(0.0, 1.0)})
    part = encode_tokens(configs, {"eta0": NumberRange(0.2, 0.6)})
    wide = np.asarray(knowledge._stretched(import_module("jax.numpy").array(wide), 0, 0.2, 0.6))
    told = [column(n) for n in ("from_middle", "from_middle_squared")]
    np.testing.assert_allclose(wide[:, :, told], part[:, :, told], atol=1e-6)


def test_targets_of_a_task_are_in_its_own_rows(pool_file: Path) -> None:
    knowledge = training("knowledge")
    tables = knowledge.Tables(str(pool_file))
    every = knowledge.all_targets(tables, range(len(tables.names)))
    for made in small_sources(pool_file.parent):
        curves = packed(made.improvements).astype(float)
        found = every[tables.rows(tables.names.index(made.name))]
        np.testing.assert_allclose(found, knowledge.targets(curves), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_training_and_deciding_hear_the_same_of_names(seed: int) -> None:
    """One network at a time, names apart from values, as in training; all at once in earnest."""
    knowledge = training("knowledge")
    told = some_tokens(seed, 30)
    told[2] = 0.0
    reader = shipped("names")
    networks = len(reader["reader_output"])
    one = [{name: value[at] for name, value in reader.items()} for at in range(networks)]
    values, names = told[:, :, :OF_VALUES], told[:, :, OF_VALUES:]
    names = names[np.abs(names).sum(axis=2).argmax(axis=0), np.arange(names.shape[1])]
    trained = np.mean([knowledge._said(each, values, names) for each in one], axis=0)
    expected = opinions(np, reader, told)
    np.testing.assert_allclose(trained, expected[:, :-1], atol=1e-4)
    jnp = import_module("jax.numpy")
    np.testing.assert_allclose(opinions(jnp, reader, told), expected, atol=1e-4)


def test_the_pool_is_told_what_a_study_is_told() -> None:
    """The opinion that the policy is trained with is the one that it decides by."""
    knowledge = training("knowledge")
    view = named(4, arms=30)
    assert view.tokens is not None
    rows = np.arange(30)
    said = expected(view, rows, shipped_policy())
    np.testing.assert_allclose(said, knowledge.ask(shipped("names"), view.tokens), atol=1e-6)


@pytest.mark.slow
def test_knowledge_of_names_is_learned_and_written(
    pool_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says of tasks without names is invented; of others each network says something."""
    knowledge = training("knowledge")
    out = tmp_path / "knowledge.npz"
    words = ["--pool", pool_file, "--out", out, "--steps", "4", "--leave-out", "vae_mnist"]
    monkeypatch.setattr("sys.argv", ["knowledge", *map(str, words)])
    knowledge.main()
    tables = knowledge.Tables(str(pool_file))
    with np.load(out) as file:
        assert set(file) == {"opinions"}
        both = file["opinions"]
    weights = read_weights(tmp_path / "names.npz", "names")
    assert weights.passport.trained_on.left_out == ("vae_mnist",)
    assert both.shape == (2, len(tables.curves), OPINIONS)  # by task and by kind left out
    assert np.isfinite(both).all()
    assert not np.allclose(both[0], both[1])
    said = both[0]
    task = tables.names.index("vae_mnist")  # judged by what will be shipped
    rows, expected = tables.rows(task), knowledge.ask(weights, tables.read(task))
    np.testing.assert_allclose(said[rows], expected, rtol=5e-3, atol=1e-5)
    for name in ("fcnet_mnist", "lcbench:0"):  # judged by networks that have not seen them
        task = tables.names.index(name)
        rows = tables.rows(task)
        assert said[rows].any()
        shipped_ones = knowledge.ask(weights, tables.read(task))
        assert not np.allclose(said[rows], shipped_ones, rtol=5e-2, atol=1e-4)


def test_knowledge_learns_what_there_is_to_know(
    pool_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best arms are those with a high learning rate: the rest is chance."""
    knowledge = training("knowledge")
    monkeypatch.setattr(knowledge, "TASKS", 8)
    tables = knowledge.Tables(str(pool_file))
    task = tables.names.index("vae_mnist")
    rate = tables.spoken[task].index("lr")
    rows, units = tables.rows(task), int(tables.table[task][2])
    told = tables.tokens[rows, rate, column("from_middle")].astype(float)
    tables.curves[rows, 1 : units + 1] = (1000 * (told + 1))[:, None]
    weights = knowledge.train(tables, [task], 150, 0)
    said = knowledge.ask(weights, tables.read(task))
    assert np.corrcoef(said[:, 0], told)[0, 1] > 0.8


def test_networks_say_a_part_of_what_they_learned(
    pool_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    knowledge = training("knowledge")
    monkeypatch.setattr(knowledge, "TASKS", 2)
    tables = knowledge.Tables(str(pool_file))
    task = tables.names.index("vae_mnist")
    monkeypatch.setattr(knowledge, "COUNTED", 0.7)
    part = knowledge.train(tables, [task], 3, 0)
    monkeypatch.setattr(knowledge, "COUNTED", 1.0)
    whole = knowledge.train(tables, [task], 3, 0)
    np.testing.assert_allclose(part["reader_output"], 0.7 * whole["reader_output"], rtol=1e-6)
    np.testing.assert_array_equal(part["reader_token"], whole["reader_token"])


@pytest.mark.slow
@pytest.mark.parametrize("course", ["few", "many"])
def test_the_policy_learns_without_harm(pool_file: Path, knowledge_file: Path, course: str) -> None:
    """One taught iteration and one of its own, with budgets that end before the steps do."""
    train, studies, adam = training("train"), training("studies"), training("adam")
    jax = import_module("jax")
    pool = studies.read_pool(str(pool_file), str(knowledge_file), ("lcbench:0",))
    key = jax.random.PRNGKey(0)
    weights = train.start(pool, key)
    moments, rng = adam.still(weights), np.random.default_rng(0)
    course = train.COURSES[course]
    for taught in (True, False):
        before = weights
        turn = train.Turn(course, train.Bucket(5, 10, 1.0), 4, 1e-3, 0.004, taught)
        weights, moments, regret = train.iterate(weights, moments, pool, key, turn, rng)
        assert 0 <= regret <= 1
        assert all(np.isfinite(value).all() for value in weights.values())
        assert any(not np.array_equal(weights[k], before[k]) for k in weights)
    words = train.tries(
        weights,
        {"lcbench": studies.read_pool(str(pool_file), str(knowledge_file), (), ("lcbench:0",))},
        (10,),
    )
    assert 0 <= float(words.removeprefix("lcbench ")) <= 1


def test_a_policy_is_tried_on_the_kept_tasks_of_each_kind(
    pool_file: Path, knowledge_file: Path
) -> None:
    train, labels = training("train"), read_labels(pool_file)
    pool = training("studies").read_pool(str(pool_file), str(knowledge_file), ())
    found = train.trials(pool, labels, ("tree1", "lcbench:0", "lcbench:1"))
    drawn = {
        kind: {n for n, w in zip(labels.names, one.weights, strict=True) if w > 0}
        for kind, one in found.items()
    }
    assert drawn == {"mlp": {"lcbench:0", "lcbench:1"}, "trees": {"tree1"}}


def test_credit_passes_over_steps_without_a_choice() -> None:
    """Two plays of a study; a step that only reports is skipped, and so is what follows the end."""
    train, jnp = training("train"), import_module("jax.numpy")
    worth = jnp.asarray([[0.1, 0.0], [9.0, 0.2], [0.3, 9.0], [9.0, 9.0]])
    valid = jnp.asarray([[1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    reach = jnp.asarray([0.5, 0.9])
    advantage, gain = train.advantages(worth, valid, jnp.asarray([[0.1, 0.3]]), reach)
    one, other = (float(g) for g in gain)
    assert one == pytest.approx(-other)
    assert one > 0
    last = np.array([one - 0.3, other - 0.2])
    first = np.array([0.3 - 0.1 + 0.5 * last[0], 0.2 - 0.0 + 0.9 * last[1]])
    scale = np.sqrt((last**2).sum() / 4 + (first**2).sum() / 4) + 1e-3
    np.testing.assert_allclose(advantage[0], first / scale, rtol=1e-4)
    np.testing.assert_allclose([advantage[2, 0], advantage[1, 1]], last / scale, rtol=1e-4)


@pytest.mark.parametrize("start", ["policy", "ends"])
def test_shipped_weights_can_be_trained_on(start: str) -> None:
    train, jax = training("train"), import_module("jax")
    file = Path(import_module("bhpt.beliefs.learned").__file__ or "").parent / "data" / "policy.npz"
    kept = read_any_weights(file.with_name(f"{start}.npz"))
    hidden = len(kept["input_bias"])
    sizes = len(ARM_FEATURES), len(STUDY_FEATURES), hidden
    fresh = train.start_weights(jax.random.PRNGKey(0), *sizes)
    weights = train.grown(fresh, str(file.with_name(f"{start}.npz")))
    assert weights.keys() == fresh.keys()
    anew = {"value"} if start == "policy" else {"value", "preference"}
    for name, value in weights.items():
        np.testing.assert_array_equal(value, fresh[name] if name in anew else kept[name])
    assert train.grown(fresh, "") == fresh


def test_weights_grow_by_the_names_of_features(tmp_path: Path) -> None:
    """What was learned stays with its feature, wherever that is now; a new one counts nothing."""
    train, jax = training("train"), import_module("jax")
    schema = shipped("policy").passport.schema
    before = replace(
        schema,
        arm_features=tuple(n for n in ARM_FEATURES[::-1] if n != "tried"),
        study_features=("gone", *STUDY_FEATURES[1:]),
    )
    arm, study = len(before.arm_features), len(before.study_features)
    old = train.start_weights(jax.random.PRNGKey(1), arm, study, 8)
    passport = replace(shipped("policy").passport, schema=before)
    write_weights(tmp_path / "old.npz", old, passport)
    fresh = train.start_weights(jax.random.PRNGKey(0), len(ARM_FEATURES), len(STUDY_FEATURES), 8)
    weights = train.grown(fresh, str(tmp_path / "old.npz"))
    shared = [*STUDY_FEATURES, *ARM_FEATURES]
    shared_before = [*before.study_features, *before.arm_features]
    inside = 3 * 8
    np.testing.assert_array_equal(weights["context"][:inside], old["context"][:inside])
    for name, now, then, skip in (
        ("arm_input", ARM_FEATURES, before.arm_features, 0),
        ("shared_input", shared, shared_before, 0),
        ("context", shared, shared_before, inside),
    ):
        assert weights[name].shape == fresh[name].shape
        for at, feature in enumerate(now):
            row = np.asarray(weights[name][skip + at])
            if feature in then:
                np.testing.assert_array_equal(row, old[name][skip + list(then).index(feature)])
            else:
                assert not row.any()
    write_weights(tmp_path / "v.npz", old, replace(passport, schema=replace(before, version=9)))
    with pytest.raises(Misuse, match="version 9, not 1, of features"):
        train.grown(fresh, str(tmp_path / "v.npz"))


def test_a_wider_network_says_what_the_narrow_one_said(tmp_path: Path) -> None:
    """New hidden units are there and can learn; until they do, nothing changes."""
    train, jax = training("train"), import_module("jax")
    sizes = len(ARM_FEATURES), len(STUDY_FEATURES)
    old = train.start_weights(jax.random.PRNGKey(1), *sizes, 8)
    rng = np.random.default_rng(0)
    old["preference"] = rng.standard_normal(8)
    write_weights(tmp_path / "old.npz", old, shipped("policy").passport)
    fresh = train.start_weights(jax.random.PRNGKey(0), *sizes, 13)
    wide = train.grown(fresh, str(tmp_path / "old.npz"))
    assert {name: w.shape for name, w in wide.items()} == {n: w.shape for n, w in fresh.items()}
    arms, study = rng.standard_normal((6, sizes[0])), rng.standard_normal(sizes[1])
    said = []
    for weights in (old, wide):
        arrays = {name: np.asarray(w, float) for name, w in weights.items()}
        out = outputs(np, arrays, *trunk(np, arrays, arms, study, np.ones(6)))
        said.append(preferences(np, arrays, out, np.ones(6)))
    np.testing.assert_allclose(said[1], said[0], atol=1e-5)
    assert np.asarray(wide["hidden"])[:, 8:].any()
    with pytest.raises(Misuse, match="8 hidden units, the network has 5"):
        train.grown(
            train.start_weights(jax.random.PRNGKey(0), *sizes, 5), str(tmp_path / "old.npz")
        )


def test_prices_may_be_wrong_until_an_arm_is_tried(pool_file: Path, knowledge_file: Path) -> None:
    studies = training("studies")
    right = kinds_of(pool_file, knowledge_file, ("tables",))
    wrong = kinds_of(pool_file, knowledge_file, ("tables",), mispriced=1.0)
    np.testing.assert_array_equal(right.guessed, right.costs)
    assert np.abs(np.log(np.asarray(wrong.guessed / wrong.costs))).max() > 0.5
    task = packaged("vae_mnist")
    honest = instance_of(task, 10.0, np.full(task.arms, 4.0))
    cheap = honest._replace(guessed=honest.costs / 4)
    state = studies.begin(cheap)
    assert float(studies._bought(cheap, state)[0]) == 10  # what it is held to buy
    for _ in range(2):
        state = studies.land(cheap, studies.set_off(cheap, state, 0, 1.0))
    assert (int(state.n[0]), float(state.left)) == (2, 2.0)
    assert float(studies._bought(cheap, state)[0]) == 0  # its price is known by now
    state = studies.land(cheap, studies.set_off(cheap, state, 1, 1.0))
    assert (int(state.n[1]), float(state.left)) == (0, 0.0)  # too dear: all spent, nothing shown


@pytest.mark.slow
def test_the_predictor_learns(pool_file: Path, knowledge_file: Path) -> None:
    ends, studies, adam = training("ends"), training("studies"), training("adam")
    jax = import_module("jax")
    pool, mix = (
        studies.read_pool(str(pool_file), str(knowledge_file), ()),
        studies.Mix(costs=0.0, beside=0.0),
    )
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


def test_knowledge_refuses_to_leave_out_what_is_not_there(pool_file: Path, tmp_path: Path) -> None:
    """A misspelled task would be learned from, and nobody would notice."""
    words = ["--pool", str(pool_file), "--out", str(tmp_path / "k.npz")]
    for asked, name in (("--leave-out", "vae_minst"), ("--leave-out-kind", "tree")):
        with pytest.raises(Misuse, match=f"not in the pool: {name};"):
            training("knowledge").main([*words, asked, name])


def test_tasks_to_leave_out_must_be_there(pool_file: Path, knowledge_file: Path) -> None:
    studies = training("studies")
    with pytest.raises(Misuse, match="not in the pool: lcbench:99"):
        studies.read_pool(str(pool_file), str(knowledge_file), ("lcbench:99",))
    pool = studies.read_pool(str(pool_file), str(knowledge_file), ("lcbench:0", "vae_mnist"))
    with np.load(pool_file) as arrays:
        names = [name for _, name in arrays["names"]]
    weights = np.asarray(pool.weights)
    assert weights.sum() == pytest.approx(1)
    assert {names[at] for at in np.flatnonzero(weights == 0)} == {"lcbench:0", "vae_mnist"}


@pytest.mark.parametrize(("by", "parts"), [("task", 6), ("kind", 6)])
def test_folds_hold_every_task_once(pool_file: Path, by: str, parts: int) -> None:
    knowledge = training("knowledge")
    tables = knowledge.Tables(str(pool_file))
    tasks = tables.named()
    found = knowledge.folds(tables, tasks, by, 6)
    assert sorted(t for part in found for t in part) == tasks
    kinds = [{tables.labels.kinds[t] for t in part} for part in found]
    assert len(found) == parts
    if by == "kind":  # mlp, cnn, autoencoder, language-model, trees, odd: each in one part alone
        assert sum(map(len, kinds)) == len(set.union(*kinds)) == 6


def test_readers_are_compared_on_kinds_that_they_have_not_met(
    pool_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(training("knowledge"), "TASKS", 2)
    out = tmp_path / "judgements.csv"
    words = ["--pool", str(pool_file), "--new", "trees", "--parts", "2", "--seeds", "1"]
    training("widening").main([*words, "--by", "kind", "--steps", "2", "--out", str(out)])
    with out.open() as file:
        rows = list(csv.DictReader(file))
    kinds = {row["kind"] for row in rows}
    assert "trees" in kinds
    for row in rows:
        twin = [r["pool"] for r in rows if r["task"] == row["task"]]
        assert sorted(twin) == ["narrow", "wide"]
        assert -1 <= float(row["together"]) <= 1
        assert 0 <= float(row["missed"]) <= 1
    printed = capsys.readouterr().out
    assert "trees                  *" in printed
    assert f"all kinds                {len(kinds):6d}" in printed


def test_tables_that_are_new_are_found_by_kind_and_by_name(pool_file: Path) -> None:
    tables = training("knowledge").Tables(str(pool_file))
    only_wide = training("widening").only_wide
    by_kind = only_wide(tables, ["trees"], [])
    assert {tables.labels.kinds[t] for t in by_kind} == {"trees"}
    by_name = only_wide(tables, [], ["lcbench:*"])
    assert {tables.names[t] for t in by_name} == {
        tables.names[t] for t in tables.named() if tables.names[t].startswith("lcbench:")
    }
    assert by_name
    assert only_wide(tables, ["trees"], ["lcbench:*"]) == by_kind | by_name


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_one_command_retrains_and_goes_on_where_it_ended(
    pool_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    retrain, data = training("retrain"), pool_file.parent
    words = ["--data", data, "--nets", data / "nets", "--tables", data / "others", "--drawn", 1]
    words += ["--worlds", 1, "--steps", 2, "--seconds", 1, "--ends-seconds", 1, "--shrink", 128]
    words += ["--finisher-steps", 1]
    words += ["--leave-out-kind", "trees", "--work", tmp_path / "work", "--out", tmp_path / "new"]
    told = [str(word) for word in words]
    retrain.main([*told, "--until", "knowledge"])
    assert not (tmp_path / "new").exists()
    capsys.readouterr()
    retrain.main(told)
    printed = capsys.readouterr().out
    assert printed.count("done before") == 2
    for network in ("policy", "ends", "names", "finisher"):
        weights = read_any_weights(tmp_path / "new" / f"{network}.npz")
        passport = weights.passport
        assert passport.trained_on.left_out == ("tree0", "tree1")
        assert "trees" not in passport.trained_on.kinds
        assert passport.trained_on.suites["lcbench"] == 18
        assert passport.shapes.keys() == weights.keys()
        assert "value" not in weights
        assert weights.knows_names == (network == "names")
    assert isinstance(make_policy(f"default:{tmp_path / 'new'}"), WholeTrainings)
    retrain.main(told)
    assert capsys.readouterr().out.count("done before") == len(retrain.STAGES)
