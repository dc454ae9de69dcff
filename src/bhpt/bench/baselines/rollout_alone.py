"""Rollout where arms are independent: what an arm shows says nothing of the others.

Notation: see `rollout`; I  arms that a path has visited, U  distinct best values ζ

The next unit of an arm that a path has not visited is as it was at the start, so its expected
improvement depends on ζ alone. It is computed once for each of the distinct ζ of all paths, which
are few: an outcome that is no record leaves ζ as it was, and paths that differ in other arms
imagine the same outcomes. What a path has to carry is the state of the arms that it has visited.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bhpt.bench.baselines.expected_improvement import improvement
from bhpt.bench.baselines.minimiser_entropy import gauss_hermite
from bhpt.domain import BoolArray, FloatArray, IntArray

Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True, eq=False)
class AloneUnits:
    """The next J units of every arm, each arm by itself.

    Attributes:
        mean: [K, J].
        covariance: Within each arm, [K, J, J].
        open: Whether the arm has that many units left, [K, J].
    """

    mean: FloatArray
    covariance: FloatArray
    open: BoolArray

    def first(self, best: FloatArray) -> FloatArray:
        """Expected improvement of every arm's next unit for each ζ, [U, K]."""
        deviation = np.sqrt(np.maximum(self.covariance[:, 0, 0], 0.0))
        gained = improvement(self.mean[:, 0], deviation, best[:, None])
        return np.where(self.open[:, 0], gained, 0.0)


@dataclass(frozen=True, eq=False)
class VisitedArms:
    """Imagined paths: the arms that they have visited, and ζ.

    Attributes:
        arms: [P, I]; -1 stands for none.
        latest: Whether the arm has not been visited later on the path, [P, I].
        units: Units that the arm has been imagined to run by then, [P, I].
        mean: Of its J units, given its own outcomes up to then, [P, I, J].
        covariance: The same, [P, I, J, J].
        best: ζ, [P].
    """

    arms: IntArray
    latest: BoolArray
    units: IntArray
    mean: FloatArray
    covariance: FloatArray
    best: FloatArray

    @classmethod
    def none(cls, count: int, steps: int, best: float) -> "VisitedArms":
        """So many paths on which nothing has been imagined yet."""
        return cls(
            arms=np.full((count, 1), -1),
            latest=np.zeros((count, 1), np.bool_),
            units=np.zeros((count, 1), np.int64),
            mean=np.zeros((count, 1, steps)),
            covariance=np.zeros((count, 1, steps, steps)),
            best=np.full(count, best),
        )


@dataclass(frozen=True, eq=False)
class UnitRun:
    """One imagined unit on every path, with each of its outcomes.

    Attributes:
        visits: The arms visited, this one last; its mean is not that after an outcome yet.
        mean: Of the last arm after each outcome, [P, Q, J].
        best: ζ after each outcome, [P, Q].
    """

    visits: VisitedArms
    mean: FloatArray
    best: FloatArray

    def paths(self) -> VisitedArms:
        """Each path with each outcome, P·Q of them."""
        count, visits = self.best.shape[1], self.visits
        mean = np.repeat(visits.mean, count, axis=0)
        mean[:, -1] = self.mean.reshape(len(mean), -1)
        return VisitedArms(
            arms=np.repeat(visits.arms, count, axis=0),
            latest=np.repeat(visits.latest, count, axis=0),
            units=np.repeat(visits.units, count, axis=0),
            mean=mean,
            covariance=np.repeat(visits.covariance, count, axis=0),
            best=self.best.reshape(-1),
        )


def values_alone(
    alone: AloneUnits, allowed: BoolArray, best: float, depth: int, nodes: int
) -> FloatArray:
    """U of the allowed arms, zero for the others, [K]."""
    values = np.where(allowed, alone.first(np.array([best]))[0], 0.0)
    actions = np.flatnonzero(allowed)
    if depth:
        paths = VisitedArms.none(len(actions), alone.mean.shape[1], best)
        values[actions] += _expected_rest(alone, paths, actions, depth, nodes)
    return values


