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
Xp = Any  # NumPy, or JAX's twin of it

_TINY = 1e-9
_NOTHING = 1e-30  # the best improvement, as a loss, counts from here on
_SHARP = 1e-3  # differences of less than a thousandth of the best improvement look alike
_NEAR = (0.4, 0.8)  # widths of the two neighbourhoods, in median distances
_ADDITIVE_WIDTH = 0.3
_CONSTANT = 4.0  # prior variance of the level that all arms share
_AGREES = 0.15  # prior variance of how much an opinion tells of what arms show
_UNSURE = 0.02  # opinions that differ by less are none
NOISE = 0.1  # variance of what an arm shows, beside a kernel of height 1
OPINIONS = 4  # about each arm, before anything is trained: see `knowledge`


@dataclass(frozen=True, eq=False)
class Geometry:
    """What the configurations alone decide; the same for a whole study.

    Attributes:
        near: Weights of neighbours by width, without an arm's own, [2, K, K].
        prior: Prior covariance of what arms are like, [K, K].
        opinion: What is expected of each arm beside the others, and how unsure that is,
            [K, OPINIONS].
        liked: The first opinion in its own standard deviations, [K].
        sure: How far the first opinion tells arms apart, its standard deviation.
    """

    near: Array
    prior: Array
    opinion: Array
    liked: Array
    sure: Array


@dataclass(frozen=True, eq=False)
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
        flying: 1 for arms with a unit in flight, whose loss nobody knows yet, [K].
        workers: How many arms are trained side by side.
        covariance: Of what arms are like, given which of them have been tried, [K, K].
    """

    q: Array
    n: Array
    r: Array
    total: Array
    exists: Array
    open: Array
    last: Array
    flying: Array
    workers: Array
    covariance: Array


@dataclass(frozen=True, eq=False)
class _Standing:
    """Where arms stand, relative to the best of them.

    Attributes:
        seen: 1 for arms that have been tried, [K].
        untried: 1 for arms that have not been and can be, [K].
        u: Improvements in units of S, [K, T + 1].
        cur: u of each arm now, 0 if untried, [K].
        first: u of each arm after its first unit, 0 if untried, [K].
        top: The highest of `cur`.
        have: 1 if anything has improved, else 0.
        steps: Units that each arm has had, as floats, [K].
        horizon: Units that each arm can still have, [K].
        total: T, as a float.
    """

    seen: Array
    untried: Array
    u: Array
    cur: Array
    first: Array
    top: Array
    have: Array
    steps: Array
    horizon: Array
    total: Array


def geometry(xp: Xp, x: Array, exists: Array, used: Array, said: Array) -> Geometry:
    """Neighbourhoods of configurations, and what is said of them.

    Args:
        xp: NumPy or JAX's twin of it.
        x: Encoded configurations, [K, D].
        exists: 1 for arms, 0 for padding, [K].
        used: 1 for columns that hold a feature, 0 for padding, [D].
        said: What is expected of each arm, 0 where nothing is, [K, OPINIONS].
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
    count = xp.maximum(exists.sum(), 1.0)
    expected = said[:, :-1]
    expected = (expected - (expected * exists[:, None]).sum(axis=0) / count) * exists[:, None]
    opinion = xp.concatenate([expected, said[:, -1:] * exists[:, None]], axis=1)
    sure = xp.sqrt((opinion[:, 0] ** 2).sum() / count)
    liked = opinion[:, 0] / (sure + _UNSURE)
    prior = _CONSTANT + 0.5 * additive + 0.5 * xp.exp(-relative / _NEAR[1] ** 2)
    prior = prior + _AGREES * liked[:, None] * liked[None, :]
    return Geometry(near, prior, opinion, liked, sure)


def at(xp: Xp, table: Array, index: Array) -> Array:
    """table[k, index[k]] for every k."""
    return xp.take_along_axis(table, index[:, None], axis=1)[:, 0]


def _log(xp: Xp, value: Array) -> Array:
    """Small and large gaps told apart alike: 0 at 1, -1 below a thousandth."""
    return xp.log10(xp.maximum(value, 0.0) + _SHARP) / 3.0


def _mean(xp: Xp, values: Array, weights: Array) -> Array:
    return (values * weights).sum() / xp.maximum(weights.sum(), _TINY)


