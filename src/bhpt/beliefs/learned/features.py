"""What the learned networks are told about each arm: numbers without a scale.

Everything is relative to the best improvement seen so far, so a loss in nats, an error rate and a
negative reward look alike; configurations enter only through distances, so no column of a search
space means anything by its place. The same functions run under NumPy for one decision and under
JAX, mapped over thousands of studies at once, where the policy is trained (`benchmarks/policy`):
`xp` is the one or the other.

Notation:
    K  arms, T  units of a full training, n_k  units that arm k has had
    q_k(t)  improvement over the untrained loss after t units, best so far; q_k(0) = 0
    u = q / S, where S is the best improvement of all
    r_k  units that what is left would buy arm k, its last unit aside
"""

from dataclasses import dataclass
from typing import Any

Array = Any  # of NumPy or of JAX

_TINY = 1e-9
_SHARP = 1e-3  # differences of less than a thousandth of the best improvement look alike
_NEAR = (0.4, 0.8)  # widths of the two neighbourhoods, in median distances
_ADDITIVE_WIDTH = 0.3
_CONSTANT = 4.0  # prior variance of the level that all arms share
NOISE = 0.1  # variance of what an arm shows, beside a kernel of height 1


@dataclass(frozen=True)
class Geometry:
    """What the configurations alone decide; the same for a whole study.

    Attributes:
        near: Weights of neighbours by width, without an arm's own, [2, K, K].
        prior: Prior covariance of what arms are like, [K, K].
    """

    near: Array
    prior: Array


@dataclass(frozen=True)
class Moment:
    """A moment of a study.

    Attributes:
        q: Improvements, [K, T + 1]; what lies beyond n_k is not looked at.
        n: Units that each arm has had, [K].
        r: Units that what is left would buy each arm, [K].
        total: T.
        exists: 1 for arms, 0 for padding, [K].
        open: 1 where one more unit can be run, [K].
        last: 1 for the arm of the latest unit, [K].
        covariance: Of what arms are like, given which of them have been tried, [K, K].
    """

    q: Array
    n: Array
    r: Array
    total: Array
    exists: Array
    open: Array
    last: Array
    covariance: Array


def geometry(xp: Any, x: Array, exists: Array, used: Array) -> Geometry:
    """Neighbourhoods of configurations.

    Args:
        xp: NumPy or JAX's twin of it.
        x: Encoded configurations, [K, D].
        exists: 1 for arms, 0 for padding, [K].
        used: 1 for columns that hold a feature, 0 for padding, [D].
    """
    x = x * used
    pairs = exists[:, None] * exists[None, :] * (1.0 - xp.eye(len(x)))
    norm = (x * x).sum(axis=1)
    squared = xp.maximum(norm[:, None] + norm[None, :] - 2.0 * x @ x.T, 0.0)
    scale = (squared * pairs).sum() / xp.maximum(pairs.sum(), 1.0) + _TINY
    relative = squared / scale
    near = xp.stack([xp.exp(-relative / width**2) * pairs for width in _NEAR])
    alone = xp.zeros((len(x), len(x)))
    for column in range(x.shape[1]):
        apart = (x[:, None, column] - x[None, :, column]) / _ADDITIVE_WIDTH
        alone = alone + used[column] * xp.exp(-0.5 * apart**2)
    additive = alone / xp.maximum(used.sum(), 1.0)
    return Geometry(near, _CONSTANT + 0.5 * additive + 0.5 * xp.exp(-relative / _NEAR[1] ** 2))


def at(xp: Any, table: Array, index: Array) -> Array:
    """table[k, index[k]] for every k."""
    return xp.take_along_axis(table, index[:, None], axis=1)[:, 0]


def _log(xp: Any, value: Array) -> Array:
    """Small and large gaps told apart alike: 0 at 1, -1 below a thousandth."""
    return xp.log10(xp.maximum(value, 0.0) + _SHARP) / 3.0


def _mean(xp: Any, values: Array, weights: Array) -> Array:
    return (values * weights).sum() / xp.maximum(weights.sum(), _TINY)


