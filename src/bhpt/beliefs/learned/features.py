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
from operator import itemgetter
from typing import Any, NamedTuple

from bhpt.beliefs.learned.schema import ARM_FEATURES, OPINION_NAMES, STUDY_FEATURES

Array = Any  # of NumPy or of JAX
Xp = Any  # NumPy, or JAX's twin of it
Named = dict[str, Array]  # features by their names

_arm_order, _study_order = itemgetter(*ARM_FEATURES), itemgetter(*STUDY_FEATURES)

_TINY = 1e-9
_NOTHING = 1e-30  # the best improvement, as a loss, counts from here on
_SHARP = 1e-3  # differences of less than a thousandth of the best improvement look alike
_NEAR = (0.4, 0.8)  # widths of the two neighbourhoods, in median distances
_ADDITIVE_WIDTH = 0.3
_CONSTANT = 4.0  # prior variance of the level that all arms share
_AGREES = 0.15  # prior variance of how much an opinion tells of what arms show
UNSURE = 0.02  # opinions that differ by less are none
NOISE = 0.1  # variance of what an arm shows, beside a kernel of height 1
OPINIONS = len(OPINION_NAMES)  # scores of each arm by its names: see `name_opinions`


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


class _Standing(NamedTuple):
    """Where arms stand, relative to the best of them.

    Attributes:
        seen: 1 for arms that have been tried, [K].
        untried: 1 for arms that have not been and can be, [K].
        tried: How many have been.
        fresh: How many have not been and can be.
        passed: Whether arm k has had t units, [T + 1, K].
        u: Improvements in units of S, -1 where they are not known, [T + 1, K].
        cur: u of each arm now, 0 if untried, [K].
        first: u of each arm after its first unit, 0 if untried, [K].
        gained: u of each arm now less that of a unit ago, of a quarter of its units and of half
            of them, 0 if untried, [3, K].
        top: The highest of `cur`.
        have: 1 if anything has improved, else 0.
        steps: Units that each arm has had, as floats, [K].
        horizon: Units that each arm can still have, [K].
        total: T, as a float.
        mean: Of `first`, of `cur` and of what is liked, over the arms that were tried, [3].
        apart: What these arms lie from it, 0 if untried, [3, K].
    """

    seen: Array
    untried: Array
    tried: Array
    fresh: Array
    passed: Array
    u: Array
    cur: Array
    first: Array
    gained: Array
    top: Array
    have: Array
    steps: Array
    horizon: Array
    total: Array
    mean: Array
    apart: Array


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
    liked = opinion[:, 0] / (sure + UNSURE)
    prior = _CONSTANT + 0.5 * additive + 0.5 * xp.exp(-relative / _NEAR[1] ** 2)
    prior = prior + _AGREES * liked[:, None] * liked[None, :]
    return Geometry(near, prior, opinion, liked, sure)


def at(xp: Xp, table: Array, index: Array) -> Array:
    """table[k, index[.., k]] for every k."""
    return table[xp.arange(len(table)), index]


def _log(xp: Xp, value: Array) -> Array:
    """Small and large gaps told apart alike: 0 at 1, -1 below a thousandth."""
    return xp.log10(xp.maximum(value, 0.0) + _SHARP) / 3.0


def _within(xp: Xp, low: float, value: Array, high: float) -> Array:
    """What `clip` does; NumPy's takes several times as long for so few numbers."""
    return xp.minimum(xp.maximum(value, low), high)


def features(xp: Xp, moment: Moment, shape: Geometry) -> tuple[Array, Array]:
    """Features of every arm, [K, F], and of the study, [G], in the order of `schema`.

    One decision is a hundred and more operations on arrays of a hundred numbers, and under NumPy
    the calls take the time: numbers that are treated alike are so together, as rows of an array.
    """
    s = _stand(xp, moment, shape)
    progress, slow = _progress(xp, s)
    rivals, better = _rivals(xp, moment, s)
    shown = xp.array([s.first, s.cur, 0.5 - better, _within(xp, 0.0, slow, 2.0)]) * s.seen
    expected, behind = _expected(xp, moment, shape, s, shown)
    named = {
        **_standing(xp, moment, s),
        **progress,
        **rivals,
        **_neighbours(xp, shape, s),
        **expected,
        "log_plateau": _plateau(xp, s),
        **_opinions(xp, moment, shape, s, behind),
        "in_flight": moment.flying,
        "log_workers": xp.log2(1.0 * moment.workers) / 3.0 * moment.exists,
    }
    arms = _within(xp, -3.0, xp.array(_arm_order(named)), 3.0) * moment.exists
    study = xp.array(_study_order(_study(xp, moment, s)))
    return arms.T, _within(xp, -3.0, study, 3.0)


