"""A shape for each arm: against an oracle that writes every shape's Gaussian down in full."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp, ndtri
from scipy.stats import multivariate_normal

from bhpt.beliefs.expected_min import best_other, deviation_of_gain, expected_min
from bhpt.beliefs.freeze_thaw.hypers import Hypers, Structure
from bhpt.beliefs.freeze_thaw.kernels import asymptote_covariance
from bhpt.beliefs.shapes.belief import ShapeBelief, ShapeFit, ShapeSetting, shape_priors
from bhpt.beliefs.shapes.evidence import (
    StudyPrior,
    StudySetting,
    StudyTarget,
    with_unlike,
    witness_powers,
)
from bhpt.beliefs.shapes.grid import make_shape_grid, project_shapes
from bhpt.beliefs.shapes.posterior import ShapePosterior
from bhpt.beliefs.shapes.prior import LEARNED, SHAPES, STUDIES
from bhpt.beliefs.shapes.shapes import Shape, kept_epochs
from bhpt.domain import Curves, FloatArray, Memory, View

EPOCHS = 8
ALONE = Structure("none")
FEW = (
    Shape(2.0, 0.05, 0.3, 0.1, 0.05),
    Shape(0.0, 0.1, 0.4, 0.2, 0.1),
    Shape(-1.0, 1.0, 0.2, 0.1, 0.05),
    Shape(-1.0, 1.0, 0.2, 0.1, 0.05, learns=False),
)
KIND = np.array([0.3, 0.3, 0.2, 0.2])
ONE_KIND = StudyPrior(KIND[None], np.ones(1), np.zeros(3), np.ones(3))
STUDY = StudySetting(mean=-1.2, deviation=0.6, size=0.4, kind=0)
INDEPENDENT = Hypers(STUDY.mean, STUDY.deviation, 1.0, 1.0, STUDY.size, STUDY.size)
ALIKE = replace(INDEPENDENT, lengths=(0.4, 0.8), rho=0.8)


@dataclass(frozen=True)
class Fixed(ShapeBelief):
    """A belief whose study is known."""

    structure: Structure = ALONE
    shapes: tuple[Shape, ...] = FEW
    studies: StudyPrior = ONE_KIND
    hypers: Hypers = INDEPENDENT
    changing: float = 0.0
    telling: float = np.inf
    concentration: float = np.inf

    def _fit(self, view: View) -> ShapeFit:
        del view
        return ShapeFit((ShapeSetting(STUDY, self.hypers),))


def view(counts: tuple[int, ...], *, pending: tuple[int, ...] = (), seed: int = 0) -> View:
    """Curves of several shapes; losses are exponentials of the scaled values, untrained 1."""
    rng = np.random.default_rng(seed)
    part = np.arange(1, EPOCHS + 1) / EPOCHS
    prefixes = []
    for arm, n in enumerate(counts):
        f = -1.2 + 0.6 * rng.standard_normal()
        values = FEW[arm % 3].load(part) * f + 0.05 * rng.standard_normal(EPOCHS)
        values = np.minimum.accumulate(np.minimum(values, -0.01))
        prefixes.append(np.exp(values[:n]).tolist())
    return View(
        curves=Curves.of(prefixes, EPOCHS),
        unit=2,
        left=6.0,
        costs=np.ones(len(counts)),
        features=rng.uniform(size=(len(counts), 2)),
        untrained=1.0,
        pending=np.array(pending, np.int64),
    )


def gaussian(shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of a whole curve of a shape, its end integrated out."""
    load = shape.load(np.arange(1, EPOCHS + 1) / EPOCHS)
    mean, variance = (STUDY.mean, STUDY.deviation**2) if shape.learns else (0.0, (0.1 * 0.4) ** 2)
    covariance = STUDY.size**2 * shape.covariance(load) + variance * np.outer(load, load)
    return mean * load, covariance


