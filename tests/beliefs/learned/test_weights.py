"""The weights that ship: they fit the features, are finite, and belong to these very features."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from bhpt.beliefs.learned.geometry import OPINIONS
from bhpt.beliefs.learned.name_opinions import opinions
from bhpt.beliefs.learned.network import EDGES, histogram, outputs, preferences, trunk
from bhpt.beliefs.learned.network_inputs import network_inputs
from bhpt.beliefs.learned.schema import arm_column
from bhpt.beliefs.learned.weights import (
    NetworkWeights,
    read_weights,
    shipped,
    shipped_policy,
    without_names,
    write_weights,
)
from bhpt.domain import Curves, FloatArray, View
from bhpt.spaces.tokens import COLUMNS, TOKEN_NAMES

HIDDEN = 64
KNOWLEDGE = 64  # hidden units of the networks that read names
NETWORKS = 4  # of them
# after training print these anew: .venv/bin/python -m tests.beliefs.learned.test_weights
LIKED = [-6.60184, -21.26293, -32.24239, -28.60171, -24.97884, -17.86046]
BINS = [
    [-2.27235, -6.00429, 0.02363],
    [-4.19262, -8.13936, 0.46592],
    [-4.14945, -10.10172, 2.84989],
    [0.55001, -5.15866, 1.18421],
    [0.38758, -5.00502, -1.36071],
    [0.72496, -4.52439, -1.27868],
]  # three of the bins of each arm
EXPECTED = [-0.17469, 0.17349, 0.16568, -0.11962, 0.03153, -0.0764]


def moment() -> View:
    """A study without chance; the numbers of a token differ, so their order is noticed."""
    t = np.arange(1, 9)
    curves = [list(0.2 + 0.1 * k + 0.6 * np.exp(-t[: 2 * k + 1] / (k + 1))) for k in range(4)]
    features = np.array([[0.1, 0.9], [0.4, 0.6], [0.8, 0.5], [0.6, 0.1], [0.2, 0.3], [0.9, 0.9]])
    costs = np.array([1.0, 1.0, 2.0, 1.0, 1.0, 0.5])
    k, at = np.arange(6)[:, None, None], np.arange(COLUMNS)[None, None, :]
    name = np.arange(3)[None, :, None]
    tokens = 0.3 * np.sin(1.0 + 2.0 * k + 0.7 * at + 0.3 * k * at + 1.1 * name)
    tokens[:, :, 0] = 1.0
    tokens[4, 1] = 0.0
    return View(
        Curves.of([*curves, [], []], 8),
        1,
        12.0,
        costs,
        features,
        untrained=1.0,
        tokens=tokens,
    )


def said() -> tuple[FloatArray, FloatArray, FloatArray]:
    """What the networks say of it: preferences, three of the bins of each arm, expectations."""
    view, weights, ends = moment(), shipped_policy(), shipped("ends")
    assert view.tokens is not None
    inputs = network_inputs(view, weights)
    made = trunk(np, weights, inputs.arms, inputs.study, inputs.moment.exists)
    out = outputs(np, weights, *made)
    liked = preferences(np, weights, out, inputs.moment.open)
    inputs = network_inputs(view, ends)
    made = trunk(np, ends, inputs.arms, inputs.study, inputs.moment.exists)
    raw = histogram(ends, outputs(np, ends, *made))
    return liked, raw[:, [0, 12, 30]], opinions(np, weights, view.tokens)[:, 0]


@pytest.mark.parametrize("name", ["policy", "ends"])
def test_shapes_fit_the_features(name: Literal["policy", "ends"]) -> None:
    weights = shipped(name)
    inputs = network_inputs(moment(), weights)
    arms, study, h = inputs.arms.shape[1], len(inputs.study), HIDDEN
    shapes: dict[str, tuple[int, ...]] = {
        "arm_input": (arms, h),
        "shared_input": (study + arms, h),
        "input_bias": (h,),
        "hidden": (h, h),
        "hidden_bias": (h,),
        "context": (3 * h + study + arms, h),
        "context_bias": (h,),
        "output": (h, h),
        "output_context": (h, h),
        "output_bias": (h,),
    }
    if name == "policy":
        shapes |= {
            "preference": (h,),
        }
    else:
        shapes |= {"bins": (h, len(EDGES) + 1), "bins_bias": (len(EDGES) + 1,)}
    assert {key: value.shape for key, value in weights.items()} == shapes
    assert all(np.isfinite(value).all() and value.any() for value in weights.values())


def test_shapes_of_the_reader_fit_its_tokens() -> None:
    weights = shipped("names")
    assert {key: value.shape for key, value in weights.items()} == {
        "reader_token": (NETWORKS, COLUMNS, KNOWLEDGE),
        "reader_token_bias": (NETWORKS, KNOWLEDGE),
        "reader_context": (NETWORKS, KNOWLEDGE, KNOWLEDGE),
        "reader_again": (NETWORKS, KNOWLEDGE, KNOWLEDGE),
        "reader_again_bias": (NETWORKS, KNOWLEDGE),
        "reader_hidden": (NETWORKS, KNOWLEDGE, KNOWLEDGE),
        "reader_hidden_bias": (NETWORKS, KNOWLEDGE),
        "reader_output": (NETWORKS, KNOWLEDGE, OPINIONS - 1),
    }
    assert all(np.isfinite(value).all() and value.any() for value in weights.values())


def test_the_predictor_looks_at_no_name() -> None:
    """Where names mislead, its intervals would be too narrow."""
    view, ends = moment(), shipped("ends")
    assert not ends.knows_names
    np.testing.assert_array_equal(
        network_inputs(view, ends).arms, network_inputs(replace(view, tokens=None), ends).arms
    )


def test_without_names_nothing_is_known_of_them() -> None:
    named = shipped_policy()
    weights = without_names(named)
    assert without_names(named) is weights  # what follows from it is remembered
    assert weights.keys() == {
        name for name in named if not name.startswith(("reader_", "finisher_"))
    }
    assert weights.keys() == shipped("policy").keys()
    assert named.knows_names
    assert not weights.knows_names
    view = moment()
    inputs = network_inputs(view, weights)
    np.testing.assert_array_equal(
        inputs.arms, network_inputs(replace(view, tokens=None), weights).arms
    )
    assert (inputs.arms != network_inputs(view, named).arms).any()


def test_weights_and_features_have_not_parted() -> None:
    """What the networks said when they were shipped.

    Whoever changes a feature, its place, a role, its place or the network has to train anew, and
    then to write new numbers here: a network that is told other things than it was trained on may
    still do well enough not to be noticed.
    """
    rounding = 1e-4  # of 32 bits, after three layers
    liked, bins, expected = said()
    np.testing.assert_allclose(liked, LIKED, atol=rounding)
    np.testing.assert_allclose(bins, BINS, atol=rounding)
    np.testing.assert_allclose(expected, EXPECTED, atol=rounding)


def test_the_order_of_what_tokens_say_would_be_noticed() -> None:
    view, weights = moment(), shipped_policy()
    assert view.tokens is not None
    for first in range(1, COLUMNS - 1):
        swapped = view.tokens.copy()
        swapped[:, :, [first, first + 1]] = swapped[:, :, [first + 1, first]]
        found = opinions(np, weights, swapped)[:, 0]
        assert np.abs(found - EXPECTED).max() > 1e-4, TOKEN_NAMES[first]


def test_weights_are_told_apart_by_value() -> None:
    """So that what was computed from them is found again, whichever object holds them."""
    passport = shipped("policy").passport
    one = NetworkWeights(shipped("policy"), passport)
    same = NetworkWeights({name: value.copy() for name, value in one.items()}, passport)
    changed = {name: value.copy() for name, value in one.items()}
    changed["preference"].flat[0] += 1e-3
    other = NetworkWeights(changed, passport)
    renamed = NetworkWeights({f"{name}_": value for name, value in one.items()}, passport)
    assert one == same == shipped("policy")
    assert {one: 1}[same] == 1
    assert len({one, same, other, renamed}) == 3
    assert one != dict(one)
    assert one.digest == same.digest == passport.arrays


def test_opinions_of_other_weights_are_not_those_remembered() -> None:
    view, weights = moment(), shipped_policy()
    flipped = {"reader_output": -weights["reader_output"]}
    lies = NetworkWeights({**weights, **flipped}, weights.passport)
    truth, lied = network_inputs(view, weights).arms, network_inputs(view, lies).arms
    opinion = [arm_column(f"opinion_{name}") for name in ("end", "top", "early")]
    assert np.abs(lied[:, opinion] - truth[:, opinion]).max() > 0.1
    np.testing.assert_array_equal(network_inputs(view, weights).arms, truth)


def test_a_file_is_read_once_and_as_32_bits(tmp_path: Path) -> None:
    file = tmp_path / "w.npz"
    wide = {name: value.astype(float) for name, value in shipped("policy").items()}
    write_weights(file, wide, shipped("policy").passport)
    weights = read_weights(file, "policy")
    assert read_weights(file, "policy") is weights
    assert {value.dtype for value in weights.values()} == {np.dtype(np.float32)}
    np.testing.assert_array_equal(weights["arm_input"], shipped("policy")["arm_input"])
    assert weights.passport == shipped("policy").passport


if __name__ == "__main__":
    for title, numbers in zip(("LIKED", "BINS", "EXPECTED"), said(), strict=True):
        print(f"{title} = {np.round(numbers.astype(float), 5).tolist()}")
