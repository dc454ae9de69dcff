"""Two hypotheses about a study, against an oracle that writes down both in full."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from bhpt.beliefs.freeze_thaw.belief import FreezeThaw
from bhpt.beliefs.freeze_thaw.hypers import Hypers, Structure
from bhpt.beliefs.freeze_thaw.kernels import decay_covariance, remainder
from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.beliefs.scale import Scale
from bhpt.beliefs.shapes.belief import ShapeBelief
from bhpt.beliefs.shapes.decay_evidence import decay_densities
from bhpt.beliefs.shapes.mixture import ShapeMixture
from bhpt.beliefs.shapes.or_one_decay import ShapesOrOneDecay
from bhpt.beliefs.shapes.weighed_ends import WeighedEnds
from bhpt.beliefs.shapes.weighed_mixture import WeighedMixture
from bhpt.bench.catalogue import load
from bhpt.domain import Curves, FloatArray, Memory, View
from tests.beliefs.shapes.test_shapes import EPOCHS, FEW, KIND, Fixed, gaussian

HYPERS = Hypers(mean=0.4, amplitude=0.2, alpha=1.0, beta=3.0, magnitude=0.3, noise=0.02)
UNIT = 2


@dataclass(frozen=True)
class Known(Fixed):
    """Shapes with a known study."""


def both(share: float = 0.3) -> ShapesOrOneDecay:
    """Both hypotheses with their numbers known."""
    decay = FreezeThaw(Structure("none", anchored=True), Scale("linear", running=True), HYPERS)
    return ShapesOrOneDecay(Known(), decay, share)


def moments(order: tuple[int, ...] = (0, 1, 0, 0, 1, 2, 1, 2)) -> list[View]:
    """A study that grows report by report; losses fall, untrained 1."""
    rng = np.random.default_rng(4)
    part = np.arange(1, EPOCHS + 1) / EPOCHS
    losses = np.array([np.exp(FEW[k % 3].load(part) * (-1.0 - 0.2 * k)) for k in range(4)])
    losses *= np.exp(
        np.minimum.accumulate(-0.02 * np.abs(rng.standard_normal((4, EPOCHS))), axis=1)
    )
    curves, memory, found = Curves.empty(4, EPOCHS), Memory(), []
    for arm in (None, *order):
        if arm is not None:
            at = int(curves.count_by_arm[arm])
            curves = curves.extend(arm, losses[arm, at : at + UNIT])
        found.append(
            View(curves, UNIT, 6.0, np.ones(4), np.zeros((4, 1)), untrained=1.0, memory=memory)
        )
    return found


def one_decay_gaussian() -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of a whole curve of relative losses with one decay."""
    remains = remainder(HYPERS, EPOCHS)
    left = remains[1 : EPOCHS + 1]
    covariance = decay_covariance(remains, HYPERS, anchored=True)
    covariance += HYPERS.amplitude**2 * np.outer(1 - left, 1 - left)
    return left + HYPERS.mean * (1 - left), covariance


def log_density(arm: FloatArray, n: int, *, one_decay: bool) -> float:
    """log p of the logarithms of the first n losses of an arm."""
    if not n:
        return 0.0
    seen = arm[:n]
    if one_decay:
        mean, covariance = one_decay_gaussian()
        density = multivariate_normal(mean[:n], covariance[:n, :n]).logpdf(np.exp(seen))
        return float(density + seen.sum())
    logs = [
        multivariate_normal(mean[:n], covariance[:n, :n]).logpdf(seen)
        for mean, covariance in map(gaussian, FEW)
    ]
    return float(logsumexp(logs, b=KIND))


def test_curves_of_one_decay_are_as_likely_as_a_gaussian_written_down_in_full() -> None:
    rng = np.random.default_rng(0)
    mean, covariance = one_decay_gaussian()
    values = rng.multivariate_normal(mean, covariance, size=4)
    kept = np.array([1, 2, 3, 5, 8])
    counts = np.array([0, 1, 4, 5])
    found = decay_densities(HYPERS, kept, values[:, kept - 1], counts, 1.0)
    for row, n in enumerate(counts):
        at = kept[:n] - 1
        exact = multivariate_normal(mean[at], covariance[np.ix_(at, at)]) if n else None
        expected = 0.0 if exact is None else exact.logpdf(values[row, at])
        assert found[row] == pytest.approx(expected, abs=1e-6)


def test_a_decay_that_cannot_be_factorised_is_impossible() -> None:
    broken = replace(HYPERS, magnitude=0.0, noise=0.0)
    found = decay_densities(broken, np.arange(1, 4), np.zeros((2, 3)), np.array([3, 1]), 1.0)
    assert np.all(found == -np.inf)


ALONE_THEN_TWO = (0, 0, 0, 1, 1, 0, 2, 1)
TWO_IN_TURN = (0, 1, 0, 0, 1, 2, 1, 2)