def oracle(values: FloatArray, n: int, t: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Shape probabilities of one arm and mean and variance of its value at column t, [G] each."""
    log_weights, means, variances = [], [], []
    for share, shape in zip(KIND, FEW, strict=True):
        mean, covariance = gaussian(shape)
        seen, cross = covariance[:n, :n], covariance[t, :n]
        residual = values[:n] - mean[:n]
        log_density = multivariate_normal(mean[:n], seen).logpdf(values[:n]) if n else 0.0
        log_weights.append(np.log(share) + log_density)
        gain = np.linalg.solve(seen, cross) if n else np.zeros(0)
        means.append(mean[t] + gain @ residual)
        variances.append(covariance[t, t] - gain @ cross)
    weights = np.exp(np.array(log_weights) - logsumexp(log_weights))
    return weights, np.array(means), np.array(variances)


NORMAL = ndtri((np.arange(200_000) + 0.5) / 200_000)


def posterior(belief: ShapeBelief, moment: View) -> ShapePosterior:
    return belief.condition(moment).components[0]


def test_independent_arms_equal_the_oracle_that_enumerates_shapes() -> None:
    moment = view((3, 1, 5, 0, 8))
    found = posterior(Fixed(), moment)
    for t in (5, 7):
        parts = found.at(np.full(5, t))
        for arm, n in enumerate((3, 1, 5, 0)):
            values = np.log(moment.curves.of_arm(arm))
            weights, means, variances = oracle(values, n, t)
            np.testing.assert_allclose(parts.weights[arm], weights, atol=1e-9)
            np.testing.assert_allclose(parts.means[arm], means, atol=1e-9)
            np.testing.assert_allclose(parts.variances[arm], variances, atol=1e-9)


def test_a_curve_may_go_on_in_another_shape_than_it_began_in() -> None:
    moment = view((3, 1, 5, 0))
    parts = posterior(Fixed(changing=0.25), moment).at(np.full(4, 7))
    for arm, n in enumerate((3, 1, 5, 0)):
        weights, means, variances = oracle(np.log(moment.curves.of_arm(arm)), n, 7)
        np.testing.assert_allclose(parts.weights[arm], 0.75 * weights + 0.25 * KIND, atol=1e-9)
        np.testing.assert_allclose(parts.means[arm], means, atol=1e-9)
        np.testing.assert_allclose(parts.variances[arm], variances, atol=1e-9)


def test_so_many_epochs_of_a_curve_count_for_its_shape() -> None:
    moment = view((3, 1, 5, 0))
    parts = posterior(Fixed(telling=2.0), moment).at(np.full(4, 7))
    for arm, n in enumerate((3, 1, 5)):
        weights, means, _ = oracle(np.log(moment.curves.of_arm(arm)), n, 7)
        least = min(1.0, 2 / n)
        tempered = KIND * (weights / KIND) ** (least + (1 - least) * n / EPOCHS)
        np.testing.assert_allclose(parts.weights[arm], tempered / tempered.sum(), atol=1e-9)
        np.testing.assert_allclose(parts.means[arm], means, atol=1e-9)
    np.testing.assert_allclose(parts.weights[3], KIND)


def test_first_epochs_share_their_say_and_whole_curves_count_in_full() -> None:
    np.testing.assert_allclose(witness_powers(np.zeros(30)), 1.5 / 30)
    np.testing.assert_allclose(witness_powers(np.zeros(1)), 1.0)
    assert len(witness_powers(np.zeros(0))) == 0
    far = witness_powers(np.append(np.zeros(29), 0.1))  # one curve shows what first epochs lead to
    np.testing.assert_allclose(far, np.append(np.full(29, 2.5 / 30), 2.5 / 30 + 0.1 * 27.5 / 30))
    few = witness_powers(np.array([0.0, 0.5, 1.0, 0.0]))
    np.testing.assert_allclose(few, 1.0)


def test_a_study_weighs_its_curves_by_their_powers() -> None:
    moment = view((3, 1, 5))
    grid = make_shape_grid(FEW, EPOCHS, 0.0)
    values = np.zeros((3, moment.curves.longest))
    for arm, row in enumerate(values):
        row[: moment.curves.counts[arm]] = np.log(moment.curves.of_arm(arm))
    theta = np.array([STUDY.mean / STUDY.size, np.log(STUDY.deviation / STUDY.size), np.log(0.4)])
    powers = np.array([0.2, 1.0, 0.5])
    rows = project_shapes(grid, values, moment.curves.counts)
    found = StudyTarget(ONE_KIND, rows, powers, np.inf).kinds(theta)
    expected = 0.0
    for arm, power in enumerate(powers):
        seen = np.log(moment.curves.of_arm(arm))
        n = len(seen)
        logs = [
            multivariate_normal(mean[:n], covariance[:n, :n]).logpdf(seen)
            for mean, covariance in map(gaussian, FEW)
        ]
        expected += power * logsumexp(logs, b=KIND)
    np.testing.assert_allclose(found, [expected], rtol=1e-9)


def test_many_arms_that_say_little_do_not_carry_the_ends_away() -> None:
    """One epoch moves the mean of an end and leaves it as open as before, on every arm alike."""
    arms = 60
    rng = np.random.default_rng(0)
    losses = np.exp(-0.35 - 0.1 * rng.standard_normal(arms))
    moment = View(
        Curves.of([*losses[:-1, None].tolist(), []], 40),
        1,
        100.0,
        np.ones(arms),
        rng.uniform(size=(arms, 2)),
        untrained=1.0,
    )
    for part in ShapeBelief().condition(moment).components:
        study_ends = part.asymptotes.mean
        assert np.all(study_ends < 0)
        assert np.all(study_ends > -6)


def test_ends_are_the_lowest_mean_of_the_mixture_over_shapes() -> None:
    moment = view((3, 1, 5, 0))
    found = posterior(Fixed(), moment)
    horizon = np.array([4, 7, 2, 8])
    ends = found.ends(horizon)
    for arm, n in enumerate((3, 1, 5, 0)):
        values = np.log(moment.curves.of_arm(arm)) if n else np.zeros(0)
        means = []
        for t in range(n, n + int(horizon[arm])):
            weights, by_shape, _ = oracle(values, n, t)
            means.append(weights @ by_shape)
        assert ends.tau[arm] == int(np.argmin(means)) + 1
        weights, by_shape, variances = oracle(values, n, n + int(ends.tau[arm]) - 1)
        drawn = by_shape[:, None] + np.sqrt(variances)[:, None] * NORMAL
        losses = np.minimum(np.exp(drawn), moment.curves.best_by_arm[arm] if n else 1.0)
        mean = float(weights @ losses.mean(axis=1))
        assert ends.mean[arm] == pytest.approx(mean, rel=1e-4)
        assert ends.variance[arm] == pytest.approx(
            float(weights @ np.mean((losses - mean) ** 2, axis=1)), rel=1e-3
        )
        at_most = np.full(4, 0.3)
        expected = float(weights @ np.minimum(losses, 0.3).mean(axis=1))
        assert found.mean_at_most(horizon, at_most)[arm] == pytest.approx(expected, rel=1e-4)


def enumerated(moment: View, arm: int, t: int) -> tuple[float, float]:
    """Mean and variance of an arm's value, over all shapes of all correlated arms together."""
    arms = moment.arms
    counts = moment.curves.count_by_arm
    prior = asymptote_covariance("matern52", ALIKE, moment.features, moment.features, np.eye(arms))
    log_weights, means, variances = [], [], []
    for shapes in product(range(len(FEW)), repeat=arms):
        loads = [FEW[g].load(np.arange(1, EPOCHS + 1) / EPOCHS) for g in shapes]
        learns = np.array([FEW[g].learns for g in shapes])
        ends = np.where(learns[:, None] & learns, prior, 0.0) + np.diag(~learns * 0.04**2)
        blocks = [
            [ends[i, j] * np.outer(loads[i], loads[j]) for j in range(arms)] for i in range(arms)
        ]
        for i, g in enumerate(shapes):
            blocks[i][i] = blocks[i][i] + STUDY.size**2 * FEW[g].covariance(loads[i])
        covariance = np.block(blocks)
        mean = np.concatenate([STUDY.mean * learns[i] * loads[i] for i in range(arms)])
        at = np.concatenate([i * EPOCHS + np.arange(n) for i, n in enumerate(counts)]).astype(int)
        values = np.concatenate([np.log(moment.curves.of_arm(i)) for i in range(arms)])
        log_density = multivariate_normal(mean[at], covariance[np.ix_(at, at)]).logpdf(values)
        log_weights.append(log_density + float(np.log(KIND[list(shapes)]).sum()))
        gain = np.linalg.solve(covariance[np.ix_(at, at)], covariance[at, arm * EPOCHS + t])
        means.append(mean[arm * EPOCHS + t] + gain @ (values - mean[at]))
        here = arm * EPOCHS + t
        variances.append(covariance[here, here] - gain @ covariance[at, here])
    weights = np.exp(np.array(log_weights) - logsumexp(log_weights))
    average = float(weights @ np.array(means))
    return average, float(weights @ (np.array(variances) + np.array(means) ** 2)) - average**2


def test_correlated_arms_are_near_the_oracle_that_enumerates_all_shapes() -> None:
    """One round of messages between arms is an approximation: it must be a close one."""
    moment = view((4, 2, 0), seed=1)
    found = posterior(Fixed(Structure("matern52"), hypers=ALIKE), moment).at(np.full(3, EPOCHS - 1))
    alone = posterior(Fixed(), moment).at(np.full(3, EPOCHS - 1))
    for arm in range(3):
        mean, variance = enumerated(moment, arm, EPOCHS - 1)
        here = abs(found.mean[arm] - mean)
        assert here < 0.1 * np.sqrt(variance)
        spread = found.within[arm] + found.between[arm]
        assert spread == pytest.approx(variance, rel=0.15)
        if arm == 2:  # nothing of its own: all that it knows comes from the others
            assert here < 0.3 * abs(alone.mean[arm] - mean)


def polya(shapes: tuple[int, ...], concentration: float) -> float:
    """Log probability of the shapes of all arms when each counts for those after it."""
    counts, total = concentration * KIND, 0.0
    for g in shapes:
        total += float(np.log(counts[g] / counts.sum()))
        counts = counts + np.eye(len(KIND))[g]
    return total


def test_the_shapes_of_a_study_are_near_the_oracle_that_enumerates_them_all() -> None:
    """Every arm counts for how often shapes occur: shapes drawn from a Dirichlet, summed out."""
    moment, c = view((4, 4, 4, 0), seed=2), 2.0
    found = posterior(Fixed(concentration=c), moment).weights[3]
    densities = []
    for arm in range(3):
        values = np.log(moment.curves.of_arm(arm))
        shaped = (multivariate_normal(m[:4], v[:4, :4]) for m, v in map(gaussian, FEW))
        densities.append([one.logpdf(values) for one in shaped])
    log_weights, last = [], []
    for shapes in product(range(len(FEW)), repeat=4):
        seen = sum(densities[arm][g] for arm, g in enumerate(shapes[:3]))
        log_weights.append(seen + polya(shapes, c))
        last.append(shapes[3])
    weights = np.exp(np.array(log_weights) - logsumexp(log_weights))
    exact = np.bincount(last, weights)
    assert np.abs(found - exact).max() < 0.4 * np.abs(KIND - exact).max()


def test_a_deviation_is_found_by_what_it_gains() -> None:
    rng = np.random.default_rng(0)
    deviation = np.exp(rng.standard_normal(200))
    gap = deviation * rng.uniform(-1.5, 1.5, 200)
    gain = -expected_min(-gap, deviation, np.zeros(200))
    found = deviation_of_gain(gap, gain, deviation * rng.uniform(0.6, 1.6, 200))
    np.testing.assert_allclose(found, deviation, rtol=1e-6)


def test_units_in_flight_leave_means_and_narrow_variances() -> None:
    counts = (4, 2, 0)
    belief = Fixed()
    before, after = (posterior(belief, view(counts, pending=pending)) for pending in ((), (0, 2)))
    last = np.full(3, EPOCHS - 1)
    now, then = before.at(last), after.at(last)
    np.testing.assert_allclose(then.means, now.means, atol=1e-12)
    assert np.all(then.within[[0, 2]] < now.within[[0, 2]])
    assert then.within[1] == pytest.approx(now.within[1])
    np.testing.assert_array_equal(after.epochs, [6, 2, 2])


def test_moves_shrink_to_nothing_and_never_exceed_what_is_open() -> None:
    found = posterior(Fixed(), view((4, 2, 0, 7)))
    ends = found.ends(np.array([4, 6, 8, 1]))
    all_of_it = found.moves(ends, 8)
    for epochs in (1, 2, 4, 8):
        moves = found.moves(ends, epochs)
        assert np.all(moves.own <= all_of_it.own * (1 + 1e-9))
        assert np.all(moves.own > 0)


def test_units_that_show_the_end_are_worth_what_knowing_it_is() -> None:
    """As far as a Gaussian goes: E min{c, N(μ, δ²)} is E min{c, ν}, c the best of the others."""
    found = posterior(Fixed(), view((4, 2, 0, 7)))
    horizon = np.array([4, 6, 8, 1])
    ends = found.ends(horizon)
    other = best_other(ends.mean)
    gaussian = expected_min(ends.mean, found.moves(ends, 8).own, other)
    np.testing.assert_allclose(gaussian, found.mean_at_most(horizon, other), rtol=1e-6)


def test_a_unit_settles_less_of_the_shape_where_curves_may_change_it() -> None:
    found = posterior(Fixed(), view((3, 1, 5, 0)))
    wary = replace(found, changing=0.5)
    horizon = np.array([5, 7, 3, 8])
    ends = found.ends(horizon)
    certain, doubted = found.moves(ends, 2), wary.moves(wary.ends(horizon), 2)
    assert np.all(doubted.own < certain.own)
    assert np.all(doubted.pull <= certain.pull)
    soon = found.ends(np.full(4, 2))  # the unit shows the end itself, whatever its shape
    np.testing.assert_allclose(wary.moves(soon, 2).own, found.moves(soon, 2).own)


def one_shape(curve: Callable[[FloatArray], FloatArray], n: int) -> FloatArray:
    """Shape probabilities, by decay, of one arm of a packaged belief after n epochs of a curve."""
    part = np.arange(1, 41) / 40
    losses = np.exp(curve(part))
    moment = View(
        Curves.of([losses[:n].tolist()], 40), 1, 40.0, np.ones(1), np.zeros((1, 1)), untrained=1.0
    )
    found = ShapeBelief(Structure("none")).condition(moment)
    return np.array([c.at(np.array([39])).mean[0] for c in found.components])


def test_a_slow_curve_is_foreseen_to_fall_on_and_a_flat_one_is_not() -> None:
    slow = one_shape(lambda x: -1.5 * x, 10)
    flat = one_shape(lambda x: np.where(x < 0.05, -1.5 * x / 0.05 * 0.25, -0.375), 10)
    assert slow.mean() < -0.8
    assert flat.mean() > -0.6


def test_an_arm_that_learns_nothing_is_not_hoped_for() -> None:
    assert np.all(one_shape(lambda x: 0.0 * x, 10) > -0.3)


def test_kinds_are_distributions_and_the_unlike_ones_cover_every_decay() -> None:
    np.testing.assert_allclose(STUDIES.kinds.sum(axis=1), 1)
    assert STUDIES.shares.sum() == pytest.approx(1, abs=0.01)
    assert STUDIES.kinds.shape == (len(STUDIES.shares), len(SHAPES))
    added = with_unlike(LEARNED, SHAPES).kinds[len(LEARNED.shares) :]
    assert np.all(added[:, [s.learns for s in SHAPES]].max(axis=0) > 0.05)


def test_shapes_of_near_and_far_seen_arms_count_for_the_shapes_of_an_arm() -> None:
    """π(x_k) of two visited arms and one new one, written out arm by arm."""
    moment = view((8, 1, 0))
    kind, weights = np.array([0.7, 0.3]), np.array([[0.1, 0.9], [0.6, 0.4]])
    near = np.array([[1.0, 0.2], [0.2, 1.0], [0.5, 0.1]])
    powers = witness_powers(np.array([1.0, 1 / 8]))
    assert powers[0] == 1
    found = shape_priors(moment, kind, weights, near, powers, 8.0)
    for arm in range(3):
        counts = [0.0 if j == arm else powers[j] * (1 + 4 * near[arm, j]) for j in range(2)]
        expected = (8 * kind + counts @ weights) / (8 + sum(counts))
        np.testing.assert_allclose(found[arm], expected)


@pytest.mark.parametrize("full", [1, 5, 96, 97, 288, 5000])
def test_kept_epochs_rise_to_the_last_one_and_stay_few(full: int) -> None:
    kept = kept_epochs(full)
    assert np.all(np.diff(kept) > 0)
    assert (kept[0], kept[-1]) == (1, full)
    assert len(kept) <= 96


def test_the_same_view_gives_the_same_posterior_whatever_was_asked_before() -> None:
    moment = view((4, 2, 0, 1))
    horizon = np.full(4, 4)
    belief = ShapeBelief()
    fresh = belief.condition(moment).ends(horizon)
    memory = Memory()
    for counts in ((1, 0, 0, 0), (1, 2, 0, 0), (2, 2, 0, 1)):
        belief.condition(replace(view(counts), memory=memory))
    again = belief.condition(replace(moment, memory=memory)).ends(horizon)
    np.testing.assert_allclose(again.mean, fresh.mean, rtol=1e-12)
    np.testing.assert_allclose(again.variance, fresh.variance, rtol=1e-9)


def test_futures_agree_with_the_predicted_ends() -> None:
    found = posterior(Fixed(), view((4, 2, 0)))
    drawn = found.futures(np.arange(3), 20_000, np.random.default_rng(0))[:, :, -1]
    parts = found.at(np.full(3, EPOCHS - 1))
    spread = np.sqrt(parts.within + parts.between)
    assert np.all(np.abs(drawn.mean(axis=0) - parts.mean) < 0.03 * spread)
    np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.03)


