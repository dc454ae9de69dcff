"""Experts are weighed by Bayesian linear regression: against sampling and hand-made cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.beliefs import experts
from bhpt.beliefs.experts import EXPERTS, Standing
from bhpt.domain import Curves, FloatArray

E = len(EXPERTS)


def opinions_of(rng: np.random.Generator, arms: int = 12) -> FloatArray:
    return np.stack([experts.from_scores(rng.normal(size=arms)) for _ in range(E)])


def shown(ranks: FloatArray, early: bool = True) -> Standing:
    return Standing(np.arange(len(ranks)), ranks, early)


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_the_mean_of_the_posterior(seed: int) -> None:
    """By importance sampling from the prior."""
    rng = np.random.default_rng(seed)
    said = opinions_of(rng, 5)
    y = rng.uniform(-0.5, 0.5, 5)
    y -= y.mean()
    prior, deviation = experts.prior_mean(said), experts._PRIOR_DEVIATION
    draws = prior + deviation * rng.standard_normal((400_000, E))
    x = said[:, :, 2] - said[:, :, 2].mean(axis=1, keepdims=True)
    left = ((y - draws @ x) ** 2).sum(axis=1) / (2 * experts._NOISE**2)
    chance = np.exp(left.min() - left)
    expected = np.clip(chance @ draws / chance.sum(), 0.0, experts._MOST)
    np.testing.assert_allclose(experts.weights(said, [shown(y)]), expected, atol=0.02)


def test_without_evidence_weights_are_the_prior() -> None:
    said = opinions_of(np.random.default_rng(0))
    np.testing.assert_allclose(experts.weights(said, []), experts.prior_mean(said))
    said[3] = 0.0
    np.testing.assert_allclose(experts.weights(said, []), experts._PRIOR_MEAN)
    empty = Standing(np.zeros(0, np.int64), np.zeros(0), True)
    np.testing.assert_allclose(experts.weights(said, [empty]), experts._PRIOR_MEAN)


@pytest.mark.parametrize(
    ("by_names", "share"), [(1.0, 1 / 2), (0.5, 1 / 65537), (2.0, 65536 / 65537)]
)
def test_of_names_and_earlier_studies_the_one_leads_that_tells_arms_apart(
    by_names: float, share: float
) -> None:
    said = opinions_of(np.random.default_rng(1))
    said[0] *= by_names * experts._TOLD / 0.289  # what earlier studies say is spread by that
    said[0] /= experts._LOUDER  # what networks say is compared as what they said once
    networks, *others, earlier = experts.prior_mean(said)
    assert networks == pytest.approx(share * experts._PRIOR_MEAN[0])
    assert earlier == pytest.approx((1 - share) * experts._EARLIER_ALONE)
    assert others == experts._PRIOR_MEAN[1:3].tolist()


def test_networks_that_know_nothing_leave_it_to_earlier_studies() -> None:
    said = opinions_of(np.random.default_rng(2))
    said[0] = 0.0
    assert experts.prior_mean(said)[[0, 3]].tolist() == [0.0, experts._EARLIER_ALONE]


def test_an_expert_that_misleads_loses_its_weight_within_a_few_looks() -> None:
    said = np.zeros((E, 8, 4))
    ranks = np.linspace(-0.5, 0.5, 8)
    said[0, :, :3] = -0.7 * ranks[:, None]
    trust = [experts.weights(said, [shown(ranks[:n])])[0] for n in (0, 2, 4, 8)]
    assert trust[0] > 0.8
    assert trust[2] < trust[0]
    assert trust[3] == 0
    said[0] *= -1
    assert experts.weights(said, [shown(ranks)])[0] > 1


def test_of_two_that_say_the_same_one_is_enough() -> None:
    ranks = np.linspace(-0.5, 0.5, 20)
    said = np.zeros((E, 20, 4))
    said[0, :, :3] = ranks[:, None]
    alone = experts.combined(said, experts.weights(said, [shown(ranks)]))
    said[3] = said[0]
    both = experts.combined(said, experts.weights(said, [shown(ranks)]))
    assert np.ptp(both[:, 0]) < 1.25 * np.ptp(alone[:, 0])


def test_late_standings_are_compared_with_expected_ends() -> None:
    said = np.zeros((E, 6, 4))
    ranks = np.linspace(-0.5, 0.5, 6)
    said[0, :, 0], said[0, :, 2] = ranks, -ranks
    early = experts.weights(said, [shown(ranks)])[0]
    late = experts.weights(said, [shown(ranks, early=False)])[0]
    assert early < 0.3 < late


def test_standings_are_ranks_after_as_many_epochs() -> None:
    curves = Curves.of(
        [[3.0, 1.0, 0.9], [2.0, 1.9, 1.8], [np.nan, np.inf], [1.0, 1.5], [], [2.5, 0.5, 0.1]], 9
    )
    first, later = experts.standings(curves, 1)
    by_arm = dict(zip(first.arms.tolist(), first.ranks.tolist(), strict=True))
    assert sorted(by_arm, key=lambda arm: -by_arm[arm]) == [3, 1, 5, 0, 2]
    np.testing.assert_allclose(sorted(by_arm.values()), [-0.4, -0.2, 0.0, 0.2, 0.4])
    assert first.early
    assert not later.early
    assert set(later.arms.tolist()) == {0, 1, 5}  # three have had three epochs
    assert later.ranks[later.arms.tolist().index(5)] == later.ranks.max()
    assert experts.standings(Curves.of([[1.0], []], 3), 1) == []


def test_equal_losses_share_their_rank() -> None:
    (only,) = experts.standings(Curves.of([[1.0], [1.0], [2.0], [0.5]], 3), 1)
    np.testing.assert_allclose(only.ranks, [0.0, 0.0, -0.375, 0.375])


def test_scores_that_are_all_alike_say_nothing() -> None:
    assert not experts.from_scores(np.full(5, 3.0)).any()
    assert not experts.from_ranks(np.full(5, 0.2)).any()
    found = experts.from_scores(np.array([1.0, 2.0, 9.0]))
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    assert found[:, 0].std() == pytest.approx(0.289)


@pytest.mark.parametrize(("deviation", "part"), [(2.0, 1.0), (1.0, 1.0), (0.5, 0.5), (0.01, 0.01)])
def test_expected_ranks_are_spread_as_far_as_they_tell_arms_apart(
    deviation: float, part: float
) -> None:
    """To all ranks where they are as far apart as those of an expert that knows a space."""
    expected = np.random.default_rng(0).gamma(1.0, size=40)
    expected *= deviation * experts._TOLD / expected.std()
    found = experts.from_ranks(expected - 0.3)
    np.testing.assert_array_equal(np.argsort(found[:, 0]), np.argsort(expected))
    np.testing.assert_allclose(np.sort(found[:, 0]), part * ((np.arange(40) + 0.5) / 40 - 0.5))
    np.testing.assert_allclose(found[:, 2], found[:, 0])
    assert not found[:, 3].any()


def test_earlier_studies_lead_by_what_they_know_and_not_by_how_it_is_spread() -> None:
    said = opinions_of(np.random.default_rng(4))
    said[0] *= 0.5 * experts._TOLD / 0.289 / experts._LOUDER
    for part, leads in ((1.0, True), (0.25, False)):
        expected = np.random.default_rng(5).normal(size=12)
        said[3] = experts.from_ranks(part * experts._TOLD * expected / expected.std())
        networks, *_, earlier = experts.prior_mean(said)
        assert (earlier > networks) == leads


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), arms=st.integers(2, 30), tried=st.integers(0, 30))
def test_weights_are_bounded_whatever_comes(seed: int, arms: int, tried: int) -> None:
    rng = np.random.default_rng(seed)
    said = opinions_of(rng, arms)
    ranks = rng.uniform(-0.5, 0.5, min(tried, arms))
    trust = experts.weights(said, [shown(ranks), shown(ranks, early=False)])
    assert np.all((trust >= 0) & (trust <= experts._MOST))
    assert np.isfinite(experts.combined(said, trust)).all()


def test_advice_says_how_far_experts_agreed_with_what_was_shown() -> None:
    said = opinions_of(np.random.default_rng(3), 8)
    ranks = np.argsort(np.argsort(said[0, :, 2])) / 8.0
    told = experts.advice(np.arange(8), said, np.ones(E), [shown(ranks)])
    assert told.agreement[0] == pytest.approx(1.0)
    assert told.shown == 8
    expected = np.corrcoef(np.argsort(np.argsort(said[1, :, 2])), ranks)[0, 1]
    assert told.agreement[1] == pytest.approx(expected)
    few = experts.advice(np.arange(8), said, np.ones(E), [shown(ranks[:2])])
    assert np.isnan(few.agreement).all()
    assert np.isnan(experts.advice(np.arange(8), said, np.ones(E), []).agreement).all()
