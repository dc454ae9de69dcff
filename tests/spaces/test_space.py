import json
from typing import Any

import ConfigSpace
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import Misuse
from bhpt.spaces import Space, parse_space


def _conditional() -> ConfigSpace.ConfigurationSpace:
    space = ConfigSpace.ConfigurationSpace({"opt": ["sgd", "adam", "rms"], "depth": (1, 4)})
    space.add(
        ConfigSpace.Float("lr", (1e-4, 1e-1), log=True),
        ConfigSpace.Integer("units", (16, 512), log=True),
        ConfigSpace.Float("momentum", (0.0, 1.0)),
        ConfigSpace.Float("nesterov", (0.0, 1.0)),
        ConfigSpace.OrdinalHyperparameter("batch", [16, 32, 64]),
        ConfigSpace.Constant("data", "digits"),
        ConfigSpace.Float("shaped", (0, 1), distribution=ConfigSpace.Normal(0.5, 0.1)),
    )
    space.add(
        ConfigSpace.EqualsCondition(space["momentum"], space["opt"], "sgd"),
        ConfigSpace.EqualsCondition(space["nesterov"], space["opt"], "sgd"),
    )
    space.add(
        ConfigSpace.ForbiddenAndConjunction(
            ConfigSpace.ForbiddenEqualsClause(space["opt"], "adam"),
            ConfigSpace.ForbiddenEqualsClause(space["depth"], 4),
        )
    )
    return space


def _legal(space: ConfigSpace.ConfigurationSpace, config: dict[str, object]) -> bool:
    ConfigSpace.Configuration(space, values=config).check_valid_configuration()
    return True


def test_scales_ranks_categories_and_conditions() -> None:
    space = Space.of(_conditional())
    config = {"opt": "adam", "depth": 1, "lr": 1e-4, "units": 512, "batch": 32, "shaped": 0.5}
    encoded = space.encode([{**config, "data": "digits"}])
    names = {name: place for place, name in enumerate(space.names)}
    assert encoded.shape == (1, 3 + 7 + 1)  # three categories, seven numbers, one condition
    assert sorted(encoded[0].tolist()) == sorted([0.5, 0, 0, 0, 0, 1, 0.5, 0.5, 0, 0.5, 0.5])
    assert "momentum" in names


def test_encoding_does_not_depend_on_the_other_configurations() -> None:
    space = Space.of(_conditional())
    drawn = space.draw(50, np.random.default_rng(0))
    together = space.encode(drawn)
    alone = np.vstack([space.encode([config]) for config in drawn])
    assert np.array_equal(together, alone)
    assert together.min() >= 0
    assert together.max() <= 1


def test_draws_are_legal_different_and_repeatable() -> None:
    given_space = _conditional()
    space = Space.of(given_space)
    drawn = space.draw(300, np.random.default_rng(3))
    assert len(drawn) == 300
    assert len({json.dumps(c, sort_keys=True) for c in drawn}) == 300
    assert all(_legal(given_space, config) for config in drawn)
    assert drawn == Space.of(_conditional()).draw(300, np.random.default_rng(3))
    assert {config["opt"] for config in drawn} == {"sgd", "adam", "rms"}
    assert not any(c["opt"] == "adam" and c["depth"] == 4 for c in drawn)


def test_whole_numbers_are_drawn_equally_often() -> None:
    drawn = Space.of({"n": (1, 4), "x": (0.0, 1.0)}).draw(256, np.random.default_rng(0))
    assert np.bincount([c["n"] for c in drawn], minlength=5)[1:] == pytest.approx(64, abs=2)


def test_a_small_space_gives_all_it_has() -> None:
    drawn = Space.of({"n": (1, 3), "a": ["x", "y"]}).draw(100, np.random.default_rng(0))
    assert len(drawn) == 6


def test_children_are_legal_new_and_a_step_away() -> None:
    given_space = _conditional()
    space = Space.of(given_space)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        parent = space.draw(1, rng)[0]
        there = space.encode([parent])
        child = space.child(parent, there, rng)
        assert child is not None
        assert _legal(given_space, child)
        assert np.abs(space.encode([child]) - there).max() >= 0.1 - 1e-9


def test_a_step_moves_one_to_half_of_the_numbers_by_a_tenth_to_three_tenths() -> None:
    space = Space.of({f"x{place}": (0.0, 1.0) for place in range(6)})
    parent = dict.fromkeys(space.names, 0.5) | {"x0": 0.0, "x1": 1.0}
    changed = set()
    for seed in range(60):
        child = space.child(parent, space.encode([parent]), np.random.default_rng(seed))
        assert child is not None
        moved = [abs(float(child[name]) - parent[name]) for name in space.names]
        steps = [step for step in moved if step > 0]
        changed.add(len(steps))
        assert all(0.1 - 1e-9 <= step <= 0.3 + 1e-9 for step in steps)
    assert changed == {1, 2, 3}