def test_an_arm_that_learns_nothing_moves_no_other() -> None:
    """However like the others it is: what its units show is that it does not learn."""
    losses = [[1.0] * 5, np.exp(-0.2 * np.arange(1, 6)).tolist(), []]
    moment = View(Curves.of(losses, EPOCHS), 1, 6.0, np.ones(3), np.zeros((3, 2)), untrained=1.0)
    found = posterior(Fixed(Structure("matern52"), hypers=ALIKE), moment)
    ends = found.ends(moment.horizon)
    moves = found.moves(ends, 1)
    reach = found.covariance(np.arange(3), np.arange(3)) * moves.pull[:, None]
    deviation = np.sqrt(found.asymptotes.variance)
    assert np.all(np.abs(reach) <= deviation * (1 + 1e-9))
    assert abs(reach[0, 2]) < 0.1 * abs(reach[2, 1])


def test_arms_are_told_apart_on_their_way_down_to_the_untrained_loss() -> None:
    """Where curves start above ℓ_0 what they gain on the way counts."""
    fast, slow = 6 * np.exp(-0.5 * np.arange(5)), 6 * np.exp(-0.05 * np.arange(5))
    moment = View(
        Curves.of([fast.tolist(), slow.tolist(), [6.0], []], 20),
        1,
        20.0,
        np.ones(4),
        np.zeros((4, 1)),
        untrained=0.7,
    )
    for structure in (ALONE, Structure("matern52")):
        ends = ShapeBelief(structure).predict(moment).mean()
        assert ends[0] < 0.7 < ends[1] < 6


