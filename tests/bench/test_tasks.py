"""Tables: good ones load, bad ones end in one clear line."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bhpt.bench.calibration import partly_trained
from bhpt.bench.catalogue import load
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import PACKAGED, from_pair
from bhpt.domain import Misuse, View
from bhpt.policies.interface import Decision
from bhpt.spaces import encode_tokens, infer_ranges
from bhpt.spaces.tokens import column


def write_pair(folder: Path, name: str, loss: object, about: object) -> None:
    np.savez(folder / f"{name}.npz", loss=np.asarray(loss))
    (folder / f"{name}.json").write_text(json.dumps(about))


CONFIGS = [{"lr": 0.1, "act": "relu"}, {"lr": 0.001, "act": "tanh"}]


@pytest.mark.parametrize("name", PACKAGED)
def test_packaged_tables_load(name: str) -> None:
    task = load(name, 0)
    assert task.arms >= 49
    assert task.epochs >= 39
    assert np.isfinite(task.untrained)
    assert np.all((task.features >= 0) & (task.features <= 1))
    assert task.unit == {"fcnet_mnist": 10, "arch2_cifar10": 4}.get(name, 1)
    assert bool(task.groups) == name.startswith("arch")


def test_a_pair_from_a_folder_loads(tmp_path: Path) -> None:
    write_pair(tmp_path, "mine", [[3, 2, 1], [5, 2, np.nan]], {"configs": CONFIGS})
    task = load("mine", 0, tmp_path)
    assert task.untrained == 4.0
    np.testing.assert_array_equal(task.losses[0], [2, 1])
    assert task.unit == 1


def test_names_of_a_table_are_understood(tmp_path: Path) -> None:
    write_pair(tmp_path, "mine", [[3, 2, 1], [5, 2, np.nan]], {"configs": CONFIGS})
    told = load("mine", 0, tmp_path).tokens
    assert told is not None
    np.testing.assert_array_equal(told, encode_tokens(CONFIGS, infer_ranges(CONFIGS)))
    assert load("mine", 0, tmp_path).hyperparameters == tuple(CONFIGS[0])
    assert load("synthetic", 0).tokens is None


def test_some_arms_of_a_table_keep_their_own_names(tmp_path: Path) -> None:
    configs = [{"lr": 10.0**-k} for k in range(1, 7)]
    write_pair(tmp_path, "mine", [[9, k] for k in range(6)], {"configs": configs})
    task = load("mine", 0, tmp_path)
    some = task.sample(4, 0)
    assert task.tokens is not None
    assert some.tokens is not None
    assert some.arms == 4
    chosen = some.losses[:, 0].astype(int)  # the loss is the number of the arm
    np.testing.assert_array_equal(some.tokens, task.tokens[chosen])
    assert replace(task, tokens=None).sample(4, 0).tokens is None


def test_policies_are_told_the_tokens_of_a_table() -> None:
    """In a simulated study and where predictions are tried."""
    task, seen = load("vae_mnist", 0), []

    class Looks:
        def decide(self, view: View) -> Decision | None:
            seen.append(view.tokens)
            return None

    simulate(task, Looks(), 5, 0)
    assert seen[0] is task.tokens
    assert partly_trained(task, 0, 0.1).tokens is task.tokens


def test_what_only_seeds_a_training_is_no_feature(tmp_path: Path) -> None:
    configs = [{"lr": 0.1, "init_seed": 5}, {"lr": 0.2, "init_seed": 99}]
    write_pair(tmp_path, "mine", [[3, 2], [3, 1]], {"configs": configs})
    assert load("mine", 0, tmp_path).features.shape == (2, 1)


@pytest.mark.parametrize(
    ("loss", "about", "says"),
    [
        ([[np.nan, np.nan], [np.nan, np.nan]], {"configs": CONFIGS}, "no finite loss"),
        ([[3.0, 2.0]], {"configs": CONFIGS}, "1 curves but 2 configurations"),
        ([[3.0, 2.0], [3.0, 1.0]], {"configs": []}, "no `configs`"),
        ([[3.0, 2.0], [3.0, 1.0]], {}, "no `configs`"),
        ([3.0, 2.0], {"configs": CONFIGS}, "shape"),
        ([[3.0], [2.0]], {"configs": CONFIGS}, "shape"),
        ([["a", "b"], ["c", "d"]], {"configs": CONFIGS}, "cannot read"),
        ([[3.0, 2.0], [3.0, 1.0]], {"configs": CONFIGS, "epochs_per_unit": 0}, "epochs_per_unit"),
        ([[3.0, 2.0], [3.0, 1.0]], [1, 2], "cannot read"),
    ],
)
def test_a_bad_pair_is_one_clear_line(
    tmp_path: Path, loss: object, about: object, says: str
) -> None:
    write_pair(tmp_path, "bad", loss, about)
    with pytest.raises(Misuse, match=says) as error:
        load("bad", 0, tmp_path)
    assert "\n" not in str(error.value)
    assert "bad" in str(error.value)


def test_ragged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    ragged = np.empty(2, object)
    ragged[:] = [[3.0, 2.0], [3.0]]
    np.savez(tmp_path / "ragged.npz", loss=ragged)
    (tmp_path / "ragged.json").write_text(json.dumps({"configs": CONFIGS}))
    (tmp_path / "foreign.npz").write_bytes(b"not a zip")
    (tmp_path / "foreign.json").write_text("{}")
    np.savez(tmp_path / "other.npz", accuracy=np.ones((2, 3)))
    (tmp_path / "other.json").write_text(json.dumps({"configs": CONFIGS}))
    for name in ("ragged", "foreign", "other"):
        with pytest.raises(Misuse, match=name) as error:
            from_pair(tmp_path, name)
        assert "pickle" not in str(error.value)  # numpy proposes to load it all the same


def test_unknown_tasks_are_named_with_what_there_is(tmp_path: Path) -> None:
    write_pair(tmp_path, "mine", [[3, 2], [3, 1]], {"configs": CONFIGS})
    with pytest.raises(Misuse, match=r"unknown task 'nope'.*mine.*synthetic"):
        load("nope", 0, tmp_path)
    with pytest.raises(Misuse, match="--data"):
        load("lcbench:0", 0)
    with pytest.raises(Misuse, match=r"no lcbench\*.npz"):
        load("lcbench:0", 0, tmp_path)
    with pytest.raises(Misuse, match="no such folder"):
        load("mine", 0, tmp_path / "gone")


def test_collections_load_by_name_and_by_index(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    (tmp_path / "lcbench").mkdir()
    np.savez(
        tmp_path / "lcbench" / "lcbench_dev.npz",
        loss=rng.uniform(size=(2, 30, 6)).astype(np.float32),
        datasets=np.array(["adult", "higgs"]),
        X=rng.uniform(1, 9, size=(30, 3)),
        hp_names=np.array(["learning_rate", "b", "c"]),
    )
    by_name, by_index = load("lcbench:higgs", 0, tmp_path), load("lcbench:1", 0, tmp_path)
    np.testing.assert_array_equal(by_name.losses, by_index.losses)
    assert by_name.losses.shape == (30, 5)
    sampled = load("lcbench:higgs", 3, tmp_path, arms=10)
    assert sampled.arms == 10
    assert sampled.features.shape == (10, 3)
    assert sampled.tokens is not None
    assert sampled.hyperparameters == ("learning_rate", "b", "c")
    assert (sampled.tokens[:, :, column("present")] == 1).all()
    other = load("lcbench:higgs", 4, tmp_path, arms=10)
    assert not np.array_equal(sampled.losses, other.losses)
    with pytest.raises(Misuse, match="adult, higgs"):
        load("lcbench:mnist", 0, tmp_path)


def test_the_synthetic_sets_differ_and_start_where_they_should() -> None:
    one, two = load("synthetic", 0), load("synthetic", 1)
    assert one.losses.shape == (84, 288)
    assert not np.array_equal(one.losses, two.losses)
    np.testing.assert_array_equal(one.losses, load("synthetic", 0).losses)
    ends = np.concatenate([load("synthetic", s).losses[:, -1] for s in range(10)])
    assert abs(ends.std() - 1) < 0.3
    assert one.losses[:, 0].mean() > 4  # still near ℓ_0 = 6 after one epoch
    raw = load("synthetic-raw", 0)
    assert raw.losses[:, 0].std() > 1.5  # the plain model starts anywhere
    assert raw.truth is not None
    assert not raw.truth.structure.anchored


def test_a_unit_of_another_length_is_part_of_the_name() -> None:
    task = load("arch_cifar10@4", 0, arms=10)
    assert (task.name, task.unit, task.arms) == ("arch_cifar10@4", 4, 10)
    assert load("synthetic@12", 0).unit == 12
    for wrong in ("arch_cifar10@", "arch_cifar10@0", "arch_cifar10@x"):
        with pytest.raises(Misuse, match="epochs in a unit"):
            load(wrong, 0)
