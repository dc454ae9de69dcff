"""Rollout: one step looked ahead exactly, a few more under expected improvement.

Notation:
    K  arms, J = h + 1 further units of each, P  imagined paths, Q  quadrature nodes
    z_kj    loss at the end of the j-th further unit of arm k, j = 0 .. h: jointly Gaussian
    ζ       best value so far, on a path: imagined ones included
    U[a] = EI_a(ζ) + E H_1,   H_i = max_k EI_k(ζ_i) + E H_(i+1),   H_h = max_k EI_k(ζ_h)
    with E over the imagined z by Gauss-Hermite quadrature, and beliefs conditioned on it

Everything that a path can show is among the K·J values z, whose covariance
    Cov(z_kj, z_li) = Ω_kj Ω_li C_kl + [k = l] R_k,ji
follows from the prefix tables; so to condition on an imagined unit is a rank-one change of this
one Gaussian, done for all paths at once, and no factorisation happens inside. The arm that a
path runs after the first is the one of highest EI; the reward of a step is the closed form, which
the paper's formula takes by quadrature too. A unit is imagined by its last loss.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.beliefs.freeze_thaw.posterior import Posterior
from bhpt.beliefs.interface import Belief
from bhpt.bench.baselines.expected_improvement import improvement
from bhpt.bench.baselines.minimiser_entropy import gauss_hermite
from bhpt.bench.baselines.rollout_alone import AloneUnits, values_alone
from bhpt.domain import BoolArray, FloatArray, IntArray, View
from bhpt.policies.action_values import pick
from bhpt.policies.bhpt import horizon_epochs
from bhpt.policies.interface import Decision, Explanation, SequentialPolicy, refuse_side_by_side

_PATHS = 100_000  # numbers that the paths looked at together may hold: they stay in the cache
_BLOCK = 16_384  # improvements computed at once: they stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Rollout(SequentialPolicy):
    """Runs the arm with the highest U.

    Attributes:
        belief: What predicts and imagines.
        horizon: h, steps that are rolled out after the first.
        nodes: Q, imagined losses a step.
    """

    belief: Belief
    horizon: int = 3
    nodes: int = 5

    def decide(self, view: View) -> Decision | None:
        """Run argmax U, with h cut to what the budget leaves."""
        refuse_side_by_side(self, 1 + len(view.pending))
        if not view.choosable.any():
            return None
        mixture = self.belief.condition(view)
        steps = int(view.left / float(view.costs[view.choosable].min()) + 1e-9)
        depth = min(self.horizon, steps - 1)
        best = min(mixture.scaled.best, mixture.scaled.start)
        gained = mixture.average(
            lambda posterior: rollout_values(
                make_ahead(view, posterior, depth), view.choosable, best, depth, self.nodes
            )
        )
        unit = gained[view.choosable].max() or 1.0  # ties are judged relative to the largest
        arm = pick(-gained / unit, view.choosable, view.rng())
        return Decision(arm, _explain(view, mixture, best - gained, arm, depth))


@dataclass(frozen=True, eq=False)
class FutureUnits:
    """The Gaussian of all z, seen from now (see the notation).

    Attributes:
        mean: [K, J].
        variance: [K, J].
        load: Ω, [K, J].
        own: R, covariance within an arm if its asymptote were known, [K, J, J].
        shared: C, covariance of the asymptotes, [K, K].
        open: Whether the arm has that many units left, [K, J].
    """

    mean: FloatArray
    variance: FloatArray
    load: FloatArray
    own: FloatArray
    shared: FloatArray
    open: BoolArray

    @property
    def alone(self) -> AloneUnits | None:
        """The same for each arm by itself, if arms are independent."""
        if np.count_nonzero(self.shared - np.diag(self.shared.diagonal())):
            return None
        common = self.shared.diagonal()[:, None, None]
        within = self.own + self.load[:, :, None] * self.load[:, None, :] * common
        return AloneUnits(self.mean, within, self.open)

    def rows(self, arms: IntArray, steps: IntArray) -> FloatArray:
        """Cov(z of one arm and step a path, all z), [P, K, J]."""
        loaded = self.load[arms, steps][:, None] * self.shared[arms]
        rows = loaded[:, :, None] * self.load
        rows[np.arange(len(arms)), arms] += self.own[arms, steps]
        return rows

    def next_rows(self, arms: IntArray, steps: IntArray, following: IntArray) -> FloatArray:
        """Cov(z of one arm and step a path, the unit of every arm that follows), [P, K]."""
        everyone = np.arange(following.shape[1])
        rows = self.load[arms, steps][:, None] * self.shared[arms]
        rows *= self.load[everyone, following]
        here = np.arange(len(arms))
        rows[here, arms] += self.own[arms, steps, following[here, arms]]
        return rows


def make_ahead(view: View, posterior: Posterior, depth: int) -> FutureUnits:
    """Read the Gaussian of the next depth + 1 units of every arm off the prefix tables."""
    grid, counts = posterior.grid, posterior.counts
    arms = np.arange(view.arms)
    starts = counts[:, None] + view.unit * np.arange(depth + 1)
    times = np.minimum(starts + view.unit, grid.epochs) - 1
    load = grid.omega[counts[:, None], times]
    later = np.where(np.arange(grid.epochs) >= counts[:, None, None], grid.factor[times], 0.0)
    own = later @ later.transpose(0, 2, 1)
    shared = posterior.asymptotes.covariance(arms, arms)
    steps = np.arange(depth + 1)
    variance = own[:, steps, steps] + load**2 * shared.diagonal()[:, None]
    mean = posterior.means[arms[:, None], times]
    opened = (starts < grid.epochs) & view.choosable[:, None]
    return FutureUnits(np.where(opened, mean, 0.0), variance, load, own, shared, opened)


@dataclass(frozen=True, eq=False)
class ImaginedPaths:
    """Imagined paths, and the posterior after each.

    Attributes:
        mean: Of all z, [P, K, J].
        moves: One [P, K, J] a past step: what one standard deviation of its outcome moved.
        steps: Units that each arm has been imagined to run, [P, K].
        best: ζ, [P].
    """

    mean: FloatArray
    moves: tuple[FloatArray, ...]
    steps: IntArray
    best: FloatArray


@dataclass(frozen=True, eq=False)
class Step:
    """One imagined unit on every path, before its outcome is known.

    Attributes:
        arms: Which arm runs, [P].
        at: Which of its further units that is, [P].
        past: What the past steps moved of this very outcome, one [P] a past step.
        deviation: Standard deviation of the outcome, [P].
        outcomes: Imagined outcomes at the nodes, [P, Q].
        steps: Units of each arm after it, [P, K].
    """

    arms: IntArray
    at: IntArray
    past: tuple[FloatArray, ...]
    deviation: FloatArray
    outcomes: FloatArray
    steps: IntArray


def rollout_values(
    ahead: FutureUnits, allowed: BoolArray, best: float, depth: int, nodes: int
) -> FloatArray:
    """U of the allowed arms, zero for the others, [K]."""
    if (alone := ahead.alone) is not None:
        return values_alone(alone, allowed, best, depth, nodes)
    return values_together(ahead, allowed, best, depth, nodes)


def values_together(
    ahead: FutureUnits, allowed: BoolArray, best: float, depth: int, nodes: int
) -> FloatArray:
    """The same for arms of which one may tell about another, [K]."""
    actions = np.flatnonzero(allowed)
    first = improvement(ahead.mean[:, 0], np.sqrt(ahead.variance[:, 0]), best)
    values = np.where(allowed, first, 0.0)
    if not depth:
        return values
    widest = ahead.mean.size * nodes ** (depth - 1)  # numbers that one action's paths hold
    step = max(1, _PATHS // widest)
    for at in range(0, len(actions), step):
        part = actions[at : at + step]
        values[part] += _expected_rest(ahead, _start(ahead, len(part), best), part, depth, nodes)
    return values


def _start(ahead: FutureUnits, count: int, best: float) -> ImaginedPaths:
    """So many paths on which nothing has been imagined yet."""
    return ImaginedPaths(
        mean=np.broadcast_to(ahead.mean, (count, *ahead.mean.shape)),
        moves=(),
        steps=np.zeros((count, len(ahead.mean)), np.int64),
        best=np.full(count, best),
    )


def _expected_rest(
    ahead: FutureUnits, paths: ImaginedPaths, arms: IntArray, depth: int, nodes: int
) -> FloatArray:
    """E H after the paths run `arms`, with `depth` steps still to roll, [P]."""
    points, weights = gauss_hermite(nodes)
    step = imagine(ahead, paths, arms, points)
    gained, choices = next_best(ahead, paths, step, points)
    if depth > 1:
        children = outcomes_of(ahead, paths, step, points)
        rest = _expected_rest(ahead, children, choices.reshape(-1), depth - 1, nodes)
        gained += rest.reshape(gained.shape)
    expected: FloatArray = gained @ weights
    return expected


def imagine(ahead: FutureUnits, paths: ImaginedPaths, arms: IntArray, points: FloatArray) -> Step:
    """Run the next unit of one arm on each path."""
    here = np.arange(len(arms))
    at = paths.steps[here, arms]
    past = tuple(move[here, arms, at] for move in paths.moves)
    variance = ahead.variance[arms, at] - sum((p**2 for p in past), start=np.zeros(len(arms)))
    deviation = np.sqrt(np.maximum(variance, 0.0))
    steps = paths.steps.copy()
    steps[here, arms] += 1
    outcomes = paths.mean[here, arms, at][:, None] + deviation[:, None] * points
    return Step(arms, at, past, deviation, outcomes, steps)


def next_best(
    ahead: FutureUnits, paths: ImaginedPaths, step: Step, points: FloatArray
) -> tuple[FloatArray, IntArray]:
    """The highest EI of a next unit after each outcome, and its arm, [P, Q] each."""
    arms = np.arange(step.steps.shape[1])
    past = [_selected(move, step.steps) for move in paths.moves]
    move = ahead.next_rows(step.arms, step.at, step.steps)
    _take_past(move, past, step)
    variance = ahead.variance[arms, step.steps] - move**2
    for earlier in past:
        variance -= earlier**2
    mean = _selected(paths.mean, step.steps)
    opened = ahead.open[arms, step.steps]
    deviation = np.sqrt(np.maximum(variance, 0.0))
    best = np.minimum(paths.best[:, None], step.outcomes)
    gained, choices = np.empty_like(best), np.empty(best.shape, np.int64)
    block = max(1, _BLOCK // (best.shape[1] * len(arms)))
    for low in range(0, len(best), block):
        part = slice(low, low + block)
        after = mean[part, None, :] + points[:, None] * move[part, None, :]
        each = improvement(after, deviation[part, None, :], best[part, :, None])
        each *= opened[part, None, :]  # an arm that has no unit left improves nothing
        choices[part] = each.argmax(axis=2)
        gained[part] = each.max(axis=2)
    return gained, choices


def _selected(values: FloatArray, steps: IntArray) -> FloatArray:
    """Each arm's next unit, [P, K], of something that is known of all units, [P, K, J]."""
    chosen: FloatArray = np.take_along_axis(values, steps[:, :, None], axis=2)[:, :, 0]
    return chosen


