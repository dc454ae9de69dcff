"""A stored space says the same as ConfigSpace, without it."""

import json
import subprocess
import sys
from typing import Any

import ConfigSpace
import numpy as np
import pytest
from ConfigSpace import ConfigurationSpace, EqualsCondition, Float, Integer
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import FloatArray, Misuse
from bhpt.spaces import Config, Space
from bhpt.spaces.configs import plain_config
from bhpt.spaces.ranges import Choices, NumberRange
from bhpt.spaces.stored_space import StoredSpace

UNEVEN: dict[str, Any] = {
    "a": ConfigSpace.NormalFloatHyperparameter("a", 1.0, 0.5, lower=0.1, upper=3.0, log=True),
    "b": ConfigSpace.BetaFloatHyperparameter("b", 2.0, 3.0, lower=0.0, upper=2.0),
    "c": ConfigSpace.NormalIntegerHyperparameter("c", 5, 2, lower=1, upper=9),
}


def declared() -> ConfigurationSpace:
    """One hyper-parameter of each kind that is read without ConfigSpace, one conditional."""
    space = ConfigurationSpace(
        {
            "rate": (1e-5, 1e-1),
            "width": (3, 777),
            "kind": ["x", "y", "z"],
            "fixed": 3,
            "one": ["alone"],
        }
    )
    rank = ConfigSpace.OrdinalHyperparameter("rank", [1, 2, 4, 8])
    letters = ConfigSpace.OrdinalHyperparameter("letters", ["s", "m", "l"])
    space.add([Float("log", (1e-6, 0.3), log=True), Integer("units", (2, 900), log=True)])
    inner = Float("inner", (0.0, 1.0))
    space.add([rank, letters, inner])
    space.add(EqualsCondition(inner, space["kind"], "x"))
    return space


def by_config_space(space: ConfigurationSpace, name: str, configs: list[Config]) -> FloatArray:
    """A number's column where it is active, as ConfigSpace has it."""
    values = np.asarray([config[name] for config in configs if name in config])
    found: FloatArray = np.clip(np.asarray(space[name].to_vector(values), float), 0.0, 1.0)
    return found


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_numbers_are_encoded_as_config_space_does_to_the_last_bit(seed: int) -> None:
    space = declared()
    space.seed(seed)
    configs = [plain_config(dict(one)) for one in space.sample_configuration(20)]
    stored = StoredSpace(Space.of(space).text)
    assert stored.known
    assert stored.even
    found = stored.encode(configs)
    assert list(stored.ranges) == list(space)
    columns = {tuple(column) for column in found.T.tolist()}
    for name in ("rate", "width", "log", "units"):
        assert tuple(by_config_space(space, name, configs).tolist()) in columns
    inner = np.array(["inner" in config for config in configs])
    expected = np.full(len(configs), 0.5)
    expected[inner] = by_config_space(space, "inner", configs) if inner.any() else []
    assert tuple(expected.tolist()) in columns
    np.testing.assert_array_equal(found, Space.of(space).encode(configs))


def test_ranges_are_read() -> None:
    ranges = StoredSpace(Space.of(declared()).text).ranges
    assert ranges["log"] == NumberRange(1e-6, 0.3, "log", whole=False)
    assert ranges["units"] == NumberRange(2.0, 900.0, "log", whole=True)
    assert ranges["kind"] == Choices(("x", "y", "z"))
    assert ranges["fixed"] == Choices((3,))
    assert ranges["letters"] == Choices(("s", "m", "l"))
    assert isinstance(ranges["rank"], NumberRange)


def test_uneven_numbers_are_left_to_config_space() -> None:
    space = Space.of(ConfigurationSpace(UNEVEN))
    configs = space.draw(8, np.random.default_rng(0))
    stored = StoredSpace(space.text)
    assert stored.known
    assert not stored.even
    assert stored.ranges["a"] == NumberRange(0.1, 3.0, "log", whole=False)
    assert stored.ranges["b"] == NumberRange(0.0, 2.0, "linear", whole=False)
    assert stored.ranges["c"] == NumberRange(1.0, 9.0, "linear", whole=True)
    with pytest.raises(Misuse, match="uneven"):
        stored.encode(configs)
    for name, column in zip(space.ranges, space.encode(configs).T, strict=True):
        values = np.array([config[name] for config in configs])
        np.testing.assert_array_equal(
            column, np.clip(np.asarray(UNEVEN[name].to_vector(values), float), 0.0, 1.0)
        )


def test_a_text_of_another_version_is_read_by_config_space() -> None:
    text = Space.of(declared()).text
    other = json.dumps({**json.loads(text), "format_version": 0.3})
    assert not StoredSpace(other).known
    config = Space(text).draw(3, np.random.default_rng(0))
    np.testing.assert_array_equal(Space(other).encode(config), Space(text).encode(config))
    assert Space(other).ranges == Space(text).ranges


def test_looking_at_a_study_does_not_import_config_space() -> None:
    script = """
import sys
from typing import Any
from bhpt.study.arm_list import ArmList
text = sys.stdin.read()
arms = ArmList.of(text, [{"lr": 0.01, "n": 3}, {"lr": 0.1, "n": 4}])
assert arms.features.shape == (2, 2) and len(arms.tokens) == 2
assert "ConfigSpace" not in sys.modules and "scipy" not in sys.modules
"""
    text = Space.of({"lr": (1e-4, 1.0, "log"), "n": (1, 9)}).text
    subprocess.run([sys.executable, "-c", script], input=text, text=True, check=True)
