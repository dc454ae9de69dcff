"""Features: what must not change them does not, and what was not seen is not looked at."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bhpt.beliefs import experts
from bhpt.beliefs.learned.arm_opinions import expected as expected_of
from bhpt.beliefs.learned.features import NOISE, features
from bhpt.beliefs.learned.geometry import OPINIONS, Geometry, geometry
from bhpt.beliefs.learned.looked_at import looked_at
from bhpt.beliefs.learned.network import outputs, preferences, trunk
from bhpt.beliefs.learned.network_inputs import after_trying, network_inputs, observe, tried_too
from bhpt.beliefs.learned.past import Moment
from bhpt.beliefs.learned.schema import OPINION_NAMES, STUDY_FEATURES, arm_column
from bhpt.domain import Curves, FloatArray, IntArray, Memory, View
from bhpt.policies.learned import Learned
from bhpt.spaces import encode_tokens, infer_ranges
from bhpt.spaces.tokens import COLUMNS
from tests.beliefs.learned.cases import (
    KNOWING,
    UNTRAINED,
    named,
    posterior,
    some_tokens,
    study,
    with_losses,
)

SEEDS = range(6)
ROUNDING = 1e-5  # the networks are told 32 bits, and logarithms make more of the last of them
OPINION = [arm_column(f"opinion_{name}") for name in OPINION_NAMES]
LIKED, BEHIND, SURE, EARLY, NOW, FLYING, WORKERS = map(
    arm_column,
    (
        "opinion_standard",
        "behind_best_opinion",
        "opinion_certainty",
        "opinion_agrees_with_first",
        "opinion_agrees_with_now",
        "in_flight",
        "log_workers",
    ),
)
EXPECTED = [
    arm_column(f"expected_{of}") for of in ("first", "improvement", "rank", "extrapolation")
]
ALL_OF_NAMES = [*OPINION, LIKED, BEHIND, SURE, EARLY, NOW]


@pytest.fixture(autouse=True)
def _trust_as_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Experts keep their weights; how these follow what is shown is tested beside them."""
    monkeypatch.setattr(experts, "standings", lambda *_: [])


def told(view: View) -> tuple[FloatArray, FloatArray]:
    """Features of all arms, [K, F], and of the study."""
    inputs = network_inputs(view, KNOWING)
    np.testing.assert_array_equal(inputs.rows, np.arange(view.arms))
    return inputs.arms, inputs.study


def liked(moment: Moment, arms: FloatArray, whole: FloatArray) -> FloatArray:
    out = outputs(np, KNOWING, *trunk(np, KNOWING, arms, whole, moment.exists))
    found: FloatArray = preferences(np, KNOWING, out, moment.open)
    return found


