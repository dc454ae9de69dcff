"""What is known of names: against plain loops, and that it is what everybody knows."""

import math
from typing import Any

import numpy as np
import pytest

from bhpt.beliefs.learned.features import OPINIONS
from bhpt.beliefs.learned.name_opinions import opinions
from bhpt.beliefs.learned.network import Weights
from bhpt.beliefs.learned.weights import shipped
from bhpt.domain import FloatArray
from bhpt.spaces import ROLES, encode_roles
from tests.beliefs.learned.cases import some_meanings

SEEDS = range(4)


def weights_of(rng: np.random.Generator, networks: int = 3, hidden: int = 5) -> Weights:
    sizes = {
        "names_input": (2 * len(ROLES), hidden),
        "names_hidden": (hidden, hidden),
        "names_output": (hidden, OPINIONS - 1),
    }
    weights: dict[str, FloatArray] = {}
    for name, (a, b) in sizes.items():
        weights[name] = rng.normal(size=(networks, a, b))
        weights[f"{name}_bias"] = rng.normal(size=(networks, b))
    return weights


def layer(given: list[float], matrix: Any, bias: Any, bend: bool) -> list[float]:
    """One layer of one network for one arm."""
    out = []
    for to in range(len(bias)):
        x = float(bias[to])
        for at, value in enumerate(given):
            x += value * float(matrix[at][to])
        out.append(x / (1 + math.exp(-1.7 * min(max(x, -20), 20))) if bend else x)
    return out


def by_loops(weights: Weights, told: FloatArray) -> FloatArray:
    """The same as `opinions`, a number at a time."""
    networks, arms = len(weights["names_input"]), len(told)
    said = np.zeros((networks, arms, OPINIONS - 1))
    for e in range(networks):
        for k in range(arms):
            known = [not math.isnan(value) for value in told[k]]
            values = [
                min(max(v, -3.0), 3.0) if y else 0.0 for v, y in zip(told[k], known, strict=True)
            ]
            hidden = [*values, *(float(y) for y in known)]
            for name in ("names_input", "names_hidden", "names_output"):
                bias = weights[f"{name}_bias"][e]
                hidden = layer(hidden, weights[name][e], bias, name != "names_output")
            said[e, k] = hidden
        said[e] -= said[e].mean(axis=0)
    found = np.zeros((arms, OPINIONS))
    for k in range(arms):
        if not all(math.isnan(value) for value in told[k]):
            found[k, :-1] = sum(said[:, k]) / networks
            found[k, -1] = np.std(said[:, k, 0])
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_opinions_are_those_of_plain_loops(seed: int) -> None:
    weights = weights_of(np.random.default_rng(seed))
    told = 2 * some_meanings(seed, 7)  # some beyond what is listened to
    told[3] = np.nan
    assert np.nanmax(np.abs(told)) > 3
    found = opinions(np, weights, told)
    assert found.shape == (7, OPINIONS)
    assert np.all(np.ptp(found, axis=0) > 0.01)
    np.testing.assert_allclose(found, by_loops(weights, told), atol=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_said_where_nothing_is_known(seed: int) -> None:
    weights = weights_of(np.random.default_rng(seed))
    told = some_meanings(seed, 6)
    told[[1, 4]] = np.nan
    found = opinions(np, weights, told)
    assert not found[[1, 4]].any()
    assert found[[0, 2, 3, 5]].all()
    assert not opinions(np, weights, np.full((6, len(ROLES)), np.nan)).any()


def test_the_last_column_is_how_far_the_networks_are_apart() -> None:
    rng = np.random.default_rng(0)
    weights, told = weights_of(rng, networks=2), some_meanings(1, 8)
    alone = [
        opinions(np, {name: w[e : e + 1] for name, w in weights.items()}, told) for e in range(2)
    ]
    found = opinions(np, weights, told)
    np.testing.assert_allclose(found[:, :-1], (alone[0] + alone[1])[:, :-1] / 2, atol=1e-9)
    apart = np.abs(alone[0][:, 0] - alone[1][:, 0]) / 2
    np.testing.assert_allclose(found[:, -1], apart, atol=2e-6)
    assert np.all(alone[0][:, -1] < 1e-5)  # one network is never apart from itself


def test_a_role_that_all_arms_share_leaves_opinions_about_zero() -> None:
    """Opinions compare the arms of a study: their mean says nothing."""
    found = opinions(np, shipped("policy"), some_meanings(2, 9, known=1.0))
    np.testing.assert_allclose(found[:, :-1].mean(axis=0), 0, atol=1e-6)
    same = opinions(np, shipped("policy"), np.tile(some_meanings(2, 1, known=1.0), (5, 1)))
    np.testing.assert_allclose(same, 0, atol=1e-5)


USUAL = {
    "batch_size": 128,
    "learning_rate": 1e-2,
    "momentum": 0.9,
    "weight_decay": 1e-4,
    "num_layers": 3,
    "max_units": 256,
    "max_dropout": 0.1,
}


@pytest.mark.parametrize("batch_size", [32, 512])
@pytest.mark.parametrize("units", [64, 1024])
def test_what_everybody_knows_is_known(batch_size: int, units: int) -> None:
    """A slow network that drops nearly everything ends worse than a usual one, and begins so."""
    usual = {**USUAL, "batch_size": batch_size, "max_units": units}
    slow = {**usual, "learning_rate": 1e-4, "max_dropout": 0.9}
    good, bad = opinions(np, shipped("policy"), encode_roles([usual, slow]))
    assert np.all(good[:3] > bad[:3] + 0.1)
