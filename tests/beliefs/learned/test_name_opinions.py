"""What is known of names: against plain loops, and that it is what everybody knows."""

import math
from typing import Any

import numpy as np
import pytest

from bhpt.beliefs.learned.geometry import OPINIONS
from bhpt.beliefs.learned.name_opinions import opinions
from bhpt.beliefs.learned.network import Weights
from bhpt.beliefs.learned.weights import shipped, shipped_policy
from bhpt.domain import FloatArray
from bhpt.spaces import encode_tokens, infer_ranges
from bhpt.spaces.tokens import COLUMNS
from tests.beliefs.learned.cases import some_tokens

SEEDS = range(4)


def weights_of(rng: np.random.Generator, networks: int = 3, hidden: int = 5) -> Weights:
    sizes = {
        "reader_token": (COLUMNS, hidden),
        "reader_context": (hidden, hidden),
        "reader_again": (hidden, hidden),
        "reader_hidden": (hidden, hidden),
        "reader_output": (hidden, OPINIONS - 1),
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


def one_network(weights: Weights, e: int, told: FloatArray) -> list[list[float]]:
    """What one network says of every arm, a number at a time, before the mean is taken off."""
    hidden = len(weights["reader_hidden_bias"][e])
    nothing = [0.0] * hidden
    said = []
    for arm in told:
        present = [token for token in arm.tolist() if token[0] > 0]
        read = [
            layer(token, weights["reader_token"][e], weights["reader_token_bias"][e], True)
            for token in present
        ]
        context = layer(
            [sum(one[h] for one in read) for h in range(hidden)],
            weights["reader_context"][e],
            nothing,
            False,
        )
        total = list(nothing)
        for one in read:
            bias = [
                float(b) + c for b, c in zip(weights["reader_again_bias"][e], context, strict=True)
            ]
            again = layer(one, weights["reader_again"][e], bias, True)
            total = [a + b for a, b in zip(total, again, strict=True)]
        last = layer(total, weights["reader_hidden"][e], weights["reader_hidden_bias"][e], True)
        said.append(layer(last, weights["reader_output"][e], [0.0] * (OPINIONS - 1), False))
    return said


def by_loops(weights: Weights, told: FloatArray) -> FloatArray:
    """The same as `opinions`, a number at a time."""
    networks, arms = len(weights["reader_token"]), len(told)
    said = np.array([one_network(weights, e, told) for e in range(networks)])
    said -= said.mean(axis=1, keepdims=True)
    found = np.zeros((arms, OPINIONS))
    for k in range(arms):
        if told[k, :, 0].any():
            found[k, :-1] = sum(said[:, k]) / networks
            found[k, -1] = np.std(said[:, k, 0])
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_opinions_are_those_of_plain_loops(seed: int) -> None:
    weights = weights_of(np.random.default_rng(seed))
    told = some_tokens(seed, 7)
    told[3] = 0.0
    found = opinions(np, weights, told)
    assert found.shape == (7, OPINIONS)
    assert np.all(np.ptp(found, axis=0) > 0.01)
    np.testing.assert_allclose(found, by_loops(weights, told), atol=2e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_said_where_nothing_is_known(seed: int) -> None:
    weights = weights_of(np.random.default_rng(seed))
    told = some_tokens(seed, 6)
    told[[1, 4]] = 0.0
    found = opinions(np, weights, told)
    assert not found[[1, 4]].any()
    assert found[[0, 2, 3, 5]].all()
    assert not opinions(np, weights, np.zeros_like(told)).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_hyperparameters_does_not_matter(seed: int) -> None:
    weights, told = weights_of(np.random.default_rng(seed)), some_tokens(seed, 7)
    swapped = told[:, np.random.default_rng(seed).permutation(told.shape[1])]
    np.testing.assert_allclose(opinions(np, weights, swapped), opinions(np, weights, told))


def test_a_hyperparameter_is_read_in_the_light_of_the_others() -> None:
    """What a second one adds depends on the first: opinions are no sum over hyper-parameters."""
    weights, told = weights_of(np.random.default_rng(1)), some_tokens(1, 8, known=1.0)

    def said(*names: int) -> FloatArray:
        kept = np.zeros_like(told)
        kept[:, names] = told[:, names]
        return np.asarray(opinions(np, weights, kept)[:, 0])

    assert not np.allclose(said(0, 1), said(0) + said(1), atol=1e-2)


def test_the_last_column_is_how_far_the_networks_are_apart() -> None:
    rng = np.random.default_rng(0)
    weights, told = weights_of(rng, networks=2), some_tokens(1, 8)
    alone = [
        opinions(np, {name: w[e : e + 1] for name, w in weights.items()}, told) for e in range(2)
    ]
    found = opinions(np, weights, told)
    np.testing.assert_allclose(found[:, :-1], (alone[0] + alone[1])[:, :-1] / 2, atol=1e-9)
    apart = np.abs(alone[0][:, 0] - alone[1][:, 0]) / 2
    np.testing.assert_allclose(found[:, -1], apart, atol=2e-6)
    assert np.all(alone[0][:, -1] < 1e-5)  # one network is never apart from itself


def test_what_all_arms_share_leaves_opinions_about_zero() -> None:
    """Opinions compare the arms of a study: their mean says nothing."""
    found = opinions(np, shipped("names"), some_tokens(2, 9, known=1.0))
    np.testing.assert_allclose(found[:, :-1].mean(axis=0), 0, atol=1e-6)
    same = opinions(np, shipped("names"), np.tile(some_tokens(2, 1, known=1.0), (5, 1, 1)))
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


RANGES = infer_ranges(
    [
        {**USUAL, "batch_size": 16, "learning_rate": 1e-4, "momentum": 0.1, "weight_decay": 1e-5},
        {**USUAL, "batch_size": 512, "learning_rate": 0.1, "momentum": 0.99, "weight_decay": 0.1},
        {**USUAL, "num_layers": 1, "max_units": 64, "max_dropout": 0.0},
        {**USUAL, "num_layers": 5, "max_units": 1024, "max_dropout": 1.0},
    ]
)


@pytest.mark.parametrize("spelling", ["learning_rate", "learningRate", "optim.learning-rate", "lr"])
@pytest.mark.parametrize("units", [64, 1024])
def test_what_everybody_knows_is_known_in_any_spelling(spelling: str, units: int) -> None:
    """A slow network that drops nearly everything ends worse than a usual one, and begins so."""
    usual = {**USUAL, "max_units": units}
    slow = {**usual, "learning_rate": 1e-4, "max_dropout": 0.95}
    other = {"learning_rate": spelling}
    ranges = {other.get(name, name): span for name, span in RANGES.items()}
    configs = [{other.get(name, name): v for name, v in c.items()} for c in (usual, slow)]
    good, bad = opinions(np, shipped_policy(), encode_tokens(configs, ranges))
    assert np.all(good[[0, 2]] > bad[[0, 2]] + 0.1)