def features(xp: Xp, moment: Moment, shape: Geometry) -> tuple[Array, Array]:
    """Features of every arm, [K, F], and of the study, [G].

    New features of arms go last: so trained weights can be grown to fit them.
    """
    s = _stand(xp, moment)
    progress, slow = _progress(xp, moment, s)
    rivals, better = _rivals(xp, moment, s)
    shown = xp.stack(
        [s.first, s.cur, (0.5 - better) * s.seen, xp.clip(slow, 0.0, 2.0) * s.seen], axis=1
    )
    per_arm = [
        *_standing(xp, moment, s),
        *progress,
        *rivals,
        *_neighbours(xp, shape, s),
        *_expected(xp, moment, shape, s, shown),
        _plateau(xp, moment, s),
        *_opinions(xp, shape, s),
        moment.flying,
        xp.log2(1.0 * moment.workers) / 3.0 * moment.exists,
    ]
    arms = xp.clip(xp.stack(per_arm, axis=1), -3.0, 3.0) * moment.exists[:, None]
    return arms, xp.clip(xp.stack(_study(xp, moment, s)), -3.0, 3.0)


def _stand(xp: Xp, moment: Moment) -> _Standing:
    n, seen = moment.n, moment.exists * (moment.n > 0)
    best = (at(xp, moment.q, n) * seen).max()
    u = moment.q / xp.maximum(best, _NOTHING)
    cur = at(xp, u, n) * seen
    total, steps = 1.0 * moment.total, 1.0 * n
    return _Standing(
        seen=seen,
        untried=moment.exists * moment.open * (n == 0),
        u=u,
        cur=cur,
        first=u[:, 1] * seen,
        top=cur.max(),
        have=1.0 * (best > _NOTHING),
        steps=steps,
        horizon=xp.clip(moment.r, 0.0, total - steps),
        total=total,
    )


def _standing(xp: Xp, moment: Moment, s: _Standing) -> list[Array]:
    """How far each arm has come, and how far it can still go."""
    return [
        s.seen,
        moment.open,
        moment.last,
        1.0 * (s.cur >= s.top - _TINY) * s.seen,
        xp.log1p(s.steps) / 4.0,
        s.steps / s.total,
        xp.log1p(s.horizon) / 4.0,
        s.horizon / s.total,
        xp.log1p(s.horizon / (s.steps + 1.0)) / 4.0,
        xp.log1p(moment.r) / 6.0,
        s.cur,
        _log(xp, 1.0 - s.cur),
        s.first,
        _log(xp, s.first.max() - s.first) * s.seen,
    ]


