"""What hyper-parameters can be."""

import ConfigSpace

from bhpt.spaces import Space
from bhpt.spaces.declared import Numbers, Values, declared, declared_by


def test_every_kind_of_hyper_parameter_is_described() -> None:
    space = ConfigSpace.ConfigurationSpace()
    space.add(
        ConfigSpace.Float("rate", (1e-4, 1e-1), log=True),
        ConfigSpace.Float("near", (0.0, 1.0), distribution=ConfigSpace.Normal(0.5, 0.1)),
        ConfigSpace.BetaFloatHyperparameter("beta", 2, 2, lower=0.0, upper=2.0),
        ConfigSpace.Integer("width", (8, 512), log=True),
        ConfigSpace.Categorical("kind", ["a", "b"]),
        ConfigSpace.Categorical("size", [16, 32], ordered=True),
        ConfigSpace.Constant("data", "digits"),
    )
    assert declared(Space.of(space)) == {
        "beta": Numbers(0.0, 2.0, log=False, whole=False),
        "data": Values(("digits",)),
        "kind": Values(("a", "b")),
        "near": Numbers(0.0, 1.0, log=False, whole=False),
        "rate": Numbers(1e-4, 1e-1, log=True, whole=False),
        "size": Values((16, 32)),
        "width": Numbers(8, 512, log=True, whole=True),
    }


def test_a_list_is_described_by_what_occurs() -> None:
    configs = [
        {"rate": 0.001, "width": 8, "on": True, "kind": "a"},
        {"rate": 0.1, "width": 32, "on": False, "kind": "b", "more": [1, 2]},
        {"rate": 0.01, "width": 16, "on": False, "kind": "b", "more": [1, 2]},
    ]
    assert declared_by(configs) == {
        "rate": Numbers(0.001, 0.1, log=True, whole=False),
        "width": Numbers(8.0, 32.0, log=False, whole=True),
        "on": Values((True, False)),
        "kind": Values(("a", "b")),
        "more": Values(([1, 2],)),
    }
