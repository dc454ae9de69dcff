import math

import numpy as np
import pytest

from bhpt.spaces import Space
from bhpt.spaces.parameter_axes import ParameterAxis, describe, positions

SPACE = Space.of(
    {"rate": (0.001, 1.0, "log"), "depth": (1, 5), "kind": ["a", "b", "c"], "fixed": 3}
)


def test_a_declared_space_keeps_its_scales() -> None:
    found = {one.name: one for one in describe(SPACE.text, [])}
    assert set(found) == {"rate", "depth", "kind"}
    assert found["rate"].log
    assert found["depth"].whole
    assert found["kind"].choices == ("a", "b", "c")
    assert found["rate"].position(0.001) == 0
    assert found["rate"].position(0.0316227766) == pytest.approx(0.5)
    assert found["depth"].position(4) == pytest.approx(0.75)
    assert [found["kind"].position(one) for one in "abc"] == [0, 0.5, 1]
    assert math.isnan(found["kind"].position("d"))
    assert math.isnan(found["rate"].position("fast"))


@pytest.mark.parametrize("log", [False, True])
def test_a_value_lies_where_it_is_read_from(log: bool) -> None:
    one = ParameterAxis("x", low=0.5, high=8.0, log=log)
    for part in (-0.25, 0.0, 0.3, 1.0):
        value = one.value_at(part)
        assert one.position(value) == pytest.approx(min(max(part, 0.0), 1.0))


def test_listed_configurations_are_described_by_their_values() -> None:
    configs = [{"rate": 10.0**-n, "n": n, "kind": n % 2 == 0, "same": 1} for n in range(4)]
    configs.append({"rate": 1.0})
    found = describe(None, configs)
    assert [(one.name, one.log, one.declared) for one in found] == [
        ("rate", True, False),
        ("n", False, False),
        ("kind", False, False),
    ]
    where = positions(found, configs)
    assert where.shape == (3, 5)
    assert np.isnan(where[1:, 4]).all()


def test_nothing_has_no_positions() -> None:
    assert positions((), [{}, {}]).shape == (0, 2)
