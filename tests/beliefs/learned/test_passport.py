"""Passports of weights: they say where weights come from, and refuse what does not fit."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from bhpt.beliefs.learned.network import EDGES
from bhpt.beliefs.learned.passport import TrainedOn, arrays_digest, decode_passport
from bhpt.beliefs.learned.schema import ARM_FEATURES, BINS, SCHEMA, STUDY_FEATURES, Schema
from bhpt.beliefs.learned.weights import (
    Network,
    new_passport,
    read_any_weights,
    read_weights,
    shipped,
    write_weights,
)
from bhpt.domain import Misuse
from bhpt.spaces.tokens import TOKEN_NAMES

ENDS = shipped("ends")


@pytest.mark.parametrize("network", get_args(Network))
def test_shipped_weights_say_where_they_come_from(network: Network) -> None:
    passport = shipped(network).passport
    assert passport.network == network
    assert passport.arrays == arrays_digest(shipped(network))
    assert passport.schema.arm_features == (ARM_FEATURES if network in ("policy", "ends") else ())
    assert passport.schema.tokens == (TOKEN_NAMES if network in ("names", "finisher") else ())
    assert passport.schema.bins == (BINS if network == "ends" else 0)
    assert passport.shapes == {name: value.shape for name, value in shipped(network).items()}
    suite, tasks = ("nets", 263) if network == "policy" else ("others", 3731)
    assert passport.trained_on.suites[suite] == tasks
    assert passport.command.startswith("python -m benchmarks.policy.")
    assert passport.date.startswith("2026-11-")


def test_the_held_out_weights_name_what_they_have_not_seen() -> None:
    for network in ("policy", "ends"):
        file = Path(__file__).parents[3] / "benchmarks" / "policy" / "held_out" / f"{network}.npz"
        seen = read_any_weights(file).passport.trained_on
        assert {"arch_cifar10", "vae_mnist", "lcbench:0", "net_263"} <= {*seen.left_out}
        assert not {*seen.tasks} & {*seen.left_out}


def test_names_are_unique_and_bins_fit_their_edges() -> None:
    for names in (ARM_FEATURES, STUDY_FEATURES, TOKEN_NAMES):
        assert len({*names}) == len(names)
    assert len(EDGES) + 1 == BINS


def test_a_passport_comes_back_as_it_was() -> None:
    passport = replace(
        ENDS.passport, trained_on=TrainedOn({"lcbench": 3}, {"mlp": 3}, ("a", "b"), ("c",), "é")
    )
    assert decode_passport(passport.encode()) == passport


def test_the_digest_is_of_names_shapes_and_numbers() -> None:
    one = {"a": np.arange(6.0).reshape(2, 3), "b": np.zeros(2)}
    first = arrays_digest(one)
    assert arrays_digest(dict(reversed(one.items()))) == first
    assert arrays_digest({k: v.astype(np.float32) for k, v in one.items()}) == first
    assert arrays_digest({**one, "a": one["a"].reshape(3, 2)}) != first
    assert arrays_digest({"a": one["b"], "b": one["a"]}) != first
    assert arrays_digest({**one, "b": np.array([0, 1e-30])}) != first


def older(**changes: object) -> Schema:
    return replace(SCHEMA.for_arrays(ENDS), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (older(arm_features=ARM_FEATURES[:-1]), "arm features: lacks log_workers"),
        (older(arm_features=(*ARM_FEATURES, "luck")), "arm features: more luck"),
        (older(study_features=STUDY_FEATURES[::-1]), "study features: another order"),
        (older(version=7), "version 7 instead of 1"),
        (older(bins=9), "9 bins instead of 42"),
    ],
)
def test_other_features_are_refused_in_one_line(tmp_path: Path, schema: Schema, words: str) -> None:
    file = tmp_path / "ends.npz"
    write_weights(file, ENDS, replace(ENDS.passport, schema=schema))
    with pytest.raises(Misuse) as error:
        read_weights(file, "ends")
    text = str(error.value)
    assert words in text
    assert "python -m benchmarks.policy.retrain" in text
    assert str(file) in text
    assert "\n" not in text
    assert read_any_weights(file).passport.schema == schema  # training may go on from it


def test_tokens_matter_only_to_networks_that_read_names(tmp_path: Path) -> None:
    reader = shipped("names")
    fewer = replace(reader.passport.schema, tokens=TOKEN_NAMES[1:])
    write_weights(tmp_path / "names.npz", reader, replace(reader.passport, schema=fewer))
    with pytest.raises(Misuse, match=f"tokens: lacks {TOKEN_NAMES[0]}"):
        read_weights(tmp_path / "names.npz", "names")
    assert not ENDS.passport.schema.tokens


def changed(file: Path, change: Callable[[dict[str, np.ndarray]], object]) -> None:
    """Change arrays of a file, its passport too, without any care."""
    with np.load(file) as arrays:
        found = {name: arrays[name] for name in arrays}
    change(found)
    np.savez(file, allow_pickle=False, **found)


def other_digest(arrays: dict[str, np.ndarray]) -> None:
    text = arrays["passport"].tobytes().replace(b"log_workers", b"log_walkers")
    arrays["passport"] = np.frombuffer(text, np.uint8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a.pop("passport"), "have no passport"),
        (lambda a: a.update(output=-a["output"]), "are not those of their passport"),
        (lambda a: a.pop("arm_input"), "are not those of their passport"),
        (lambda a: a.update(passport=np.zeros(3, np.uint8)), "passport cannot be read"),
        (other_digest, "the digest of its schema is wrong"),
    ],
)
def test_a_file_that_was_changed_is_refused(
    tmp_path: Path, change: Callable[[dict[str, np.ndarray]], object], words: str
) -> None:
    file = tmp_path / "ends.npz"
    write_weights(file, ENDS, ENDS.passport)
    changed(file, change)
    with pytest.raises(Misuse, match=words) as error:
        read_weights(file, "ends")
    assert "\n" not in str(error.value)


def test_shapes_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    short = {**ENDS, "arm_input": ENDS["arm_input"][1:]}
    write_weights(tmp_path / "ends.npz", short, ENDS.passport)
    with pytest.raises(Misuse, match="arm_input does not fit"):
        read_weights(tmp_path / "ends.npz", "ends")


def test_one_network_is_not_taken_for_the_other(tmp_path: Path) -> None:
    write_weights(tmp_path / "policy.npz", ENDS, ENDS.passport)
    with pytest.raises(Misuse, match="are of `ends`, not of `policy`"):
        read_weights(tmp_path / "policy.npz", "policy")


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ends.npz").write_bytes(b"PK\x03\x04 no more")
    with pytest.raises(Misuse, match="cannot be read"):
        read_weights(tmp_path / "ends.npz", "ends")


def test_a_new_passport_fits_its_arrays(tmp_path: Path) -> None:
    passport = new_passport("ends", ENDS, TrainedOn({"x": 1}), "python -m x", "2026-01-02")
    write_weights(tmp_path / "ends.npz", ENDS, passport)
    assert read_weights(tmp_path / "ends.npz", "ends").passport == passport
    assert passport.short == passport.arrays[:12]
