"""What hyper-parameters can be, declared or inferred from values."""

import ConfigSpace

from bhpt.spaces import Space, infer_ranges
from bhpt.spaces.ranges import Choices, NumberRange


def test_every_declared_kind_of_hyper_parameter_has_its_range() -> None:
    space = ConfigSpace.ConfigurationSpace()
    space.add(
        ConfigSpace.Float("rate", (1e-4, 1e-1), log=True),
        ConfigSpace.Float("near", (0.0, 1.0), distribution=ConfigSpace.Normal(0.5, 0.1)),
        ConfigSpace.BetaFloatHyperparameter("beta", 2, 2, lower=0.0, upper=2.0),
        ConfigSpace.Integer("width", (8, 512), log=True),
        ConfigSpace.Categorical("kind", ["a", "b"]),
        ConfigSpace.Categorical("size", [16, 32], ordered=True),
        ConfigSpace.Categorical("grade", ["low", "high"], ordered=True),
        ConfigSpace.Constant("data", "digits"),
    )
    assert Space.of(space).ranges == {
        "beta": NumberRange(0.0, 2.0),
        "data": Choices(("digits",)),
        "grade": Choices(("low", "high")),
        "kind": Choices(("a", "b")),
        "near": NumberRange(0.0, 1.0),
        "rate": NumberRange(1e-4, 1e-1, "log"),
        "size": NumberRange(16, 32, whole=True),
        "width": NumberRange(8, 512, "log", whole=True),
    }


def test_ranges_of_the_short_form_are_those_declared() -> None:
    space = Space.of({"lr": (1e-5, 0.1, "log"), "n": (1, 9), "x": (0.0, 2.0), "o": ["a", "b"]})
    assert space.ranges == {
        "lr": NumberRange(1e-5, 0.1, "log"),
        "n": NumberRange(1, 9, "linear", whole=True),
        "x": NumberRange(0.0, 2.0),
        "o": Choices(("a", "b")),
    }


def test_ranges_are_inferred_from_values() -> None:
    configs: list[dict[str, object]] = [
        {"lr": 1e-4, "n": 2, "m": 0.9, "o": "a"},
        {"lr": 0.1, "n": 8, "m": 0.99, "o": "b"},
        {"lr": 0.01, "n": 5, "m": 0.999, "o": True, "more": [1, 2]},
        {"lr": 0.01, "n": 5, "m": 0.999, "o": True, "more": [1, 2], "odd": float("nan")},
    ]
    found = infer_ranges(configs)
    odd = found.pop("odd")
    assert isinstance(odd, Choices)
    assert odd.count == 1
    assert found == {
        "lr": NumberRange(1e-4, 0.1, "log"),
        "n": NumberRange(2, 8, "linear", whole=True),
        "m": NumberRange(0.9, 0.999, "from one"),
        "o": Choices(("a", "b", True)),
        "more": Choices(([1, 2],)),
    }
