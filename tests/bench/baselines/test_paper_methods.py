"""GP-EI, SMAC, Fabolas, Freeze-Thaw and Rollout: closed forms, brute force, exact accounting."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from bhpt.beliefs.freeze_thaw.hypers import Structure
from bhpt.bench.baselines import fabolas, fabolas_model, rollout, smac
from bhpt.bench.baselines.entropy_search import asymptote_gains, fill_basket
from bhpt.bench.baselines.expected_improvement import improvement, log_h, log_improvement
from bhpt.bench.baselines.gp_ei import GpEi, Landscape, drawn_landscape, predict, sampled
from bhpt.bench.baselines.minimiser_entropy import (
    Outcomes,
    entropy,
    gauss_hermite,
    information_gains,
    odds,
)
from bhpt.bench.baselines.registry import make_rule, names
from bhpt.bench.baselines.regression import log_evidence, regress
from bhpt.bench.baselines.rollout import make_ahead, rollout_values, values_together
from bhpt.bench.baselines.to_the_end import finished
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import Curves, FloatArray, IntArray, Misuse, View
from bhpt.policies.interface import Decision
from tests.beliefs.cases import STRUCTURES, Case, draw

NO_SMAC = pytest.mark.skipif(not smac.available(), reason="needs the extra smac")


def each(*policies: str) -> list[Any]:
    """Policies as parameters; the one that needs an extra is skipped without it."""
    return [pytest.param(p, marks=NO_SMAC if p == "smac" else ()) for p in policies]


METHODS = each("gp-ei", "smac", "fabolas", "freeze-thaw", "rollout")


class CountingTable(np.ndarray[Any, np.dtype[np.float64]]):
    """A table of losses that remembers which of its cells were trained."""

    trained: "Counter[tuple[int, int]]"

    @classmethod
    def of(cls, losses: FloatArray) -> "CountingTable":
        table = losses.view(cls)
        table.trained = Counter()
        return table

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple) and isinstance(key[1], slice) and hasattr(self, "trained"):
            arm, epochs = int(key[0]), range(self.shape[1])[key[1]]
            self.trained.update((arm, epoch) for epoch in epochs)
        return np.asarray(self).__getitem__(key)


def table(arms: int, epochs: int, unit: int, *, holes: bool = False) -> Task:
    rng = np.random.default_rng((arms, epochs))
    ends = rng.uniform(0.2, 0.8, size=(arms, 1))
    losses = ends + (1 - ends) / np.arange(2, epochs + 2) + 0.01 * rng.normal(size=(arms, epochs))
    if holes:
        losses[0] = np.nan
        losses[-1, epochs // 2 :] = np.inf
    return Task("t", losses, 1.0, unit, rng.uniform(size=(arms, 3)))


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize(("arms", "epochs", "unit", "budget"), [(6, 5, 2, 11), (3, 4, 1, 99)])
@pytest.mark.parametrize("name", each(*names()))
def test_exactly_the_budget_is_trained_and_nothing_twice(
    name: str, arms: int, epochs: int, unit: int, budget: int, holes: bool
) -> None:
    task = table(arms, epochs, unit, holes=holes)
    counting = CountingTable.of(task.losses)
    run = simulate(replace(task, losses=counting), make_rule(name), budget, 1)
    units = min(budget, arms * -(-epochs // unit))
    assert len(run.arms) == units
    assert set(counting.trained.values()) == {1}
    started = Counter(run.arms.tolist())
    assert len(counting.trained) == sum(min(n * unit, epochs) for n in started.values())


@pytest.mark.parametrize(("arms", "epochs"), [(1, 1), (1, 3), (4, 1)])
@pytest.mark.parametrize("name", METHODS)
def test_the_smallest_tables(name: str, arms: int, epochs: int) -> None:
    run = simulate(table(arms, epochs, 1), make_rule(name), 50, 0)
    assert len(run.arms) == arms * epochs


@pytest.mark.parametrize("name", METHODS)
def test_identical_arms(name: str) -> None:
    task = Task("t", np.full((5, 3), 0.5), 1.0, 1, np.zeros((5, 2)))
    assert len(simulate(task, make_rule(name), 9, 0).arms) == 9


class Forgetful:
    """The policy made afresh for every decision."""

    def __init__(self, name: str) -> None:
        self.name = name

    def decide(self, view: View) -> Decision | None:
        return make_rule(self.name).decide(view)


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_remembered_that_the_view_does_not_show(name: str) -> None:
    task = table(5, 3, 1)
    one = simulate(task, make_rule(name), 10, 2)
    other = simulate(task, Forgetful(name), 10, 2)
    assert one.arms.tolist() == other.arms.tolist()


@pytest.mark.parametrize("name", each("gp-ei", "smac", "fabolas", "rollout"))
def test_one_worker_only(name: str) -> None:
    task = table(4, 3, 1)
    view = View(
        Curves.empty(4, 3), 1, 3.0, np.ones(4), task.features, 1.0, pending=np.array([1], np.int64)
    )
    with pytest.raises(Misuse, match="one worker"):
        make_rule(name).decide(view)


@pytest.mark.parametrize("name", each("gp-ei", "smac"))
def test_arms_are_trained_to_their_end_before_the_next(name: str) -> None:
    run = simulate(table(9, 4, 1), make_rule(name), 14, 0)
    starts = run.arms.reshape(-1)[:12].reshape(3, 4)
    assert (starts == starts[:, :1]).all()
    assert len(set(run.arms.tolist())) == 4


def test_a_missing_extra_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smac, "find_spec", lambda _: None)
    with pytest.raises(Misuse, match=r"pip install 'bhpt\[smac\]'"):
        make_rule("smac")


def test_failed_arms_count_as_the_worst() -> None:
    curves = Curves.of([[0.5, 0.4], [np.nan, np.inf], [0.9]], 2)
    view = View(curves, 1, 3.0, np.ones(3), np.zeros((3, 1)), 1.5)
    done = finished(view)
    assert done.arms.tolist() == [0, 1]
    np.testing.assert_allclose(done.losses, [0.4, 1.5])


# expected improvement


@pytest.mark.parametrize("mean", [-1.0, 0.2, 3.0])
@pytest.mark.parametrize("deviation", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("best", [-0.5, 0.3])
def test_improvement_equals_quadrature(mean: float, deviation: float, best: float) -> None:
    found = float(improvement(np.array(mean), np.array(deviation), best))
    if deviation == 0:
        assert found == max(best - mean, 0.0)
        return
    density = norm(mean, deviation).pdf
    low = min(mean, best) - 12 * deviation
    expected, _ = quad(lambda x: (best - x) * density(x), low, best, epsabs=1e-12, limit=200)
    assert found == pytest.approx(expected, abs=1e-9)


def test_log_improvement_where_it_can_be_checked_and_where_it_cannot() -> None:
    s = np.linspace(-8, 5, 200)
    plain = improvement(-s, np.ones_like(s), 0.0)
    np.testing.assert_allclose(log_h(s), np.log(plain), rtol=1e-6)
    far = np.array([-30.0, -1e3, -1e5, -1e8])
    series = -0.5 * far**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(-far) + np.log1p(-3 / far**2)
    np.testing.assert_allclose(log_h(far), series, rtol=1e-7)
    for edge in (-1.0, -1e4):
        around = log_h(np.array([edge - 1e-9 * abs(edge), edge + 1e-9 * abs(edge)]))
        assert abs(around[1] - around[0]) <= 1e-6 * abs(around[0]) + 1e-6
    known = log_improvement(np.array([1.0, 3.0]), np.zeros(2), 2.0)
    np.testing.assert_array_equal(known, [0.0, -np.inf])


# Gaussian-process regression and GP-EI


def test_regression_equals_the_formulas_written_out() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(9, 9))
    joint = root @ root.T
    seen, asked = np.arange(4), np.arange(4, 9)
    noisy = joint[np.ix_(seen, seen)] + 0.1 * np.eye(4)
    cross, e = joint[np.ix_(seen, asked)], rng.normal(size=4)
    shift, reduction = regress(noisy, cross, e)
    np.testing.assert_allclose(shift, cross.T @ np.linalg.inv(noisy) @ e)
    np.testing.assert_allclose(reduction.T @ reduction, cross.T @ np.linalg.inv(noisy) @ cross)
    expected = -0.5 * (
        e @ np.linalg.inv(noisy) @ e + np.linalg.slogdet(noisy)[1] + 4 * np.log(2 * np.pi)
    )
    assert log_evidence(noisy, e) == pytest.approx(expected)
    assert log_evidence(-noisy, e) == -np.inf


@pytest.mark.parametrize("structure", [s for s in STRUCTURES if s.correlated])
def test_gp_ei_is_told_how_final_losses_were_drawn(structure: Structure) -> None:
    case = draw(structure, 3)
    epochs = case.values.shape[1]
    last = np.arange(len(case.values)) * epochs + epochs - 1
    dense = case.dense
    prior = drawn_landscape(structure, case.hypers)(case.view())
    np.testing.assert_allclose(
        prior.noisy(case.features), dense.covariance[np.ix_(last, last)], atol=1e-9
    )
    np.testing.assert_allclose(np.full(len(last), prior.mean), dense.mean[last])


def test_gp_ei_predicts_what_it_has_seen_and_its_prior_far_away() -> None:
    prior = Landscape("matern52", 0.3, 0.0, 1.0, 1e-6, (0.1,))
    seen, losses = np.array([[0.0], [0.5]]), np.array([1.0, -1.0])
    mean, deviation = predict(prior, seen, losses, np.array([[0.0], [0.5], [50.0]]))
    np.testing.assert_allclose(mean, [1.0, -1.0, 0.3], atol=1e-5)
    np.testing.assert_allclose(deviation, [0.0, 0.0, 1.0], atol=1e-4)


def test_gp_ei_learns_which_feature_matters() -> None:
    rng = np.random.default_rng(1)
    seen = rng.uniform(size=(25, 2))
    losses = 3.0 + np.sin(6 * seen[:, 0])
    lengths = np.array([p.lengths for p in sampled(seen, losses, rng)])
    assert np.log(lengths[:, 1] / lengths[:, 0]).mean() > 1


def test_gp_ei_finds_a_smooth_minimum_sooner_than_chance() -> None:
    x = np.linspace(0, 1, 60)[:, None]
    ends = (x[:, 0] - 0.73) ** 2
    task = Task("t", ends[:, None] + np.array([[0.1, 0.0]]), 1.0, 1, x)
    found = []
    for seed in range(6):
        run = simulate(task, make_rule("gp-ei"), 16, seed)
        found.append(run.best)
    assert np.mean(found) < 0.002  # of 8 random arms the best is at 0.007 on average


def test_gp_ei_first_arm_is_any() -> None:
    task = table(30, 2, 1)
    firsts = {int(simulate(task, make_rule("gp-ei"), 1, seed).arms[0]) for seed in range(10)}
    assert len(firsts) > 5
    assert GpEi().known is None


# the entropy of the minimiser


def two_contenders() -> tuple[FloatArray, FloatArray, float]:
    return np.array([0.1, 0.4]), np.array([[1.0, 0.3], [0.3, 0.5]]), 0.2


def test_information_gain_of_two_contenders_in_closed_form() -> None:
    mean, covariance, noise = two_contenders()
    variance = covariance[0, 0] + noise
    gain = covariance[0] / variance
    after = covariance - np.outer(gain, gain) * variance
    points, weights = gauss_hermite(5)

    def binary(mu: FloatArray, sigma: FloatArray) -> float:
        spread = np.sqrt(sigma[0, 0] + sigma[1, 1] - 2 * sigma[0, 1])
        p = ndtr((mu[1] - mu[0]) / spread)
        return float(entropy(np.array([p, 1 - p])))

    expected = binary(mean, covariance) - sum(
        w * binary(mean + gain * np.sqrt(variance) * z, after)
        for z, w in zip(points, weights, strict=True)
    )
    rng = np.random.default_rng(0)
    drawn = rng.multivariate_normal(mean, covariance, size=200_000)
    looks = Outcomes(
        draws=drawn[:, :1] + np.sqrt(noise) * rng.standard_normal((len(drawn), 1)),
        mean=mean[:1],
        deviation=np.sqrt([variance]),
        gains=gain[None, :],
    )
    assert information_gains(drawn, looks, 5)[0] == pytest.approx(expected, abs=0.005)


def test_quadrature_odds_and_entropy() -> None:
    points, weights = gauss_hermite(5)
    assert weights.sum() == pytest.approx(1)
    assert weights @ points**2 == pytest.approx(1)
    assert weights @ points**8 == pytest.approx(105)
    found = odds(np.array([[0, 0, 1, 2], [2, 2, 2, 2]]), 3)
    np.testing.assert_allclose(found, np.array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(entropy(found), np.array([1.5 * np.log(2), 0.0]))


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_unit_is_a_noisy_look_at_its_asymptote(structure: Structure) -> None:
    """What the entropy search conditions on is what really observing the unit does."""
    case = draw(structure, 4)
    posterior = case.mixture().components[0]
    everyone = np.arange(len(case.values))
    covariance = posterior.asymptotes.covariance(everyone, everyone)
    told = posterior.grid.information
    arm = int(np.flatnonzero(case.counts < case.values.shape[1])[0])
    n = int(case.counts[arm])
    noise = 1 / (told[n + 1] - told[n])
    row = covariance[arm]
    expected = covariance - np.outer(row, row) / (covariance[arm, arm] + noise)
    later = case.counts.copy()
    later[arm] += 1
    _, found = case.dense.asymptotes(case.values, later)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_entropy_search_prefers_what_is_open() -> None:
    """Of two leaders and a hopeless arm, a unit of a leader tells more."""
    case = draw(Structure("none", anchored=True), 0, arms=3, epochs=30)
    hypers = replace(case.hypers, mean=0.0, amplitude=1.0, noise=0.05, magnitude=0.5)
    left = 3.0 * (hypers.beta / (np.arange(1, 31) + hypers.beta)) ** hypers.alpha
    values = np.array([left, left + 0.02, left + 2.5])
    open_case = Case(
        case.structure, hypers, values, np.full(3, 6, np.int64), case.features, case.start
    )
    posterior = open_case.mixture().components[0]
    arms = np.arange(3)
    gains = asymptote_gains(posterior, arms, arms, 3, np.random.default_rng(0))
    assert gains[2] < min(gains[0], gains[1])


def test_the_basket_holds_old_and_new_arms_and_the_best_finished_one() -> None:
    epochs = 4
    curves = Curves.of([[0.5] * (epochs if k < 2 else 2) for k in range(15)], epochs)
    curves = replace(curves, arms=20)
    view = View(curves, 1, 50.0, np.ones(20), np.zeros((20, 1)), 1.0)
    score = -np.arange(20.0)
    basket, witness = fill_basket(view, score, np.random.default_rng(0))
    assert basket.tolist() == [*range(2, 12), 15, 16, 17]
    assert witness.tolist() == [0]


# Fabolas


def observed(rng: np.random.Generator) -> fabolas_model.FabolasData:
    return fabolas_model.FabolasData(
        rng.uniform(size=(6, 2)), rng.uniform(size=6), rng.normal(size=6) - 1
    )


SETTING = fabolas_model.FabolasSetting(0.6, 0.2, -0.4, 0.7, (0.5, 0.9))


def test_fabolas_covariance_is_its_product_kernel() -> None:
    seen = observed(np.random.default_rng(0))
    b, x = seen.basis, seen.features
    distance = np.sqrt(5 * np.sum(((x[:, None] - x[None]) / SETTING.lengths) ** 2, axis=2))
    k = (1 + distance + distance**2 / 3) * np.exp(-distance)
    u = np.stack([1 + SETTING.slope * b, SETTING.scatter * b])
    expected = 1 + np.outer(b, b) + SETTING.amplitude**2 * k * (u.T @ u)
    expected += SETTING.noise**2 * np.eye(6)
    np.testing.assert_allclose(fabolas_model.noisy(SETTING, seen), expected, atol=1e-9)


def test_fabolas_survives_curves_without_noise() -> None:
    """Arms that never move let the noise shrink to nothing: the covariance is then singular."""
    alike = fabolas_model.FabolasData(np.zeros((40, 2)), np.zeros(40), np.zeros(40))
    still = replace(SETTING, noise=1e-12)
    mean, deviation = fabolas_model.at_the_end(still, alike, np.zeros((1, 2)))
    assert mean[0] == pytest.approx(0.0, abs=1e-3)
    assert deviation[0] < 1e-3


def test_fabolas_conditions_both_functions_at_once() -> None:
    """F at the observed points must agree with plain regression on F + b H."""
    seen = observed(np.random.default_rng(1))
    pair = fabolas_model.condition(SETTING, seen, seen.features)
    b = seen.basis
    clean = fabolas_model.noisy(SETTING, seen) - SETTING.noise**2 * np.eye(6)
    shift, reduction = regress(
        fabolas_model.noisy(SETTING, seen), clean, fabolas_model.centred(seen)
    )
    mean = seen.values - fabolas_model.centred(seen) + shift
    weights = np.hstack([np.eye(6), np.diag(b)])
    np.testing.assert_allclose(weights @ pair.mean, mean)
    np.testing.assert_allclose(
        weights @ pair.covariance @ weights.T, clean - reduction.T @ reduction, atol=1e-9
    )
    mean, deviation = fabolas_model.at_the_end(SETTING, seen, seen.features)
    np.testing.assert_allclose(mean, pair.mean[:6])
    np.testing.assert_allclose(deviation**2, pair.covariance.diagonal()[:6])
    drawn = fabolas_model.draw(pair, 20_000, np.random.default_rng(2))
    np.testing.assert_allclose(drawn.mean(axis=0), pair.mean, atol=0.05)


def test_fabolas_levels_and_basis() -> None:
    view = View(Curves.empty(2, 48), 1, 9.0, np.ones(2), np.zeros((2, 1)), 1.0)
    assert fabolas.levels(view).tolist() == [1, 2, 4, 8, 16, 32, 48]
    assert fabolas.levels(replace(view, unit=48)).tolist() == [1]
    np.testing.assert_allclose(fabolas_model.basis(np.array([1, 48]), 48), [1.0, 0.0])
    np.testing.assert_array_equal(fabolas_model.basis(np.array([1]), 1), [0.0])


def test_fabolas_goes_on_after_units_that_it_did_not_ask_for() -> None:
    task = table(6, 8, 1)
    curves = Curves.empty(6, 8)
    for arm in (3, 3, 1, 5, 3):
        at = int(curves.count_by_arm[arm])
        curves = curves.extend(arm, task.losses[arm, at : at + 1])
    view = View(curves, 1, 4.0, np.ones(6), task.features, 1.0)
    decided = make_rule("fabolas").decide(view)
    assert decided is not None
    assert view.choosable[decided.arm]


# Rollout


def conditioned(
    mean: FloatArray, covariance: FloatArray, at: int, value: float
) -> tuple[FloatArray, FloatArray]:
    gain = covariance[:, at] / covariance[at, at]
    return mean + gain * (value - mean[at]), covariance - np.outer(gain, covariance[at])


class BruteForce:
    """The definition, written as recursion over the dense joint Gaussian."""

    def __init__(self, case: Case, unit: int, nodes: int) -> None:
        self.epochs = case.values.shape[1]
        self.arms = len(case.values)
        self.unit = unit
        self.points, self.weights = gauss_hermite(nodes)

    def next_at(self, counts: IntArray) -> Iterator[tuple[int, int]]:
        for arm in range(self.arms):
            if counts[arm] < self.epochs:
                end = min(int(counts[arm]) + self.unit, self.epochs)
                yield arm, arm * self.epochs + end - 1

    def gained(self, mean: FloatArray, covariance: FloatArray, at: int, best: float) -> float:
        deviation = np.sqrt(max(covariance[at, at], 0.0))
        return float(improvement(mean[at], deviation, best))

    def value(
        self,
        gaussian: tuple[FloatArray, FloatArray],
        counts: IntArray,
        action: tuple[int, int],
        best: float,
        depth: int,
    ) -> float:
        """EI of the action and what follows it."""
        arm, at = action
        mean, covariance = gaussian
        total = self.gained(mean, covariance, at, best)
        if depth == 0:
            return total
        later = counts.copy()
        later[arm] = min(later[arm] + self.unit, self.epochs)
        deviation = np.sqrt(covariance[at, at])
        for point, weight in zip(self.points, self.weights, strict=True):
            outcome = mean[at] + deviation * point
            after = conditioned(mean, covariance, at, outcome)
            lowest = min(best, outcome)
            options = list(self.next_at(later))
            if not options:
                continue
            chosen = max(options, key=lambda o: self.gained(*after, o[1], lowest))
            total += weight * self.value(after, later, chosen, lowest, depth - 1)
        return total


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize(("unit", "depth"), [(1, 0), (1, 1), (1, 2), (2, 2), (1, 3)])
def test_rollout_equals_brute_force(
    structure: Structure, unit: int, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = draw(structure, 5, arms=4, epochs=6)
    view = case.view(left=9.0, unit=unit)
    mixture = case.belief().condition(view)
    best = min(mixture.scaled.best, case.start)
    ahead = make_ahead(view, mixture.components[0], depth)
    found = rollout_values(ahead, view.choosable, best, depth, 3)
    brute = BruteForce(case, unit, 3)
    gaussian = case.dense.predict(case.values, case.counts)
    for action in brute.next_at(case.counts):
        expected = brute.value(gaussian, case.counts, action, best, depth)
        assert found[action[0]] == pytest.approx(expected, rel=1e-5, abs=1e-7)
    monkeypatch.setattr(rollout, "_PATHS", 1)  # one action at a time
    np.testing.assert_allclose(rollout_values(ahead, view.choosable, best, depth, 3), found)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("arms", [1, 2, 12])
def test_rollout_of_independent_arms_equals_that_of_any(seed: int, depth: int, arms: int) -> None:
    case = draw(Structure("none", anchored=False), seed, arms=max(arms, 2), epochs=6)
    counts = case.counts.copy()
    counts[arms // 2 :] = 0  # alike: the first of them counts
    counts[0] = 6 if arms > 2 else 4  # at its end, or left with fewer units than are rolled
    view = replace(case, counts=counts).view(left=20.0)
    mixture = case.belief().condition(view)
    ahead = make_ahead(view, mixture.components[0], depth)
    if arms == 1:
        ahead = replace(
            ahead,
            **{
                name: getattr(ahead, name)[:1]
                for name in ("mean", "variance", "load", "own", "open")
            },
            shared=ahead.shared[:1, :1],
        )
    allowed = ahead.open[:, 0]
    best = min(mixture.scaled.best, case.start)
    assert ahead.alone is not None
    found = rollout_values(ahead, allowed, best, depth, 5)
    np.testing.assert_allclose(found, values_together(ahead, allowed, best, depth, 5), rtol=1e-9)


def test_arms_that_tell_of_each_other_are_not_taken_for_independent() -> None:
    case = draw(Structure("se", anchored=False), 0)
    view = case.view()
    assert make_ahead(view, case.belief().condition(view).components[0], 2).alone is None


def test_rollout_looks_no_further_than_the_budget() -> None:
    task = table(5, 6, 1)
    view = View(Curves.empty(5, 6), 1, 1.0, np.ones(5), task.features, 1.0)
    decided = make_rule("rollout").decide(view)
    assert decided is not None
    assert "1 units ahead" in decided.explanation.why