def features(xp: Any, moment: Moment, shape: Geometry) -> tuple[Array, Array]:
    """Features of every arm, [K, F], and of the study, [G]."""
    q, n, exists = moment.q, moment.n, moment.exists
    total = 1.0 * moment.total
    seen = exists * (n > 0)
    now = at(xp, q, n) * seen
    best = now.max()
    have = 1.0 * (best > _TINY)
    u = q / xp.maximum(best, _TINY)
    cur = at(xp, u, n) * seen
    first = u[:, 1] * seen
    top = cur.max()
    count = xp.maximum(seen.sum(), 1.0)
    untried = exists * moment.open * (n == 0)

    steps = 1.0 * n
    horizon = xp.clip(moment.r, 0.0, total - steps)
    last_gain = (cur - at(xp, u, xp.maximum(n - 1, 0))) * seen
    quarter = (cur - at(xp, u, n - xp.maximum(n // 4, xp.minimum(n, 1)))) * seen
    half = (cur - at(xp, u, n // 2)) * seen
    doublings = xp.log2((steps + horizon + _TINY) / xp.maximum(steps, 1.0) + 1.0 * (n == 0))
    ahead = cur + half * doublings
    slow = cur + 0.5 * half * doublings

    then = xp.take(u, n, axis=1)  # [j, k]: where arm j was when it had had as much as arm k
    reached = seen[:, None] * (n[:, None] >= n[None, :])
    rivals = xp.maximum(reached.sum(axis=0), 1.0)
    better = (reached * (then > cur[None, :] + _TINY)).sum(axis=0) / rivals
    envelope = (reached * then).max(axis=0)
    beyond = seen[:, None] * (n[:, None] > n[None, :])
    gains = (cur[:, None] - then) * beyond
    teachers = xp.maximum(beyond.sum(axis=0), 1.0)
    typical_gain = gains.sum(axis=0) / teachers
    largest_gain = gains.max(axis=0)

    mean_cur = _mean(xp, cur, seen)
    mean_first = _mean(xp, first, seen)
    crowd = shape.near @ seen  # [2, K]
    near_cur = (shape.near @ (seen * (cur - mean_cur))) / (crowd + 0.5)
    near_first = (shape.near @ (seen * (first - mean_first))) / (crowd + 0.5)
    # A Gaussian process' mean of anything that tried arms show: P y / σ² is linear in y.
    shown = xp.stack([first, cur, (0.5 - better) * seen, xp.clip(slow, 0.0, 2.0) * seen], axis=1)
    expected = moment.covariance @ shown / NOISE * have  # [K, 4]
    highest = xp.max(xp.where(untried[:, None] > 0, expected, -1e3), axis=0)
    behind = xp.clip(highest * (untried.sum() > 0) - expected, -3.0, 3.0)
    doubt = xp.sqrt(xp.maximum(xp.diagonal(moment.covariance), 0.0) / xp.diagonal(shape.prior))
    waiting = (u >= cur[:, None] - _TINY) * (xp.arange(u.shape[1])[None, :] <= n[:, None])

    per_arm = [
        seen,
        moment.open,
        moment.last,
        1.0 * (cur >= top - _TINY) * seen,
        xp.log1p(steps) / 4.0,
        steps / total,
        xp.log1p(horizon) / 4.0,
        horizon / total,
        xp.log1p(horizon / (steps + 1.0)) / 4.0,
        xp.log1p(moment.r) / 6.0,
        cur,
        _log(xp, 1.0 - cur),
        first,
        _log(xp, first.max() - first) * seen,
        _log(xp, last_gain) * seen,
        _log(xp, quarter) * seen,
        _log(xp, half) * seen,
        xp.clip(ahead, 0.0, 3.0),
        xp.clip(slow, 0.0, 3.0),
        better,
        _log(xp, envelope - cur) * seen,
        xp.log1p(rivals) / 4.0,
        xp.log1p(teachers) / 4.0,
        xp.clip(typical_gain, 0.0, 1.0),
        xp.clip(largest_gain, 0.0, 1.0),
        xp.clip(cur + typical_gain, 0.0, 2.0) * seen,
        near_cur[0],
        near_cur[1],
        near_first[0],
        near_first[1],
        xp.log1p(crowd[0]) / 3.0,
        xp.log1p(crowd[1]) / 3.0,
        xp.clip(expected[:, 0], -2.0, 2.0),
        behind[:, 0],
        doubt,
        untried,
        xp.clip(expected[:, 1], -2.0, 2.0),
        behind[:, 1],
        xp.clip(expected[:, 2], -2.0, 2.0),
        behind[:, 2],
        xp.clip(expected[:, 3], -2.0, 2.0),
        cur - xp.clip(expected[:, 1], -2.0, 2.0) * seen,
        xp.log1p(waiting.sum(axis=1)) / 4.0 * seen,
    ]
    arms = xp.clip(xp.stack(per_arm, axis=1), -3.0, 3.0) * exists[:, None]

    left = xp.max(moment.r * moment.open * exists)
    spread = xp.sqrt(_mean(xp, (first - mean_first) ** 2, seen))
    tried = seen.sum()
    second = xp.max(xp.where(cur < top - _TINY, cur, 0.0))
    study = [
        have,
        xp.log1p(left) / 6.0,
        xp.log1p(left / total) / 2.0,
        xp.log1p(steps.sum()) / 6.0,
        steps.sum() / (steps.sum() + left + 1.0),
        xp.log1p(tried) / 5.0,
        tried / xp.maximum(exists.sum(), 1.0),
        xp.log1p(untried.sum()) / 6.0,
        xp.log1p(left / (untried.sum() + 1.0)) / 4.0,
        xp.log1p(total) / 6.0,
        mean_cur,
        mean_first,
        spread,
        _log(xp, top - second),
        (seen * (first < 0.05)).sum() / count,
        (seen * (first > 0.5)).sum() / count,
        (steps * exists).max() / total,
    ]
    return arms, xp.clip(xp.stack(study), -3.0, 3.0)