def _stand(xp: Xp, moment: Moment, shape: Geometry) -> _Standing:
    n = moment.n
    seen = moment.exists * (n > 0)
    once = xp.minimum(n, 1)
    ago = xp.array([n, once, n - once, n - xp.maximum(n // 4, once), n // 2])
    improved = at(xp, moment.q, ago) * seen
    best = improved[0].max()
    scale = xp.maximum(best, _NOTHING)
    cur, first, *before = improved / scale
    passed = xp.arange(moment.q.shape[1])[:, None] <= xp.where(seen > 0, n, -1)
    total, steps, tried = 1.0 * moment.total, 1.0 * n, seen.sum()
    untried = moment.exists * moment.open * (n == 0)
    compared = xp.array([first, cur, shape.liked])
    mean = (compared * seen).sum(axis=1) / xp.maximum(tried, _TINY)
    return _Standing(
        seen=seen,
        untried=untried,
        tried=tried,
        fresh=untried.sum(),
        passed=passed,
        u=xp.where(passed, moment.q.T / scale, -1.0),
        cur=cur,
        first=first,
        gained=cur - xp.array(before),
        top=cur.max(),
        have=1.0 * (best > _NOTHING),
        steps=steps,
        horizon=xp.maximum(xp.minimum(moment.r, total - steps), 0.0),
        total=total,
        mean=mean,
        apart=(compared - mean[:, None]) * seen,
    )


def _standing(xp: Xp, moment: Moment, s: _Standing) -> Named:
    """How far each arm has come, and how far it can still go."""
    steps, horizon, further, bought = xp.log1p(
        xp.array([s.steps, s.horizon, s.horizon / (s.steps + 1.0), moment.r])
    )
    below_top, below_first = _log(xp, xp.array([1.0 - s.cur, s.first.max() - s.first]))
    return {
        "tried": s.seen,
        "can_run": moment.open,
        "latest": moment.last,
        "is_best": (s.cur >= s.top - _TINY) * s.seen,
        "log_units": steps / 4.0,
        "units_share": s.steps / s.total,
        "log_horizon": horizon / 4.0,
        "horizon_share": s.horizon / s.total,
        "log_horizon_by_units": further / 4.0,
        "log_units_bought": bought / 6.0,
        "improvement": s.cur,
        "log_gap_to_best": below_top,
        "first_improvement": s.first,
        "log_gap_to_best_first": below_first * s.seen,
    }


def _progress(xp: Xp, s: _Standing) -> tuple[Named, Array]:
    """How fast each arm improves and where that leads; and the slower of two guesses, [K]."""
    doublings = xp.log2((s.steps + s.horizon + _TINY) / xp.maximum(s.steps, 1.0))
    ahead = s.gained[2] * doublings  # nothing if untried
    slow = s.cur + 0.5 * ahead
    guesses = xp.maximum(xp.array([s.cur + ahead, slow]), 0.0)
    unit, quarter, half = _log(xp, s.gained) * s.seen
    return {
        "log_gain_last_unit": unit,
        "log_gain_last_quarter": quarter,
        "log_gain_last_half": half,
        "extrapolated_fast": guesses[0],
        "extrapolated_slow": guesses[1],
    }, slow


def _rivals(xp: Xp, moment: Moment, s: _Standing) -> tuple[Named, Array]:
    """Each arm beside the others when they had had as much; and the part that was better, [K].

    What others had reached and gained since then is the same for all arms with t units.
    """
    n = moment.n
    gains = xp.where(s.passed, s.cur - s.u, 0.0)  # [T + 1, K]
    rivals = s.passed.sum(axis=1)
    teachers = xp.concatenate([rivals[1:], xp.zeros(1)])
    rivals, teachers = xp.maximum(xp.array([rivals, teachers]), 1.0)
    typical = gains.sum(axis=1) / teachers
    by_units = xp.array([rivals, teachers, typical, gains.max(axis=1), s.u.max(axis=1)])
    rivals, teachers, typical, most, envelope = by_units.take(n, axis=1)
    better = (s.u.take(n, axis=0) > s.cur[:, None] + _TINY).sum(axis=1) / rivals  # of [K, K]
    counts = xp.log1p(xp.array([rivals, teachers])) / 4.0
    gained = _within(xp, 0.0, xp.array([typical, most]), 1.0)
    return {
        "share_better": better,
        "log_gap_to_envelope": _log(xp, envelope - s.cur) * s.seen,
        "log_rivals": counts[0],
        "log_rivals_beyond": counts[1],
        "typical_later_gain": gained[0],
        "largest_later_gain": gained[1],
        "improvement_with_typical_gain": _within(xp, 0.0, s.cur + typical, 2.0) * s.seen,
    }, better


def _neighbours(xp: Xp, shape: Geometry, s: _Standing) -> Named:
    """How arms with configurations like an arm's have done."""
    found = xp.array([s.seen, s.apart[1], s.apart[0]]) @ shape.near  # symmetric, [2, 3, K]
    crowd = found[:, 0]
    (cur, first), (wide_cur, wide_first) = found[:, 1:] / (crowd[:, None] + 0.5)
    counts = xp.log1p(crowd) / 3.0
    return {
        "near_improvement": cur,
        "wide_improvement": wide_cur,
        "near_first_improvement": first,
        "wide_first_improvement": wide_first,
        "log_near_arms": counts[0],
        "log_wide_arms": counts[1],
    }


def _expected(
    xp: Xp, moment: Moment, shape: Geometry, s: _Standing, shown: Array
) -> tuple[Named, Array]:
    """What a Gaussian process expects of each arm, given what tried arms have shown, [4, K].

    Its mean of anything that they show is linear in it: P y / σ². Beside it: by how much each arm
    is liked less than the best liked of those that can be tried, [K].
    """
    expected = shown @ moment.covariance * (s.have / NOISE)
    values = xp.concatenate([expected, shape.liked[None, :]])
    highest = xp.where(s.untried > 0, values, -1e3).max(axis=1) * (s.fresh > 0)
    behind = highest[:, None] - values
    left = xp.maximum(moment.covariance.diagonal(), 0.0)
    expected = _within(xp, -2.0, expected, 2.0)
    return {
        "expected_first": expected[0],
        "behind_best_expected_first": behind[0],
        "prior_spread_left": xp.sqrt(left / shape.prior.diagonal()),
        "untried": s.untried,
        "expected_improvement": expected[1],
        "behind_best_expected_improvement": behind[1],
        "expected_rank": expected[2],
        "behind_best_expected_rank": behind[2],
        "expected_extrapolation": expected[3],
        "above_expected_improvement": s.cur - expected[1] * s.seen,
    }, behind[4]


def _plateau(xp: Xp, s: _Standing) -> Array:
    """For how long each arm has not improved, [K]."""
    return xp.log1p((s.u >= s.cur - _TINY).sum(axis=0)) / 4.0 * s.seen


def _opinions(xp: Xp, moment: Moment, shape: Geometry, s: _Standing, behind: Array) -> Named:
    """What was expected of each arm, and whether what has been seen agrees.

    That is the correlation over the arms that were tried, less sure where these are few.
    """
    shown, liked = s.apart[:2], s.apart[2]
    squares = (s.apart**2).sum(axis=1)
    alike = (shown * liked).sum(axis=1) / xp.sqrt(squares[:2] * squares[2] + _TINY)
    first, cur = alike * s.tried / (s.tried + 4.0)
    end, top, early, spread = 3.0 * shape.opinion.T
    sure, agrees_first, agrees = xp.array([3.0 * shape.sure, first, cur])[:, None] * moment.exists
    return {
        "opinion_end": end,
        "opinion_top": top,
        "opinion_early": early,
        "opinion_spread": spread,
        "opinion_standard": shape.liked,
        "behind_best_opinion": behind,
        "opinion_certainty": sure,
        "opinion_agrees_with_first": agrees_first,
        "opinion_agrees_with_now": agrees,
    }


def _study(xp: Xp, moment: Moment, s: _Standing) -> Named:
    """The study as a whole: what is left, what was tried, how arms differ."""
    left = (moment.r * moment.open * moment.exists).max()
    arms, spent, slow, fast = xp.array(
        [moment.exists, s.steps, s.seen * (s.first < 0.05), s.seen * (s.first > 0.5)]
    ).sum(axis=1)
    count = xp.maximum(s.tried, 1.0)
    second = xp.where(s.cur < s.top - _TINY, s.cur, 0.0).max()
    return {
        "any_improvement": s.have,
        "log_left": xp.log1p(left) / 6.0,
        "log_left_trainings": xp.log1p(left / s.total) / 2.0,
        "log_spent": xp.log1p(spent) / 6.0,
        "spent_share": spent / (spent + left + 1.0),
        "log_tried": xp.log1p(s.tried) / 5.0,
        "tried_share": s.tried / xp.maximum(arms, 1.0),
        "log_untried": xp.log1p(s.fresh) / 6.0,
        "log_left_per_untried": xp.log1p(left / (s.fresh + 1.0)) / 4.0,
        "log_full_units": xp.log1p(s.total) / 6.0,
        "mean_improvement": s.mean[1],
        "mean_first_improvement": s.mean[0],
        "deviation_of_first_improvement": xp.sqrt(
            (s.apart[0] ** 2).sum() / xp.maximum(s.tried, _TINY)
        ),
        "log_gap_to_second": _log(xp, s.top - second),
        "share_slow_start": slow / count,
        "share_fast_start": fast / count,
        "longest_share": (s.steps * moment.exists).max() / s.total,
    }
