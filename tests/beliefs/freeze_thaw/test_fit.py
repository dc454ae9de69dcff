"""Inference of the hyper-parameters: schedule, and recovery of what drew the data."""

import itertools

import numpy as np
import pytest

from bhpt.beliefs.freeze_thaw.belief import FreezeThaw
from bhpt.beliefs.freeze_thaw.evidence import Target
from bhpt.beliefs.freeze_thaw.grid import factorise
from bhpt.beliefs.freeze_thaw.hypers import Hypers, LogNormal, Priors, Sampling, Structure, Unknown
from bhpt.beliefs.scale import Scale
from bhpt.beliefs.slice_sampling import sweep
from bhpt.domain import Curves, FloatArray, View


def test_the_schedule_refits_often_at_first_and_rarely_later() -> None:
    sampling = Sampling(always=10, growth=1.2)
    fits = {sampling.last_fit(n) for n in range(401)}
    assert fits >= set(range(11))
    later = sorted(f for f in fits if f > 10)
    assert later[0] == 12
    assert all(b >= np.ceil(1.2 * a) for a, b in itertools.pairwise(later))
    assert len(fits) < 35
    for n in range(401):
        assert sampling.last_fit(n) <= n
        assert sampling.last_fit(sampling.last_fit(n)) == sampling.last_fit(n)


PRIORS = Priors(
    mean=(0.0, 1.0),
    amplitude=LogNormal(0.6, 0.5),
    alpha=LogNormal(1.0, 0.4),
    beta=LogNormal(2.0, 0.5),
    magnitude=LogNormal(0.8, 0.5),
    noise=LogNormal(0.05, 0.5),
    length=LogNormal(0.5, 0.5),
)


def drawn_case(
    structure: Structure, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, "np.ndarray[tuple[int], np.dtype[np.int64]]", FloatArray]:
    """θ from the prior, curves from θ, ragged prefixes."""
    arms, epochs = 12, 12
    features = rng.uniform(size=(arms, 1))
    centre, spread = PRIORS.moments(structure, 1)
    theta = centre + spread * rng.standard_normal(len(centre))
    hypers = Hypers.from_theta(theta, float(rng.normal(*PRIORS.mean)))
    factor = factorise(hypers, epochs, 2.0, anchored=structure.anchored)
    f = hypers.mean + hypers.amplitude * rng.standard_normal(arms)
    if structure.correlated:
        from bhpt.beliefs.freeze_thaw.kernels import asymptote_covariance

        prior = asymptote_covariance(structure.kernel, hypers, features, features, np.eye(arms))
        f = rng.multivariate_normal(np.full(arms, hypers.mean), prior, method="svd")
    shocks = rng.standard_normal((arms, epochs)) @ factor.lower.T
    values = factor.base + np.outer(f, factor.load) + shocks
    counts = rng.integers(2, epochs + 1, size=arms)
    return theta, values, counts, features


@pytest.mark.slow
@pytest.mark.parametrize("structure", [Structure("none"), Structure("matern52", anchored=False)])
def test_ninety_percent_intervals_cover_the_truth(structure: Structure) -> None:
    """Simulation-based calibration: θ from the prior, data from θ, posterior by slicing."""
    rng = np.random.default_rng(8)
    inside: list[FloatArray] = []
    for _ in range(60):
        theta, values, counts, features = drawn_case(structure, rng)
        target = Target(structure, PRIORS, values, counts, 2.0, features)
        point, _ = PRIORS.moments(structure, 1)
        height = target(point).log_density
        chain = []
        for i in range(150):
            point, height = sweep(
                lambda x, t=target: t(x).log_density,  # type: ignore[misc]
                point,
                height,
                rng,
                step=0.5,
                outs=10,
            )
            if i >= 30:
                chain.append(point)
        low, high = np.quantile(chain, [0.05, 0.95], axis=0)
        inside.append((low <= theta) & (theta <= high))
    covered = np.mean(inside, axis=0)
    assert 0.8 <= covered.mean() <= 0.97
    assert np.all(covered >= 0.75)  # 60 draws: three standard errors below 0.9


def test_a_short_chain_finds_the_noise_and_the_amplitude() -> None:
    """The quick version of the coverage test: the posterior moves from the prior to the truth."""
    rng = np.random.default_rng(2)
    structure = Structure("none")
    hypers = Hypers(0.3, 0.5, 1.0, 2.0, 0.7, 0.2)
    factor = factorise(hypers, 15, 2.0, anchored=True)
    f = hypers.mean + hypers.amplitude * rng.standard_normal(40)
    values = factor.base + np.outer(f, factor.load)
    values += rng.standard_normal((40, 15)) @ factor.lower.T
    target = Target(structure, PRIORS, values, np.full(40, 15), 2.0, np.zeros((40, 1)))
    point, _ = PRIORS.moments(structure, 1)
    height = target(point).log_density
    chain = []
    for i in range(60):
        point, height = sweep(
            lambda x: target(x).log_density, point, height, rng, step=0.5, outs=10
        )
        if i >= 20:
            chain.append(point)
    amplitude, *_, noise = np.exp(np.mean(chain, axis=0))
    assert noise == pytest.approx(0.2, rel=0.15)
    assert amplitude == pytest.approx(0.5, rel=0.4)


def test_a_second_opinion_keeps_an_unlike_arm_possible() -> None:
    """Twenty arms that learn nothing: the fit is sure of the next, the mixture is not."""
    curves = Curves.of([[1.0, 1.0]] * 20 + [[]], 10)
    view = View(curves, 1, 10.0, np.ones(21), np.zeros((21, 1)), untrained=1.0)
    spreads = []
    for second in (False, True):
        unknown = Unknown(Priors(), Sampling(), second)
        mixture = FreezeThaw(Structure("none"), Scale("log"), unknown).condition(view)
        assert mixture.weights.sum() == pytest.approx(1)
        spreads.append(float(np.sqrt(mixture.ends(np.full(21, 10)).variance[20])))
        assert len(mixture.components) == len(mixture.weights) == 4 + second
    assert mixture.weights[-1] == pytest.approx(1 / 22)
    assert spreads[1] > 1.5 * spreads[0]