def test_ends_are_losses_between_nothing_and_an_untrained_model() -> None:
    moment = view((4, 2, 0))
    ends = ShapeBelief().predict(moment)
    low, middle, high = ends.quantiles((0.05, 0.5, 0.95))
    reached = np.minimum(moment.curves.best_by_arm, 1.0)
    assert np.all((low >= 0) & (low <= middle) & (middle <= high) & (high <= reached))
    assert np.all((ends.mean() > 0) & (ends.mean() <= reached))
    drawn = ends.draws(np.arange(3), 4000, np.random.default_rng(0))
    mean = np.minimum(drawn, reached).mean(axis=0)
    assert np.all(np.abs(mean - ends.mean()) < 0.1 * ends.deviation() + 0.02)
    at_most = ends.mean_at_most(0.3)
    assert np.all((at_most <= 0.3) & (at_most <= ends.mean() + 1e-12))
    nowhere = ends.within(np.zeros(3, np.int64)).mean()
    np.testing.assert_allclose(nowhere[:2], moment.curves.best_by_arm[:2])
    assert np.isnan(nowhere[2])


def falling(*, wiggle: float = 0.0, seed: int = 0) -> FloatArray:
    """Losses of 40 epochs that fall to a fifth, with noise of so much in their logarithm."""
    part = np.arange(1, 41) / 40
    noise = wiggle * np.random.default_rng(seed).standard_normal(40)
    losses: FloatArray = np.exp(Shape(0.7, 0.04, 0.5, 0.03, 0.003).load(part) * -1.6 + noise)
    return losses