def same(found: View, expected: View, tolerance: float = ROUNDING) -> None:
    for a, b in zip(told(found), told(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def near(found: FloatArray, expected: FloatArray | list[float] | float) -> None:
    np.testing.assert_allclose(found, expected, rtol=ROUNDING)


def test_features_of_two_arms_by_hand() -> None:
    curves = Curves.of([[0.6, 0.4], [0.5], []], 4)
    view = View(curves, 1, 3.0, np.ones(3), np.zeros((3, 0)), untrained=1.0)
    arms, whole = told(view)

    def column(name: str) -> FloatArray:
        return arms[:, arm_column(name)]

    near(column("tried"), [1, 1, 0])  # tried
    near(column("latest"), [0, 1, 0])  # the latest unit
    near(column("is_best"), [1, 0, 0])  # the best
    near(column("horizon_share"), [2 / 4, 3 / 4, 3 / 4])  # the rest of a training
    near(column("improvement"), [1, 5 / 6, 0])  # where they are
    near(column("first_improvement"), [4 / 6, 5 / 6, 0])  # where they were after one unit
    near(column("log_gain_last_unit"), np.log10([1 / 3 + 1e-3, 5 / 6 + 1e-3, 1]) / 3)
    near(column("extrapolated_fast")[:2], [1 + (1 / 3), 5 / 6 + 2 * 5 / 6])  # a doubling, two
    near(column("share_better")[:2], [0, 0])  # rivals that were better
    near(column("typical_later_gain"), [0, 2 / 6, (1 + 5 / 6) / 2])  # what others gained
    near(column("untried"), [0, 0, 1])  # can be tried
    of_study = dict(zip(STUDY_FEATURES, whole, strict=True))
    near(of_study["mean_improvement"], (1 + 5 / 6) / 2)
    near(of_study["mean_first_improvement"], (4 / 6 + 5 / 6) / 2)
    near(of_study["log_gap_to_second"], np.log10(1 / 6 + 1e-3) / 3)  # the best before the second


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("a", "b"), [(1e-15, 0), (1e-4, 0), (1e12, 0), (3, -100), (0.5, 1e3)])
def test_scale_and_level_of_losses_do_not_matter(seed: int, a: float, b: float) -> None:
    view = named(seed)
    same(with_losses(view, a * view.curves.losses + b, untrained=a * UNTRAINED + b), view)


def permuted(view: View, place: IntArray) -> View:
    """The view with arm k called place[k]."""
    back = np.argsort(place)
    curves = replace(view.curves, visited=place[view.curves.visited])
    return replace(
        view,
        curves=curves,
        features=view.features[back],
        costs=view.costs[back],
        pending=place[view.pending],
        tokens=None if view.tokens is None else view.tokens[back],
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_names_of_arms_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    view = named(seed, costs=rng.uniform(0.5, 2, 9), pending=rng.choice(9, 2, replace=False))
    place = rng.permutation(view.arms)
    other = permuted(view, place)
    (arms, whole), (moved, moved_whole) = told(view), told(other)
    assert np.all(np.ptp(arms[:, [*OPINION, LIKED, FLYING]], axis=0) > 0)
    np.testing.assert_allclose(moved[place], arms, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(moved_whole, whole, rtol=ROUNDING, atol=ROUNDING)
    rows = np.arange(view.arms)
    expected = liked(observe(view, rows, KNOWING)[0], arms, whole)
    found = liked(observe(other, rows, KNOWING)[0], moved, moved_whole)
    np.testing.assert_allclose(found[place], expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_and_the_direction_of_columns_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    view = study(seed, columns=4)
    x = view.features[:, rng.permutation(4)]
    same(replace(view, features=np.where(rng.random(4) < 0.5, 1 - x, x)), view)
    assert not np.allclose(told(replace(view, features=x**3))[0], told(view)[0])  # they do matter


@pytest.mark.parametrize("seed", SEEDS)
def test_padding_changes_nothing(seed: int) -> None:
    """Training pads arms and columns with whatever lies there, deciding does not."""
    rng = np.random.default_rng(seed)
    view = named(seed, pending=np.array([seed]), split=3)
    rows = np.arange(view.arms)
    moment, shape = observe(view, rows, KNOWING)
    more, wide = view.arms + 5, view.features.shape[1] + 2

    def padded(values: FloatArray, fill: float = 0.0) -> FloatArray:
        return np.concatenate([values, np.full((5, *values.shape[1:]), fill)])

    x = rng.uniform(size=(more, wide))
    x[: view.arms, : view.features.shape[1]] = view.features
    exists = padded(moment.exists)
    used = 1.0 * (np.arange(wide) < view.features.shape[1])
    said = padded(expected_of(view, rows, KNOWING), 9.0)
    larger = geometry(np, x, exists, used, said)
    n = padded(moment.n).astype(int)
    big = replace(
        moment,
        q=padded(moment.q, 7.0),
        n=n,
        r=padded(moment.r, 30.0),
        exists=exists,
        open=padded(moment.open),
        last=padded(moment.last),
        flying=padded(moment.flying),
        covariance=posterior(larger.prior, n > 0),
    )
    (arms, whole), (found, found_whole) = features(np, moment, shape), features(np, big, larger)
    np.testing.assert_allclose(found[: view.arms], arms, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(found_whole, whole, rtol=ROUNDING, atol=ROUNDING)
    assert not found[view.arms :].any()
    expected = liked(moment, arms, whole)
    np.testing.assert_allclose(
        liked(big, found, found_whole)[: view.arms], expected, rtol=1e-4, atol=1e-3
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("poison", [1e6, -1e6])
def test_the_future_is_not_looked_at(seed: int, poison: float) -> None:
    moment, shape = observe(named(seed), np.arange(9), KNOWING)
    ahead = np.arange(moment.q.shape[1])[None, :] > moment.n[:, None]
    assert ahead.any()
    poisoned = replace(moment, q=np.where(ahead, poison, moment.q))
    for a, b in zip(features(np, poisoned, shape), features(np, moment, shape), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", SEEDS)
def test_units_of_several_epochs_are_as_the_table_by_unit(seed: int) -> None:
    """Ten epochs in units of three: the last unit is a short one."""
    view = study(seed, arms=5, epochs=10, unit=3, reports=14)
    curves = view.curves
    assert 10 in curves.counts  # some arm has run its short unit
    by_unit = Curves.empty(view.arms, 4)
    seen: dict[int, int] = {}
    for row, count in curves.reports:
        at = seen.get(row, 0)
        seen[row] = at + count
        lowest = curves.losses[row, at : at + count].min()
        by_unit = by_unit.extend(int(curves.visited[row]), np.array([lowest]))
    same(view, replace(view, curves=by_unit, unit=1))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30, UNTRAINED + 0.1])
def test_failed_and_useless_epochs_are_as_untrained(seed: int, bad: float) -> None:
    view = study(seed)
    failed = np.random.default_rng(seed).random(view.curves.losses.shape) < 0.3
    failed[:, 0] = False  # most curves start below ℓ_0
    failed[0] = True  # an arm that never works
    spoilt = with_losses(view, np.where(failed, bad, view.curves.losses))
    same(spoilt, with_losses(view, np.where(failed, UNTRAINED, view.curves.losses)))


def test_where_nothing_has_improved_everything_is_finite_and_nothing_is_best() -> None:
    view = study(0)
    arms, whole = told(with_losses(view, np.full_like(view.curves.losses, np.nan)))
    assert np.isfinite(arms).all()
    assert whole[0] == 0
    assert not arms[:, arm_column("improvement")].any()


def test_an_unknown_untrained_loss_is_estimated() -> None:
    view = study(3)
    known = replace(view, untrained=view.curves.untrained)
    same(replace(view, untrained=None), known)


@pytest.mark.parametrize("columns", [0, 1, 20])
@pytest.mark.parametrize("arms", [1, 2, 30])
@pytest.mark.parametrize("reports", [0, 1, 12])
def test_few_arms_and_any_number_of_columns(columns: int, arms: int, reports: int) -> None:
    view = study(1, arms=arms, columns=columns, reports=reports)
    inputs = network_inputs(view, KNOWING)
    assert np.isfinite(inputs.arms).all()
    assert np.isfinite(inputs.study).all()
    assert np.abs(inputs.arms).max() <= 3
    assert inputs.arms.shape == (arms, KNOWING["arm_input"].shape[0])


def test_without_columns_no_arm_is_nearer_than_another() -> None:
    view = study(2, columns=0)
    alike = replace(view, features=np.full((view.arms, 1), 0.3))
    new = view.curves.count_by_arm == 0
    assert new.any()
    expected = told(view)[0][new][:, EXPECTED]
    assert np.ptp(expected, axis=0) == pytest.approx(0)
    # the additive kernel of no column is empty, so only its height differs
    np.testing.assert_allclose(
        told(alike)[0][new][:, arm_column("expected_first")], expected[:, 0], atol=0.01
    )


def test_of_very_many_untried_arms_a_part_is_looked_at() -> None:
    view = study(0, arms=3000, reports=40)
    rows = looked_at(view, KNOWING)
    tried = np.flatnonzero(view.curves.count_by_arm)
    assert np.all(np.diff(rows) > 0)
    assert set(tried) <= set(rows)
    assert len(rows) == len(tried) + 100
    np.testing.assert_array_equal(rows, looked_at(replace(view, left=5.0), KNOWING))
    assert set(rows) != set(looked_at(replace(view, seed=1), KNOWING))
    fresh = int(np.setdiff1d(rows, tried)[0])
    later = looked_at(replace(view, curves=view.curves.extend(fresh, np.ones(1))), KNOWING)
    assert len(np.setdiff1d(later, rows)) == 1  # one steps in for the one that was tried
    assert np.isfinite(network_inputs(view, KNOWING).arms).all()


def test_of_very_many_untried_arms_a_few_are_looked_at_for_their_names() -> None:
    view = study(0, arms=1500, reports=0)
    rates = np.random.default_rng(0).uniform(-7, 0, 1500)
    configs = [{"learning_rate": 10.0**rate} for rate in rates]
    named = replace(view, tokens=encode_tokens(configs, infer_ranges(configs)))
    said = expected_of(named, np.arange(1500), KNOWING)[:, 0]
    best = np.argsort(-said)
    rows = looked_at(named, KNOWING)
    assert len(rows) == 100
    assert np.isin(best[:10], rows).all()
    assert np.isin(best[10:], rows)[:200].sum() < 30  # the others are there by chance
    assert np.isin(best[:10], looked_at(view, KNOWING)).sum() < 5
    nothing = replace(view, tokens=np.zeros_like(named.tokens))
    np.testing.assert_array_equal(looked_at(nothing, KNOWING), looked_at(view, KNOWING))


def test_an_arm_that_can_run_is_looked_at_however_many_are_in_flight() -> None:
    epochs, arms = 4, 700
    curves = Curves.empty(arms, epochs)
    for arm in reversed(range(arms)):  # those that can run were reported long ago
        curves = curves.extend(arm, np.full(epochs if arm < 300 else 1, 0.1 + arm / arms))
    view = replace(study(0, arms=arms), curves=curves, startable=None, pending=np.arange(300, 600))
    can = view.choosable
    assert np.flatnonzero(can).tolist() == list(range(600, 700))
    rows = looked_at(view, KNOWING)
    assert can[rows].any()
    decision = Learned(KNOWING).decide(view)
    assert decision is not None
    assert can[decision.arm]


def test_arms_in_flight_are_looked_at_even_if_they_cannot_be_tried() -> None:
    view = study(4, arms=300)
    tried = int(view.curves.visited[0])
    new = np.setdiff1d(np.arange(300), looked_at(view, KNOWING))[
        :3
    ]  # too many are untried for these
    flying = replace(view, pending=np.array([tried, *new]))
    inputs = network_inputs(flying, KNOWING)
    assert set(inputs.rows) >= {tried, *new}
    assert len(inputs.rows) == len(view.curves.visited) + len(new) + 100
    there = np.isin(inputs.rows, flying.pending)
    assert not inputs.moment.open[there].any()
    np.testing.assert_array_equal(inputs.arms[:, FLYING], 1.0 * there)


@pytest.mark.parametrize(
    ("lanes", "split", "workers"), [(1, 1, 1), (4, 1, 4), (1, 3, 3), (8, 1, 8), (1, 32, 32)]
)
def test_workers_are_told_on_a_logarithmic_scale(lanes: int, split: int, workers: int) -> None:
    arms, _ = told(replace(study(0), left=100.0, lanes=lanes, split=split))
    np.testing.assert_allclose(arms[:, WORKERS], np.log2(workers) / 3, rtol=ROUNDING)
    assert not arms[:, FLYING].any()


def geometry_of(said: FloatArray, exists: FloatArray) -> Geometry:
    """Of arms that differ in nothing but what is said of them."""
    return geometry(np, np.zeros((len(said), 1)), exists, np.ones(1), said)


def test_opinions_by_hand() -> None:
    """Three arms and padding: what is said of it does not count."""
    said = np.array(
        [[0.5, 0.1, 0.2, 0.03], [0.1, 0.4, 0.2, 0.05], [0.3, 0.1, 0.5, 0.01], [9.0, 9.0, 9.0, 9.0]]
    )
    shape = geometry_of(said, np.array([1.0, 1.0, 1.0, 0.0]))
    centred = [[0.2, -0.1, -0.1, 0.03], [-0.2, 0.2, -0.1, 0.05], [0.0, -0.1, 0.2, 0.01]]
    np.testing.assert_allclose(shape.opinion[:3], centred, atol=1e-6)
    assert not shape.opinion[3].any()
    sure = np.sqrt((0.04 + 0.04 + 0) / 3)
    assert shape.certainty == pytest.approx(sure, rel=1e-5)
    expected = np.array([0.2, -0.2, 0.0, 0.0]) / (sure + 0.02)
    np.testing.assert_allclose(shape.standard, expected, atol=1e-5)
    # arms liked alike are expected to be alike
    plain = geometry_of(np.zeros((4, 4)), np.array([1.0, 1.0, 1.0, 0.0])).prior
    np.testing.assert_allclose(shape.prior - plain, 0.15 * np.outer(expected, expected), atol=1e-5)


def hand_made(said: FloatArray, losses: list[list[float]]) -> FloatArray:
    """Features of arms of which this is said, and which have come so far."""
    view = View(Curves.of(losses, 4), 1, 9.0, np.ones(4), np.zeros((4, 1)), untrained=1.0)
    moment, _ = observe(view, np.arange(4), KNOWING)
    shape = geometry_of(said, np.ones(4))
    arms: FloatArray = features(np, moment, shape)[0]
    return arms


def test_what_is_told_of_opinions_by_hand() -> None:
    said = np.array(
        [[0.4, 0.1, 0.2, 0.03], [0.1, 0.4, 0.2, 0.05], [0.3, 0.0, 0.4, 0.1], [0.0, 0.1, 0.0, 0.02]]
    )
    arms = hand_made(said, [[0.5, 0.2], [0.6, 0.5], [0.3], []])
    centred = said - [0.2, 0.15, 0.2, 0.0]
    np.testing.assert_allclose(arms[:, OPINION], 3 * centred, atol=ROUNDING)
    sure = np.sqrt((0.04 + 0.01 + 0.01 + 0.04) / 4)
    like = centred[:, 0] / (sure + 0.02)
    np.testing.assert_allclose(arms[:, LIKED], like, atol=ROUNDING)
    np.testing.assert_allclose(arms[:, BEHIND], like[3] - like, atol=ROUNDING)  # of the untried
    np.testing.assert_allclose(arms[:, SURE], 3 * sure, atol=ROUNDING)
    for column, improved in ((EARLY, [0.5, 0.4, 0.7]), (NOW, [0.8, 0.5, 0.7])):
        alike = np.corrcoef(like[:3], improved)[0, 1]
        np.testing.assert_allclose(arms[:, column], alike * 3 / (3 + 4), atol=1e-4)
    assert arms[0, EARLY] != pytest.approx(arms[0, NOW], abs=0.01)


def test_opinions_agree_surely_only_with_many_arms() -> None:
    """One arm agrees with nothing; two agree or not, but count little."""
    said = np.zeros((4, OPINIONS))
    said[:, 0] = [0.3, 0.1, -0.1, -0.3]
    one, two = hand_made(said, [[0.2], [], [], []]), hand_made(said, [[0.2], [0.4], [], []])
    wrong = hand_made(said, [[0.5], [0.4], [0.3], [0.2]])
    np.testing.assert_allclose(one[:, [EARLY, NOW]], 0, atol=1e-6)
    np.testing.assert_allclose(two[:, [EARLY, NOW]], 2 / 6, atol=1e-4)
    np.testing.assert_allclose(wrong[:, [EARLY, NOW]], -4 / 8, atol=1e-4)
    # no arm is untried any more, so none is behind one: the mean stands for it
    np.testing.assert_allclose(wrong[:, BEHIND], -wrong[:, LIKED], atol=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_where_no_name_is_known_nothing_is_expected(seed: int) -> None:
    view = study(seed)
    nameless = replace(view, tokens=np.zeros((view.arms, 2, COLUMNS)))
    same(nameless, view, 0.0)
    arms, _ = told(nameless)
    assert not arms[:, ALL_OF_NAMES].any()
    assert not np.allclose(told(named(seed))[0], arms)  # names do matter


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_said_of_all_arms_alike_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    view = study(seed)
    moment, _ = observe(view, np.arange(view.arms), KNOWING)
    said = 0.2 * rng.standard_normal((view.arms, OPINIONS))
    shift = np.array([*rng.normal(size=OPINIONS - 1), 0.0])

    def of(said: FloatArray) -> FloatArray:
        shape = geometry(np, view.features, np.ones(view.arms), np.ones(3), said)
        mine = replace(moment, covariance=posterior(shape.prior, moment.n > 0))
        return np.asarray(features(np, mine, shape)[0])

    np.testing.assert_allclose(of(said + shift), of(said), atol=1e-4)
    assert not np.allclose(of(said + 0.1 * rng.standard_normal(said.shape)), of(said), atol=1e-2)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    tokens=arrays(
        np.float64,
        st.tuples(st.integers(1, 12), st.integers(1, 3), st.just(COLUMNS)),
        elements=st.floats(-3, 3),
    ),
)
def test_whatever_names_say_what_is_told_is_finite(seed: int, tokens: FloatArray) -> None:
    view = study(seed % 50, arms=len(tokens), reports=seed % 25, tokens=tokens)
    inputs = network_inputs(view, KNOWING)
    assert np.isfinite(inputs.arms).all()
    assert np.abs(inputs.arms).max() <= 3
    assert np.isfinite(inputs.moment.covariance).all()
    if not tokens[inputs.rows].any():
        assert not inputs.arms[:, ALL_OF_NAMES].any()


def test_opinions_are_those_of_the_arms_looked_at() -> None:
    """Of very many arms a part is looked at: each with the opinion that it has among all."""
    view = study(0, arms=400, reports=30, tokens=some_tokens(0, 400))
    inputs = network_inputs(view, KNOWING)
    rows = inputs.rows
    assert view.tokens is not None
    assert len(rows) < 200
    said = expected_of(view, rows, KNOWING)
    wanted = np.clip(3 * (said[:, 0] - said[:, 0].mean()), -3, 3)
    np.testing.assert_allclose(inputs.arms[:, OPINION[0]], wanted, atol=1e-4)
    whole = expected_of(view, np.arange(400), KNOWING)
    np.testing.assert_allclose(said, whole[rows], atol=1e-12)
    assert np.ptp(said[:, 0]) > 0


def test_expected_is_gaussian_process_regression() -> None:
    moment, shape = observe(named(5), np.arange(9), KNOWING)
    seen = moment.n > 0
    y = np.where(seen, np.random.default_rng(0).normal(size=9), 0.0)
    gram = shape.prior[np.ix_(seen, seen)] + NOISE * np.eye(seen.sum())
    expected = shape.prior[:, seen] @ np.linalg.solve(gram, y[seen])
    np.testing.assert_allclose(moment.covariance @ y / NOISE, expected, atol=1e-9)
    variance = np.diagonal(shape.prior) - np.einsum(
        "ij,ji->i", shape.prior[:, seen], np.linalg.solve(gram, shape.prior[seen])
    )
    doubt = features(np, moment, shape)[0][:, arm_column("prior_spread_left")]
    np.testing.assert_allclose(doubt, np.sqrt(variance / np.diagonal(shape.prior)), atol=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_covariance_is_that_given_the_arms_tried(seed: int) -> None:
    """Whatever was remembered, and after a resume the same to the last bit."""
    view = named(seed)
    rows = np.arange(view.arms)
    for reports in range(len(view.curves.reports) + 1):
        earlier = replace(view, curves=view.curves.first(reports))
        moment, shape = observe(earlier, rows, KNOWING)
        expected = posterior(shape.prior, moment.n > 0)
        np.testing.assert_allclose(moment.covariance, expected, atol=1e-10)
        resumed = replace(earlier, features=view.features.copy(), memory=Memory())
        np.testing.assert_array_equal(
            observe(resumed, rows, KNOWING)[0].covariance, moment.covariance
        )


def test_other_arms_tried_are_not_taken_for_those_before() -> None:
    """Two studies of the same configurations, one after the other."""
    view = named(1)
    for order in ([0, 1, 2], [0, 2], [2, 0], []):
        curves = Curves.empty(view.arms, view.curves.epochs)
        for arm in order:
            curves = curves.extend(arm, np.array([0.5]))
        moment, shape = observe(replace(view, curves=curves), np.arange(view.arms), KNOWING)
        expected = posterior(shape.prior, np.isin(np.arange(view.arms), order))
        np.testing.assert_allclose(moment.covariance, expected, atol=1e-10)
        step_by_step = shape.prior
        for arm in order:
            step_by_step = tried_too(step_by_step, arm)
        np.testing.assert_array_equal(moment.covariance, step_by_step)
        at_once = after_trying(shape.prior, np.array(order, np.int64))
        np.testing.assert_allclose(at_once, expected, atol=1e-10)