def test_a_space_without_a_choice_has_no_children() -> None:
    space = Space.of({"a": ["x"], "b": ["y"]})
    parent = space.draw(1, np.random.default_rng(0))[0]
    assert space.child(parent, np.zeros((0, 1)), np.random.default_rng(0)) is None


def test_values_are_plain() -> None:
    space = Space.of({"b": [True, False], "o": {"ordered": [1, 2]}, "n": (1, 5), "x": (0.0, 1.0)})
    for config in space.draw(5, np.random.default_rng(0)):
        assert json.loads(json.dumps(config)) == config
        assert type(config["b"]) is bool
        assert type(config["o"]) is int


def test_a_space_reads_back_as_itself() -> None:
    space = Space.of(_conditional())
    again = Space.from_serialized(json.loads(space.text))
    drawn = space.draw(5, np.random.default_rng(0))
    assert again.draw(5, np.random.default_rng(0)) == drawn


def test_nothing_that_varies_gives_a_zero_column() -> None:
    space = Space.of({"data": "digits"})
    assert space.encode([{"data": "digits"}]).tolist() == [[0.0]]
    assert space.draw(10, np.random.default_rng(0)) == [{"data": "digits"}]


def test_a_configuration_outside_the_space_is_refused() -> None:
    with pytest.raises(Misuse):
        Space.of({"a": ["x", "y"]}).check({"a": "z"})


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ((1e-4, 1e-1), "uniform_float"),
        ((1, 3), "uniform_int"),
        ((1, 3.0), "uniform_float"),
        ((1e-4, 1e-1, "log"), "uniform_float"),
        ([1e-4, 1e-1, "log"], "uniform_float"),
        ({"min": 1, "max": 9}, "uniform_int"),
        ({"low": 1, "high": 9, "type": "float"}, "uniform_float"),
        ({"lower": 1.0, "upper": 9.0, "type": "int", "log": True}, "uniform_int"),
        (["relu", "tanh"], "categorical"),
        ({"choices": [1, 2]}, "categorical"),
        ({"ordered": [1, 2]}, "ordinal"),
        ({"value": 3}, "constant"),
        ("digits", "constant"),
        (["only"], "constant"),
    ],
)
def test_short_forms(written: object, kind: str) -> None:
    described = json.loads(Space.of({"p": written}).text)["hyperparameters"][0]
    assert described["type"] == kind
    assert described.get("log", False) == ("log" in str(written))


@pytest.mark.parametrize(
    "written",
    [
        (3, 1),
        (1.0, 1.0),
        (1, 2, 3),
        ("x", "y"),
        (0.0, 1.0, "log"),
        (True, False),
        (float("nan"), 1.0),
        [],
        ["a", "a"],
        {"min": 1},
        {"min": 1, "max": 0},
        {"min": 1, "low": 1, "max": 2},
        {"min": 0.5, "max": 2, "type": "int"},
        {"min": 0, "max": 2, "type": "gaussian"},
        {"min": 1, "max": 2, "log": "yes"},
        {"maximum": 3},
        {"choices": 3},
        {},
        object(),
        {1, 2},
        float("inf"),
    ],
)
def test_bad_ranges_are_one_clear_line(written: object) -> None:
    with pytest.raises(Misuse) as caught:
        Space.of({"p": written})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given_space", [{}, [], "lr", 3, None, [3], {3: (0, 1)}, [{"a": {1}}]])
def test_what_is_no_space_is_refused(given_space: object) -> None:
    with pytest.raises(Misuse):
        parse_space(given_space)


def test_a_list_is_plain_and_without_repeats() -> None:
    configs = parse_space([{"a": np.int64(1), "b": (1, 2)}, {"a": 1, "b": [1, 2]}, {"a": 2}])
    assert configs == [{"a": 1, "b": [1, 2]}, {"a": 2}]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 20))
def test_any_seed_draws_legal_candidates(seed: int, count: int) -> None:
    space = Space.of(_conditional())
    rng = np.random.default_rng(seed)
    drawn = space.draw(count, rng)
    assert len(drawn) == count
    for config in [*drawn, space.child(drawn[0], space.encode(drawn), rng)]:
        if config is not None:
            space.check(config)


@pytest.mark.parametrize("name", [1, "", None])
def test_a_hyper_parameter_has_a_name(name: Any) -> None:
    with pytest.raises(Misuse, match="is not a text"):
        Space.of({name: (0.0, 1.0)})