def study_of(curves: list[FloatArray]) -> View:
    """A study of arms that were trained for so many of 40 epochs; untrained 1."""
    prefixes = [curve.tolist() for curve in curves]
    return View(
        Curves.of(prefixes, 40),
        1,
        40.0,
        np.ones(len(curves)),
        np.zeros((len(curves), 1)),
        untrained=1.0,
    )


def test_noise_is_told_from_misfit_arm_by_arm() -> None:
    """An arm that wiggles is one with noise; its end is not believed much less for it."""
    seen = 16
    curves = [falling(seed=k)[:seen] for k in range(5)]
    found = ShapeBelief(ALONE).condition(study_of([*curves, falling(wiggle=0.05)[:seen]]))
    rough = np.array([shape.roughness > 0.1 for shape in SHAPES])
    noisy = np.mean([part.weights[:, rough].sum(axis=1) for part in found.components], axis=0)
    assert noisy[5] > 0.7
    assert np.all(noisy[:5] < 0.5 * noisy[5])
    last = np.full(6, 39)
    spread = [np.sqrt(p.at(last).within + p.at(last).between) for p in found.components]
    deviation = np.mean(spread, axis=0)
    assert deviation[5] < 2.5 * deviation[:5].mean()


def test_a_spike_changes_nothing_once_it_is_over() -> None:
    plain = falling()[:12]
    spiked = plain.copy()
    spiked[6] = 50.0
    spiked[9] = np.nan
    calm, wild = (ShapeBelief().predict(study_of([one, falling()[:3]])) for one in (plain, spiked))
    assert wild.mean()[0] == pytest.approx(calm.mean()[0], rel=0.1)
    assert wild.deviation()[0] == pytest.approx(calm.deviation()[0], rel=0.25)


def test_a_curve_that_turns_upward_is_one_that_stays_where_it_was() -> None:
    down = falling()[:10]
    up = np.concatenate([down, down[-1] * np.exp(0.1 * np.arange(1, 11))])
    on = falling()[:20]
    turned, going = (ShapeBelief().predict(study_of([one])) for one in (up, on))
    now = float(down[-1])
    assert now >= turned.quantiles((0.95,))[0, 0] > 0.97 * now
    fallen = 1 - float(turned.mean()[0]) / now
    expected = 1 - float(ShapeBelief().predict(study_of([down])).mean()[0]) / now
    assert 0 <= fallen < 0.5 * expected
    assert going.mean()[0] < turned.mean()[0]