@pytest.mark.parametrize(
    ("share", "order", "weighed"),
    [(0.3, TWO_IN_TURN, 3), (0.9999, ALONE_THEN_TWO, 4), (0.3, ALONE_THEN_TWO, 1)],
)
def test_the_weight_equals_the_oracle_that_enumerates_the_hypotheses(
    share: float, order: tuple[int, ...], weighed: int
) -> None:
    """Units weigh after an arm's first one, as far as another arm has shown them, too.

    Those of a single arm weigh by a factor of 100 at most. Once the odds of one decay are below 1
    to 100, it is given up.
    """
    belief = both(share)
    odds, told = np.log(share / (1 - share)), list[float]()
    for before, now in pairwise(moments(order)):
        counts, old = now.curves.count_by_arm, before.curves.count_by_arm
        arm = int(np.flatnonzero(counts > old)[0])
        alone = len(now.curves.visited) == 1
        shown = int(counts[arm] if alone else np.delete(counts, arm).max())
        since, until = min(max(int(old[arm]), UNIT), shown), min(int(counts[arm]), shown)
        if until > since and odds > -4.6:
            seen = np.log(now.curves.of_arm(arm))
            steps = [
                log_density(seen, until, one_decay=one) - log_density(seen, since, one_decay=one)
                for one in (True, False)
            ]
            told.append(steps[0] - steps[1])
            most = np.log(100) if alone else np.inf
            odds += float(np.clip(told[-1], -most, most))
        assert belief.weight(now) == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-6)
    assert len(told) == weighed
    if order is ALONE_THEN_TWO:
        assert told[0] < -np.log(100)


def test_predictions_are_those_of_the_hypotheses_weighed() -> None:
    moment = moments()[5]
    belief = both(share=0.5)
    found = belief.condition(moment)
    assert isinstance(found, WeighedMixture)
    w, horizon = found.weight, np.full(4, 4)
    assert w == belief.weight(moment)
    ours = belief.shapes.condition(moment).ends(horizon)
    other = belief.one_decay.condition(moment).ends(horizon)
    ends = found.ends(horizon)
    np.testing.assert_allclose(ends.mean, (1 - w) * ours.mean + w * other.mean)
    second = (1 - w) * (ours.variance + ours.mean**2) + w * (other.variance + other.mean**2)
    np.testing.assert_allclose(ends.variance, second - ends.mean**2, atol=1e-12)
    np.testing.assert_array_equal(ends.tau, (ours if w < 0.5 else other).tau)
    seen = np.log(moment.curves.of_arm(0))
    mean, covariance = one_decay_gaussian()
    n, t = len(seen), len(seen) + int(other.tau[0]) - 1
    gain = np.linalg.solve(covariance[:n, :n], covariance[:n, t])
    assert other.mean[0] == pytest.approx(mean[t] + gain @ (np.exp(seen) - mean[:n]), abs=1e-6)
    lowest, moved = found.lowest(horizon), found.moved(horizon, UNIT)
    np.testing.assert_allclose(moved[0], lowest)
    assert len(found.components) == 2


def test_predicted_ends_are_those_of_the_mixture() -> None:
    moment = moments()[5]
    belief = both(share=0.5)
    ends = belief.predict(moment)
    levels = (0.05, 0.3, 0.5, 0.95)
    assert isinstance(ends, WeighedEnds)
    found, w = ends.quantiles(levels), ends.weight
    below = (1 - w) * ends.shapes.below(found) + w * ends.one_decay.below(found)
    inside = found < np.minimum(moment.curves.best_by_arm, 1.0) - 1e-9
    expected = np.broadcast_to(np.array(levels)[:, None], below.shape)
    np.testing.assert_allclose(below[inside], expected[inside], atol=1e-6)
    drawn = ends.draws(np.arange(4), 2_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(axis=0), ends.mean(), rtol=0.1)
    assert np.all(np.diff(ends.quantiles(levels), axis=0) >= 0)
    np.testing.assert_allclose(ends.mean_at_most(10.0)[:3], ends.mean()[:3], rtol=0.02)
    assert np.all(ends.deviation() > 0)
    shorter = ends.within(np.ones(4, np.int64))
    assert np.all(shorter.mean() >= ends.mean() - 1e-9)


def test_a_hypothesis_that_is_all_but_excluded_is_left_out() -> None:
    moment = moments()[-1]
    assert isinstance(both(share=0.001).condition(moment), ShapeMixture)
    assert isinstance(both(share=0.9999).condition(moment), Mixture)


def played(task_name: str, seed: int, units: int) -> tuple[ShapesOrOneDecay, View]:
    """A study of four arms in turn, three units each and so on."""
    task, belief, memory = load(task_name, seed), ShapesOrOneDecay(), Memory()
    curves = Curves.empty(task.arms, task.epochs)
    order = [arm for _ in range(units) for arm in (3, 11, 20, 35)]
    for arm in order:
        at = int(curves.count_by_arm[arm])
        curves = curves.extend(arm, task.losses[arm, at : at + task.unit])
        view = View(
            curves,
            task.unit,
            20.0,
            np.ones(task.arms),
            task.features,
            untrained=task.untrained,
            memory=memory,
        )
        belief.condition(view)
    return belief, view


def test_curves_of_one_decay_are_told_from_curves_of_several() -> None:
    belief, drawn = played("synthetic", 1, 3)
    assert belief.weight(drawn) > 0.9
    belief, real = played("arch2_cifar10@6", 0, 3)
    assert belief.weight(real) < 0.05


def test_the_weight_is_a_function_of_the_view_alone() -> None:
    belief, view = played("arch2_cifar10@6", 0, 2)
    again = replace(view, memory=Memory())
    assert belief.weight(again) == belief.weight(view)
    assert isinstance(ShapeBelief(), type(belief.shapes))