def _progress(xp: Xp, moment: Moment, s: _Standing) -> tuple[list[Array], Array]:
    """How fast each arm improves and where that leads; and the slower of two guesses, [K]."""
    n = moment.n
    last_gain = (s.cur - at(xp, s.u, xp.maximum(n - 1, 0))) * s.seen
    quarter = (s.cur - at(xp, s.u, n - xp.maximum(n // 4, xp.minimum(n, 1)))) * s.seen
    half = (s.cur - at(xp, s.u, n // 2)) * s.seen
    doublings = xp.log2((s.steps + s.horizon + _TINY) / xp.maximum(s.steps, 1.0) + 1.0 * (n == 0))
    ahead = s.cur + half * doublings
    slow = s.cur + 0.5 * half * doublings
    told = [
        _log(xp, last_gain) * s.seen,
        _log(xp, quarter) * s.seen,
        _log(xp, half) * s.seen,
        xp.clip(ahead, 0.0, 3.0),
        xp.clip(slow, 0.0, 3.0),
    ]
    return told, slow


def _rivals(xp: Xp, moment: Moment, s: _Standing) -> tuple[list[Array], Array]:
    """Each arm beside the others when they had had as much; and the part that was better, [K]."""
    n = moment.n
    then = xp.take(s.u, n, axis=1)  # [j, k]: where arm j was when it had had as much as arm k
    reached = s.seen[:, None] * (n[:, None] >= n[None, :])
    rivals = xp.maximum(reached.sum(axis=0), 1.0)
    better = (reached * (then > s.cur[None, :] + _TINY)).sum(axis=0) / rivals
    envelope = (reached * then).max(axis=0)
    beyond = s.seen[:, None] * (n[:, None] > n[None, :])
    gains = (s.cur[:, None] - then) * beyond
    teachers = xp.maximum(beyond.sum(axis=0), 1.0)
    typical = gains.sum(axis=0) / teachers
    told = [
        better,
        _log(xp, envelope - s.cur) * s.seen,
        xp.log1p(rivals) / 4.0,
        xp.log1p(teachers) / 4.0,
        xp.clip(typical, 0.0, 1.0),
        xp.clip(gains.max(axis=0), 0.0, 1.0),
        xp.clip(s.cur + typical, 0.0, 2.0) * s.seen,
    ]
    return told, better


def _neighbours(xp: Xp, shape: Geometry, s: _Standing) -> list[Array]:
    """How arms with configurations like an arm's have done."""
    crowd = shape.near @ s.seen  # [2, K]
    near_cur = (shape.near @ (s.seen * (s.cur - _mean(xp, s.cur, s.seen)))) / (crowd + 0.5)
    near_first = (shape.near @ (s.seen * (s.first - _mean(xp, s.first, s.seen)))) / (crowd + 0.5)
    return [*near_cur, *near_first, *(xp.log1p(crowd) / 3.0)]


def _expected(xp: Xp, moment: Moment, shape: Geometry, s: _Standing, shown: Array) -> list[Array]:
    """What a Gaussian process expects of each arm, given what tried arms have shown, [K, 4].

    Its mean of anything that they show is linear in it: P y / σ².
    """
    expected = moment.covariance @ shown / NOISE * s.have
    highest = xp.max(xp.where(s.untried[:, None] > 0, expected, -1e3), axis=0)
    behind = xp.clip(highest * (s.untried.sum() > 0) - expected, -3.0, 3.0)
    doubt = xp.sqrt(xp.maximum(xp.diagonal(moment.covariance), 0.0) / xp.diagonal(shape.prior))
    expected = xp.clip(expected, -2.0, 2.0)
    return [
        expected[:, 0],
        behind[:, 0],
        doubt,
        s.untried,
        expected[:, 1],
        behind[:, 1],
        expected[:, 2],
        behind[:, 2],
        expected[:, 3],
        s.cur - expected[:, 1] * s.seen,
    ]


def _plateau(xp: Xp, moment: Moment, s: _Standing) -> Array:
    """For how long each arm has not improved, [K]."""
    passed = xp.arange(s.u.shape[1])[None, :] <= moment.n[:, None]
    level = (s.u >= s.cur[:, None] - _TINY) * passed
    return xp.log1p(level.sum(axis=1)) / 4.0 * s.seen


def _opinions(xp: Xp, shape: Geometry, s: _Standing) -> list[Array]:
    """What was expected of each arm, and whether what has been seen agrees."""
    top = xp.max(xp.where(s.untried > 0, shape.liked, -1e3))
    behind = xp.clip(top * (s.untried.sum() > 0) - shape.liked, -3.0, 3.0)
    everywhere = xp.ones(len(shape.liked))
    return [
        *(3.0 * shape.opinion.T),
        shape.liked,
        behind,
        3.0 * shape.sure * everywhere,
        _agreement(xp, shape.liked, s.first, s.seen) * everywhere,
        _agreement(xp, shape.liked, s.cur, s.seen) * everywhere,
    ]


def _agreement(xp: Xp, expected: Array, shown: Array, seen: Array) -> Array:
    """Their correlation over the arms that were tried, less sure where these are few."""
    a = (expected - _mean(xp, expected, seen)) * seen
    b = (shown - _mean(xp, shown, seen)) * seen
    alike = (a * b).sum() / xp.sqrt((a * a).sum() * (b * b).sum() + _TINY)
    count = seen.sum()
    return alike * count / (count + 4.0)


def _study(xp: Xp, moment: Moment, s: _Standing) -> list[Array]:
    """The study as a whole: what is left, what was tried, how arms differ."""
    exists, seen, untried, steps = moment.exists, s.seen, s.untried, s.steps
    left = xp.max(moment.r * moment.open * exists)
    tried = seen.sum()
    count = xp.maximum(tried, 1.0)
    mean_first = _mean(xp, s.first, seen)
    spread = xp.sqrt(_mean(xp, (s.first - mean_first) ** 2, seen))
    second = xp.max(xp.where(s.cur < s.top - _TINY, s.cur, 0.0))
    return [
        s.have,
        xp.log1p(left) / 6.0,
        xp.log1p(left / s.total) / 2.0,
        xp.log1p(steps.sum()) / 6.0,
        steps.sum() / (steps.sum() + left + 1.0),
        xp.log1p(tried) / 5.0,
        tried / xp.maximum(exists.sum(), 1.0),
        xp.log1p(untried.sum()) / 6.0,
        xp.log1p(left / (untried.sum() + 1.0)) / 4.0,
        xp.log1p(s.total) / 6.0,
        _mean(xp, s.cur, seen),
        mean_first,
        spread,
        _log(xp, s.top - second),
        (seen * (s.first < 0.05)).sum() / count,
        (seen * (s.first > 0.5)).sum() / count,
        (steps * exists).max() / s.total,
    ]
