"""The prefix algebra against the dense joint Gaussian."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.freeze_thaw.evidence import Target
from bhpt.beliefs.freeze_thaw.hypers import Hypers, LogNormal, Priors, Structure
from bhpt.beliefs.freeze_thaw.kernels import asymptote_covariance
from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.domain import FloatArray
from tests.beliefs.cases import STRUCTURES, Case, draw

CASES = [
    pytest.param(draw(structure, seed), id=f"{structure.kernel}-{structure.anchored}-{seed}")
    for structure in STRUCTURES
    for seed in range(4)
]


@pytest.mark.parametrize("case", CASES)
def test_predictions_equal_the_dense_gaussian(case: Case) -> None:
    posterior = case.mixture().components[0]
    mean, covariance = case.dense.predict(case.values, case.counts)
    arms, epochs = case.values.shape
    future = np.arange(epochs) >= case.counts[:, None]
    np.testing.assert_allclose(
        posterior.means[future], mean.reshape(arms, epochs)[future], atol=1e-8
    )
    at_arm, at_time = np.nonzero(future)
    np.testing.assert_allclose(
        posterior.variance(at_arm, at_time),
        covariance.diagonal().reshape(arms, epochs)[future],
        atol=1e-8,
    )
    assert np.all(np.isinf(posterior.means[~future]))


@pytest.mark.parametrize("case", CASES)
def test_asymptotes_equal_the_dense_gaussian(case: Case) -> None:
    posterior = case.mixture().components[0].asymptotes
    mean, covariance = case.dense.asymptotes(case.values, case.counts)
    everyone = np.arange(len(case.values))
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-8)
    np.testing.assert_allclose(posterior.variance, covariance.diagonal(), atol=1e-8)
    np.testing.assert_allclose(posterior.covariance(everyone, everyone), covariance, atol=1e-8)
    some = np.array([3, 1])
    np.testing.assert_allclose(
        posterior.covariance(some, everyone[:3]), covariance[some][:, :3], atol=1e-8
    )


@pytest.mark.parametrize("case", CASES)
def test_evidence_equals_the_dense_gaussian_with_the_mean_integrated_out(case: Case) -> None:
    hypers, structure = case.hypers, case.structure
    theta = theta_of(hypers)
    priors = Priors(mean=(0.4, 0.7))
    seen = np.flatnonzero(case.counts)
    target = Target(
        structure,
        priors,
        case.values[seen],
        case.counts[seen],
        case.start,
        case.features[seen],
    )
    found = target(theta)
    # m ~ N(.4, .7²) is a mean of .4 and a common variance of .49 on all asymptotes
    at_mean = Case(
        structure,
        Hypers(**{**hypers.__dict__, "mean": 0.4}),
        case.values,
        case.counts,
        case.features,
        case.start,
    ).dense
    load: FloatArray = np.ones(case.values.shape[1])
    if structure.anchored:
        times = np.arange(1, len(load) + 1, dtype=np.float64)
        load = 1 - (hypers.beta / (times + hypers.beta)) ** hypers.alpha
    common = np.kron(np.full((len(case.values),) * 2, 0.49), np.outer(load, load))
    object.__setattr__(at_mean, "covariance", at_mean.covariance + common)
    expected = at_mean.log_evidence(case.values, case.counts)
    centre, spread = priors.moments(structure, case.features.shape[1])
    expected -= 0.5 * float(np.sum(((theta - centre) / spread) ** 2))
    assert found.log_density == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("case", CASES)
def test_the_posterior_of_the_mean_is_where_the_evidence_peaks(case: Case) -> None:
    """p(m | curves) from the dense evidence on a grid of m."""
    priors = Priors(mean=(0.4, 0.7))
    seen = np.flatnonzero(case.counts)
    target = Target(
        case.structure,
        priors,
        case.values[seen],
        case.counts[seen],
        case.start,
        case.features[seen],
    )
    found = target(theta_of(case.hypers))
    sd = float(np.sqrt(found.variance))
    grid = found.mean + np.linspace(-8, 8, 161) * sd
    log_density = []
    for m in grid:
        dense = Case(
            case.structure,
            Hypers(**{**case.hypers.__dict__, "mean": float(m)}),
            case.values,
            case.counts,
            case.features,
            case.start,
        ).dense
        prior = -0.5 * ((m - 0.4) / 0.7) ** 2
        log_density.append(dense.log_evidence(case.values, case.counts) + prior)
    weight = np.exp(np.array(log_density) - max(log_density))
    weight /= weight.sum()
    assert float(weight @ grid) == pytest.approx(found.mean, abs=1e-6)
    assert float(weight @ (grid - found.mean) ** 2) == pytest.approx(found.variance, rel=1e-4)


def theta_of(hypers: Hypers) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    theta = [hypers.amplitude, hypers.alpha, hypers.beta, hypers.magnitude, hypers.noise]
    theta = np.log(theta).tolist()
    if hypers.lengths:
        theta += [*np.log(hypers.lengths), np.log(hypers.rho / (1 - hypers.rho))]
    return np.array(theta)


@pytest.mark.parametrize("case", CASES)
def test_an_unseen_configuration_is_an_arm_without_information(case: Case) -> None:
    """The formula for unseen configurations, with K_x + Λ⁻¹, against the arm kept unvisited."""
    posterior = case.mixture().components[0]
    seen = posterior.visited
    hypers, kernel = case.hypers, case.structure.kernel
    prior = asymptote_covariance(
        kernel, hypers, case.features[seen], case.features[seen], np.eye(len(seen))
    )
    cross = asymptote_covariance(kernel, hypers, case.features[seen], case.features[[0]])
    information = posterior.grid.information[posterior.rows.counts]
    gamma = posterior.rows.gamma - hypers.mean * information
    c = np.linalg.inv(np.linalg.inv(prior) + np.diag(information))
    mean = hypers.mean + cross.T @ np.linalg.solve(prior, c @ gamma)
    shrunk = prior + np.diag(1 / information)
    variance = hypers.amplitude**2 - cross.T @ np.linalg.solve(shrunk, cross)
    assert posterior.counts[0] == 0
    assert posterior.asymptotes.mean[0] == pytest.approx(float(mean[0]), abs=1e-8)
    assert posterior.asymptotes.variance[0] == pytest.approx(float(variance[0, 0]), abs=1e-8)


@pytest.mark.parametrize("epochs_more", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_what_the_next_epochs_teach_equals_the_dense_gaussian(case: Case, epochs_more: int) -> None:
    """δ² and the pull on correlated arms, from the covariance after really observing."""
    posterior = case.mixture().components[0]
    arms, epochs = case.values.shape
    everyone = np.arange(arms)
    ends = posterior.ends(np.full(arms, epochs))
    moves = posterior.moves(ends, epochs_more)
    _, before = case.dense.predict(case.values, case.counts)
    _, before_f = case.dense.asymptotes(case.values, case.counts)
    for arm in range(arms):
        if case.counts[arm] + epochs_more > epochs:
            continue
        more = case.counts.copy()
        more[arm] += epochs_more
        _, after = case.dense.predict(case.values, more)
        _, after_f = case.dense.asymptotes(case.values, more)
        at = arm * epochs + case.counts[arm] + ends.tau[arm] - 1
        assert moves.own[arm] ** 2 == pytest.approx(before[at, at] - after[at, at], abs=1e-8)
        moved = posterior.asymptotes.covariance(everyone, np.array([arm]))[:, 0] * moves.pull[arm]
        removed = (before_f - after_f).diagonal()
        if epochs_more == 1:
            np.testing.assert_allclose(moved**2, removed, atol=1e-8)
        else:
            assert np.all(moved**2 <= removed + 1e-8)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_futures_have_the_dense_moments(structure: Structure) -> None:
    case = draw(structure, 11, arms=3, epochs=4)
    posterior = case.mixture().components[0]
    rng = np.random.default_rng(0)
    drawn = posterior.futures(np.arange(3), 40_000, rng).reshape(40_000, -1)
    mean, covariance = case.dense.predict(case.values, case.counts)
    at = case.dense.seen(case.counts)
    np.testing.assert_allclose(drawn[:, at], np.tile(case.values.reshape(-1)[at], (40_000, 1)))
    scale = np.sqrt(np.clip(covariance.diagonal(), 1e-12, None))
    np.testing.assert_allclose(drawn.mean(0), mean, atol=5 * scale.max() / 200)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=8 * scale.max() ** 2 / 200)


def test_a_unit_in_flight_keeps_the_means_and_takes_its_uncertainty() -> None:
    for structure in STRUCTURES:
        case = draw(structure, 3)
        before = case.mixture().components[0]
        arm = 1
        after = case.belief().condition(case.view(pending=(arm,))).components[0]
        assert after.counts[arm] == before.counts[arm] + 1
        np.testing.assert_allclose(after.asymptotes.mean, before.asymptotes.mean, atol=1e-8)
        more = case.counts.copy()
        more[arm] += 1
        _, covariance = case.dense.asymptotes(case.values, more)
        np.testing.assert_allclose(after.asymptotes.variance, covariance.diagonal(), atol=1e-8)


def test_conditioning_step_by_step_equals_conditioning_at_once() -> None:
    for structure in STRUCTURES:
        case = draw(structure, 5)
        belief = case.belief()
        full = case.view()
        steps = [*range(len(full.curves.reports) + 1), 2, 1, 3]  # forward, and back again
        for step in steps:
            partial = replace(full, curves=full.curves.first(step))
            one = belief.condition(partial).components[0]
            fresh = case.belief().condition(partial).components[0]
            np.testing.assert_allclose(one.means, fresh.means, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(
                one.asymptotes.variance, fresh.asymptotes.variance, rtol=1e-12, atol=1e-12
            )


def test_log_normal_priors_are_centred_on_their_medians() -> None:
    centre, spread = Priors(amplitude=LogNormal(2.0, 0.3)).moments(Structure("se"), 3)
    assert len(centre) == len(spread) == Structure("se").size(3)
    assert centre[0] == pytest.approx(np.log(2))
    assert spread[0] == pytest.approx(0.3)


def drawn_minima(mixture: Mixture, horizon: int, size: int) -> FloatArray:
    """Draws of the true minimum of each arm's future within so many epochs, [size, K].

    ν reads the future at the epoch of its lowest mean; this is what that approximates.
    """
    arms = np.arange(len(mixture.counts))
    futures = mixture.futures(arms, size, np.random.default_rng(0))
    times, start = np.arange(futures.shape[2]), mixture.counts[:, None]
    inside = (times >= start) & (times < start + horizon)
    lowest: FloatArray = np.where(inside, futures, np.inf).min(axis=2)
    return lowest


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_end_at_the_lowest_mean_bounds_the_true_minimum(structure: Structure) -> None:
    """E min ≤ min E, and both agree where noise and shocks are small."""
    case = draw(structure, 9)
    mixture = case.mixture()
    arms = np.arange(len(case.values))
    horizon = np.full(len(arms), 3)
    ends = mixture.ends(horizon)
    drawn = drawn_minima(mixture, 3, 4000)
    some = ends.tau > 0
    error = 5 * np.sqrt(ends.variance[some] / 4000)
    assert np.all(drawn.mean(axis=0)[some] <= ends.mean[some] + error)
    calm = replace(case, hypers=replace(case.hypers, magnitude=1e-4, noise=1e-5))
    mixture = calm.mixture()
    drawn = drawn_minima(mixture, 3, 4000)
    ends = mixture.ends(horizon)
    sure = some & (case.counts > 0)
    np.testing.assert_allclose(drawn.mean(axis=0)[sure], ends.mean[sure], atol=1e-2)