def _expected_rest(
    alone: AloneUnits, paths: VisitedArms, arms: IntArray, depth: int, nodes: int
) -> FloatArray:
    """E H after the paths run `arms`, with `depth` steps still to roll, [P]."""
    points, weights = gauss_hermite(nodes)
    run = _run(alone, paths, arms, points)
    gained, choices = _next_best(alone, run)
    if depth > 1:
        rest = _expected_rest(alone, run.paths(), choices.reshape(-1), depth - 1, nodes)
        gained = gained + rest.reshape(gained.shape)
    expected: FloatArray = gained @ weights
    return expected


def _run(alone: AloneUnits, paths: VisitedArms, arms: IntArray, points: FloatArray) -> UnitRun:
    """Run the next unit of one arm on each path."""
    here = np.arange(len(arms))
    again = paths.latest & (paths.arms == arms[:, None])
    at, known = again.argmax(axis=1), again.any(axis=1)
    units = np.where(known, paths.units[here, at], 0)
    mean = np.where(known[:, None], paths.mean[here, at], alone.mean[arms])
    before = np.where(known[:, None, None], paths.covariance[here, at], alone.covariance[arms])
    deviation = np.sqrt(np.maximum(before[here, units, units], 0.0))
    moves = before[here, units] / np.where(deviation > 0, deviation, np.inf)[:, None]
    outcomes = mean[here, units][:, None] + deviation[:, None] * points
    visits = VisitedArms(
        arms=_with(paths.arms, arms),
        latest=_with(paths.latest & ~again, np.ones(len(arms), np.bool_)),
        units=_with(paths.units, units + 1),
        mean=_with(paths.mean, mean),
        covariance=_with(paths.covariance, before - moves[:, :, None] * moves[:, None, :]),
        best=paths.best,
    )
    after = mean[:, None] + points[:, None] * moves[:, None]
    return UnitRun(visits, after, np.minimum(paths.best[:, None], outcomes))


def _with(before: NDArray[Kind], last: NDArray[Kind]) -> NDArray[Kind]:
    """One more visit of every path, [P, I + 1, ..]."""
    return np.concatenate([before, last[:, None]], axis=1)


def _next_best(alone: AloneUnits, run: UnitRun) -> tuple[FloatArray, IntArray]:
    """The highest EI of a next unit after each outcome, and the first arm that has it, [P, Q]."""
    visits, units = run.visits, run.visits.units
    unvisited, values = _best_unvisited(alone, run)
    here, slot = np.ogrid[: len(units), : units.shape[1]]
    deviation = np.sqrt(np.maximum(visits.covariance[here, slot, units, units], 0.0))
    mean = np.repeat(visits.mean[here, slot, units][:, None], run.best.shape[1], axis=1)
    mean[:, :, -1] = run.mean[np.arange(len(units)), :, units[:, -1]]
    visited = improvement(mean, deviation[:, None], run.best[:, :, None])
    visited *= alone.open[visits.arms, units][:, None]
    visited = np.where(visits.latest[:, None], visited, -1.0)
    gained = np.maximum(values, visited.max(axis=2))
    none = len(alone.mean)
    first = np.where(visited == gained[:, :, None], visits.arms[:, None], none).min(axis=2)
    return gained, np.minimum(first, np.where(values == gained, unvisited, none))


def _best_unvisited(alone: AloneUnits, run: UnitRun) -> tuple[IntArray, FloatArray]:
    """The first arm of the highest EI among those not visited, and that EI, -1 if none, [P, Q]."""
    arms = run.visits.arms
    best, which = np.unique(run.best, return_inverse=True)
    which = which.reshape(run.best.shape)
    gained = alone.first(best)
    order = np.argsort(-gained, axis=1, kind="stable")[:, : arms.shape[1] + 1]
    candidates = order[which]  # [P, Q, I + 2]
    free = np.ones(candidates.shape, np.bool_)
    for slot in range(arms.shape[1]):
        free &= candidates != arms[:, slot, None, None]
    first = np.take_along_axis(candidates, free.argmax(axis=2)[:, :, None], axis=2)[:, :, 0]
    return first, np.where(free.any(axis=2), gained[which, first], -1.0)
