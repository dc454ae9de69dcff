"""The network that says which tried arm to go on with: what it is told, what it says."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs.learned import finisher
from bhpt.beliefs.learned.finisher_inputs import finisher_scores
from bhpt.beliefs.learned.network_inputs import network_inputs
from bhpt.beliefs.learned.weights import (
    NETWORKS,
    NetworkWeights,
    networks_in,
    shipped,
    shipped_policy,
    with_names,
    without_names,
    write_weights,
)
from bhpt.domain import FloatArray, IntArray, Misuse
from bhpt.spaces.tokens import COLUMNS
from tests.beliefs.learned.cases import some_tokens, study

RNG = np.random.default_rng


def some_curves(seed: int, arms: int, total: int) -> tuple[FloatArray, IntArray]:
    """Improvements, best so far, [R, T + 1], and units that each arm has had, [R]."""
    rng = RNG(seed)
    gained = rng.random((arms, total)) * (rng.random((arms, total)) < 0.7)
    q = np.concatenate([np.zeros((arms, 1)), np.cumsum(gained, axis=1)], axis=1)
    return q, rng.integers(1, total + 1, arms)


def told(q: FloatArray, n: IntArray, left: float = 7.0) -> FloatArray:
    arms, total = len(n), q.shape[1] - 1
    found: FloatArray = finisher.curve_features(
        np, q, n, np.full(arms, left), float(total), np.ones(arms)
    )
    return found


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), arms=st.integers(1, 9), total=st.integers(1, 12))
def test_nothing_is_told_of_what_is_still_to_come(seed: int, arms: int, total: int) -> None:
    q, n = some_curves(seed, arms, total)
    other = q.copy()
    for arm in range(arms):
        other[arm, n[arm] + 1 :] = (
            other[arm, n[arm]] + RNG(seed + 1).random(total - n[arm]).cumsum()
        )
    features = told(q, n)
    assert features.shape == (arms, finisher.FEATURES)
    assert np.isfinite(features).all()
    np.testing.assert_array_equal(features, told(other, n))


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 40.0, 1e9])
def test_the_scale_of_a_loss_does_not_matter(scale: float) -> None:
    q, n = some_curves(3, 6, 9)
    np.testing.assert_allclose(told(q * scale, n), told(q, n), atol=1e-9)


def test_what_is_left_is_told_up_to_the_end_of_a_training() -> None:
    q, n = some_curves(3, 6, 9)
    more = slice(23, 26)  # columns of the units that are still to come
    assert not np.allclose(
        told(q, np.minimum(n, 5), 1.0)[:, more], told(q, np.minimum(n, 5))[:, more]
    )
    ended = np.full(6, 9)
    np.testing.assert_array_equal(told(q, ended, 1.0)[:, more], told(q, ended)[:, more])


def test_better_arms_with_as_many_units_are_counted_by_hand() -> None:
    q = np.array([[0.0, 1.0, 4.0], [0.0, 2.0, 3.0], [0.0, 3.0, 3.0]])
    shares = told(q, np.array([1, 2, 1]))[:, -1]
    np.testing.assert_allclose(shares, [2 / 3, 0.0, 0.0])


def scored(q: FloatArray, n: IntArray, tokens: FloatArray, seen: FloatArray) -> FloatArray:
    weights, total = shipped("finisher"), q.shape[1] - 1
    curves = finisher.curve_features(np, q, n, np.full(len(n), 5.0), float(total), seen)
    configured = finisher.configurations(np, weights, tokens)
    found: FloatArray = finisher.scores(np, weights, curves, configured, seen)
    return found


def test_the_order_of_arms_and_padding_do_not_matter() -> None:
    q, n = some_curves(5, 7, 11)
    tokens = some_tokens(5, 7)
    alone = scored(q, n, tokens, np.ones(7))
    order = RNG(0).permutation(7)
    np.testing.assert_allclose(
        scored(q[order], n[order], tokens[order], np.ones(7)), alone[order], atol=1e-4
    )
    padded = scored(
        np.concatenate([q, 9 * q[:3]]),
        np.concatenate([n, n[:3]]),
        np.concatenate([tokens, tokens[:3]]),
        np.array([1.0] * 7 + [0.0] * 3),
    )
    np.testing.assert_allclose(padded[:7], alone, atol=1e-4)
    assert (padded[7:] < -1e8).all()


def test_configurations_matter_and_absent_hyperparameters_do_not() -> None:
    q, n = some_curves(5, 4, 11)
    tokens = some_tokens(5, 4)
    wider = np.concatenate([tokens, np.zeros((4, 2, COLUMNS))], axis=1)
    seen = np.ones(4)
    np.testing.assert_allclose(scored(q, n, wider, seen), scored(q, n, tokens, seen), atol=1e-4)
    assert not np.allclose(scored(q, n, tokens[::-1], seen), scored(q, n, tokens, seen), atol=1e-2)


def test_the_arms_that_came_furthest_are_compared_and_the_chosen_one() -> None:
    arms = finisher.MOST + 20
    view = study(1, arms=arms, epochs=6, reports=400, tokens=some_tokens(1, arms), left=40.0)
    weights = shipped_policy()
    inputs = network_inputs(view, weights)
    tried = np.flatnonzero(inputs.moment.n > 0)
    assert len(tried) > finisher.MOST
    reached = inputs.moment.q[np.arange(len(inputs.rows)), inputs.moment.n.astype(int)]
    worst = int(tried[reached[tried].argmin()])
    found = finisher_scores(view, inputs, weights, worst)
    assert found is not None
    assert len(found.places) == finisher.MOST
    assert worst in found.places
    best = tried[np.argsort(-reached[tried], kind="stable")[: finisher.MOST - 1]]
    assert {*best.tolist()} <= {*found.places.tolist()}


def test_without_names_or_the_network_nothing_is_said() -> None:
    view = study(1, arms=6, epochs=6, reports=9, tokens=some_tokens(1, 6))
    both = with_names(shipped("policy"), shipped("names"))
    assert not both.knows_finishers
    assert not without_names(shipped_policy()).knows_finishers
    for one, weights in ((view, both), (replace(view, tokens=None), shipped_policy())):
        inputs = network_inputs(one, weights)
        chosen = int(np.flatnonzero(inputs.moment.n > 0)[0])
        assert finisher_scores(one, inputs, weights, chosen) is None


def put(folder: Path, network: NetworkWeights) -> None:
    write_weights(folder / f"{network.passport.network}.npz", network, network.passport)


def test_a_folder_may_lack_it_and_no_other_network(tmp_path: Path) -> None:
    whole, lacking, broken = tmp_path / "whole", tmp_path / "lacking", tmp_path / "broken"
    for folder, networks in ((whole, NETWORKS), (lacking, NETWORKS[:3]), (broken, NETWORKS[:2])):
        folder.mkdir()
        for name in networks:
            put(folder, shipped(name))
    assert [one.passport.network for one in networks_in(whole)] == [*NETWORKS]
    assert [one.passport.network for one in networks_in(lacking)] == [*NETWORKS[:3]]
    with pytest.raises(Misuse, match=r"names\.npz"):
        networks_in(broken)


def test_weights_for_other_tokens_are_refused(tmp_path: Path) -> None:
    weights = shipped("finisher")
    short = {**weights, "finisher_token": weights["finisher_token"][:-1]}
    write_weights(tmp_path / "finisher.npz", short, weights.passport)
    put(tmp_path, shipped("policy"))
    put(tmp_path, shipped("ends"))
    put(tmp_path, shipped("names"))
    with pytest.raises(Misuse, match="finisher_token does not fit"):
        networks_in(tmp_path)