def _take_past(rows: FloatArray, past: Sequence[FloatArray], step: Step) -> None:
    """Turn prior covariances with the outcome into moves of one of its deviations, in place."""
    shape = (-1, *[1] * (rows.ndim - 1))
    for own, earlier in zip(step.past, past, strict=True):
        rows -= own.reshape(shape) * earlier
    rows /= np.where(step.deviation > 0, step.deviation, np.inf).reshape(shape)


def outcomes_of(
    ahead: FutureUnits, paths: ImaginedPaths, step: Step, points: FloatArray
) -> ImaginedPaths:
    """Each path with each outcome, P·Q of them."""
    count = len(points)
    move = ahead.rows(step.arms, step.at)
    _take_past(move, paths.moves, step)
    mean = paths.mean[:, None] + points[:, None, None] * move[:, None]
    best = np.minimum(paths.best[:, None], step.outcomes)
    return ImaginedPaths(
        mean=mean.reshape(-1, *mean.shape[2:]),
        moves=tuple(np.repeat(each, count, axis=0) for each in (*paths.moves, move)),
        steps=np.repeat(step.steps, count, axis=0),
        best=best.reshape(-1),
    )


def _explain(view: View, mixture: Mixture, values: FloatArray, arm: int, depth: int) -> Explanation:
    ends = mixture.ends(horizon_epochs(view, view.horizon))
    mean = np.where(np.isfinite(ends.mean), ends.mean, np.nan)
    end = mixture.scaled.loss(mean)
    spread = mixture.scaled.spread(mean, np.sqrt(ends.variance))
    value = np.where(view.choosable, mixture.scaled.loss(values), np.inf)
    why = f"rollout: {depth + 1} units ahead arm {arm} promises {value[arm]:.4g}"
    return Explanation(why, end, spread, value)
