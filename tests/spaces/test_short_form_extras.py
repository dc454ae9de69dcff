"""Steps, conditions, fixed values, declared defaults and numbers of YAML."""

from pathlib import Path

import ConfigSpace
import numpy as np
import pytest

from bhpt.domain import Misuse
from bhpt.spaces import Space, load_configs, load_space
from bhpt.spaces.fixed_values import fix


def test_steps_are_the_numbers_from_min_to_max() -> None:
    space = Space.of(
        {
            "width": {"min": 64, "max": 256, "step": 64},
            "rate": {"min": 0.1, "max": 0.5, "step": 0.1},
            "odd": {"min": 0, "max": 10, "step": 4},
        }
    )
    drawn = space.draw(100, np.random.default_rng(0))
    assert {one["width"] for one in drawn} == {64, 128, 192, 256}
    assert {one["rate"] for one in drawn} == {0.1, 0.2, 0.3, 0.4, 0.5}
    assert {one["odd"] for one in drawn} == {0, 4, 8}
    assert all(isinstance(one["width"], int) for one in drawn)
    encoded = space.encode([{"width": 64, "rate": 0.3, "odd": 8}])
    np.testing.assert_allclose(encoded, [[1.0, 0.5, 0.0]])  # by name: odd, rate, width


def test_a_condition_leaves_a_hyper_parameter_out() -> None:
    space = Space.of(
        {
            "optimizer": ["adam", "sgd", "rmsprop"],
            "momentum": {"min": 0.5, "max": 0.99, "when": {"optimizer": ["sgd", "rmsprop"]}},
            "nesterov": {"choices": [True, False], "when": {"optimizer": "sgd", "depth": 2}},
            "depth": {"ordered": [1, 2]},
        }
    )
    for one in space.draw(60, np.random.default_rng(1)):
        assert ("momentum" in one) == (one["optimizer"] != "adam")
        assert ("nesterov" in one) == (one["optimizer"] == "sgd" and one["depth"] == 2)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"min": 1, "max": 9, "step": 0}, "step is a number above 0"),
        ({"min": 1, "max": 9, "step": "x"}, "step is a number above 0"),
        ({"min": 1, "max": 9, "step": 2, "log": True}, "has no step"),
        ({"min": 9, "max": 1, "step": 1}, "empty or reversed"),
        ({"min": 0.0, "max": 1.0, "step": 1e-9}, "too many"),
        ({"step": 1}, "give 'min' exactly once"),
        ({"min": 1, "max": 9, "when": "sgd"}, "when is a dictionary"),
        ({"min": 1, "max": 9, "when": {}}, "when is a dictionary"),
        ({"min": 1, "max": 9, "when": {"none": 1}}, "names 'none', which is not there"),
        ({"min": 1, "max": 9, "when": {"b": "z"}}, "'b' is never 'z'"),
    ],
)
def test_bad_steps_and_conditions_are_one_clear_line(words: object, match: str) -> None:
    with pytest.raises(Misuse, match=match) as caught:
        Space.of({"a": words, "b": ["x", "y"]})
    assert "\n" not in str(caught.value)


def test_numbers_with_an_exponent_in_yaml(tmp_path: Path) -> None:
    file = tmp_path / "space.yaml"
    file.write_text("lr: {min: 1e-5, max: 1.5E-1, log: true}\nname: 1e5x\n")
    space = load_space(file)
    assert isinstance(space, Space)
    one = space.draw(1, np.random.default_rng(0))[0]
    assert 1e-5 <= one["lr"] <= 0.15
    assert one["name"] == "1e5x"


def test_configurations_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "first.yaml"
    file.write_text("- {lr: 1e-3}\n- {lr: 0.1}\n")
    assert load_configs(file) == [{"lr": 0.001}, {"lr": 0.1}]
    file.write_text("lr: 2e-3")
    assert load_configs(file) == [{"lr": 0.002}]
    file.write_text("3")
    with pytest.raises(Misuse, match="expected a list of configurations"):
        load_configs(file)


def test_what_is_fixed_is_a_constant() -> None:
    space = fix(Space.of({"lr": (0.001, 0.1, "log"), "act": ["relu", "tanh"]}), {"lr": 0.01})
    assert isinstance(space, Space)
    drawn = space.draw(10, np.random.default_rng(0))
    assert {one["lr"] for one in drawn} == {0.01}
    assert {one["act"] for one in drawn} == {"relu", "tanh"}
    assert space.complete({"act": "relu"}) == {"lr": 0.01, "act": "relu"}


def test_a_fixed_parent_decides_its_condition() -> None:
    ranges = {"opt": ["adam", "sgd"], "m": {"min": 0.1, "max": 0.9, "when": {"opt": "sgd"}}}
    space = fix(Space.of(ranges), {"opt": "sgd"})
    assert isinstance(space, Space)
    assert all("m" in one for one in space.draw(5, np.random.default_rng(0)))


def test_what_is_fixed_selects_listed_configurations() -> None:
    listed = [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}]
    assert fix(listed, {"a": 1}) == [{"a": 1, "b": 1}, {"a": 1, "b": 2}]
    assert fix(listed, {}) == listed


@pytest.mark.parametrize(
    ("values", "match"),
    [({"no": 1}, "no hyper-parameter 'no', only lr"), ({"lr": 7.0}, "'lr' cannot be 7.0")],
)
def test_what_cannot_be_fixed_is_told(values: dict[str, object], match: str) -> None:
    with pytest.raises(Misuse, match=match):
        fix(Space.of({"lr": (0.001, 0.1)}), values)
    with pytest.raises(Misuse, match="no listed configuration has"):
        fix([{"lr": 0.1}], values)


def test_only_a_default_that_somebody_has_set_counts() -> None:
    ranges = {"a": (0.0, 1.0), "b": (1, 1000, "log"), "c": ["x", "y"], "d": 3}
    assert Space.of(ranges).declared_default is None
    space = ConfigSpace.ConfigurationSpace({"b": (1, 9), "c": ["x", "y"]})
    space.add(ConfigSpace.Float("a", (0.0, 1.0), default=0.25))
    assert Space.of(space).declared_default == {"b": 5, "c": "x", "a": 0.25}


def test_numbers_of_numpy_are_numbers_and_arrays_are_choices() -> None:
    given = {
        "rate": (np.float64(0.001), np.float32(1.0), "log"),
        "width": {"min": np.int64(16), "max": np.int64(64)},
        "depth": np.array([2, 4, 8]),
    }
    plain = {"rate": (0.001, 1.0, "log"), "width": {"min": 16, "max": 64}, "depth": [2, 4, 8]}
    assert Space.of(given).text == Space.of(plain).text


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"is a folder: name a \.json or \.yaml file"):
        load_space(tmp_path)
