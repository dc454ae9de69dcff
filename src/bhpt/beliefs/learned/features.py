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


class Layout(NamedTuple):
    """How configurations lie.

    Attributes:
        near: Weights of neighbours by width, without an arm's own, [2, K, K].
        prior: Prior covariance of what arms are like, before names count, [K, K].
    """

    near: Array
    prior: Array


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
class Past:
    """What the curves of some arms have shown, relative to the best of them.

    Nothing in it depends on what is left of the budget, on units in flight or on what names tell,
    so two networks that look at the same arms share it.

    Attributes:
        seen: 1 for arms that have been tried, [K].
        tried: How many have been.
        cur: u of each arm now, 0 if untried, [K].
        first: u of each arm after its first unit, 0 if untried, [K].
        gained: What each arm has gained in the second half of its units, 0 if untried, [K].
        better: The part of the others that were better when they had had as much, [K].
        top: The highest of `cur`.
        have: 1 if anything has improved, else 0.
        steps: Units that each arm has had, as floats, [K].
        total: T, as a float.
        apart: What `first` and `cur` of tried arms lie from their means, 0 if untried, [2, K].
        squares: Sums of the squares of `apart`, [2].
        spent: Units of all arms.
        arms: Features of arms that follow from these, by name, [K] each.
        study: Features of the study that follow from these, by name.
    """

    seen: Array
    tried: Array
    cur: Array
    first: Array
    gained: Array
    better: Array
    top: Array
    have: Array
    steps: Array
    total: Array
    apart: Array
    squares: Array
    spent: Array
    arms: Named
    study: Named


class _Present(NamedTuple):
    """What arms can still do.

    Attributes:
        untried: 1 for arms that have not been tried and can be, [K].
        fresh: How many these are.
        horizon: Units that each arm can still have, [K].
    """

    untried: Array
    fresh: Array
    horizon: Array


class _Improved(NamedTuple):
    """Improvements in units of S.

    Attributes:
        seen: 1 for arms that have been tried, [K].
        passed: Whether arm k has had t units, [T + 1, K].
        u: Improvements, -1 where they are not known, [T + 1, K].
        cur: Of each arm now, 0 if untried, [K].
    """

    seen: Array
    passed: Array
    u: Array
    cur: Array


def geometry(xp: Xp, x: Array, exists: Array, used: Array, said: Array) -> Geometry:
    """Neighbourhoods of configurations, and what is said of them.

    Args:
        xp: NumPy or JAX's twin of it.
        x: Encoded configurations, [K, D].
        exists: 1 for arms, 0 for padding, [K].
        used: 1 for columns that hold a feature, 0 for padding, [D].
        said: What is expected of each arm, 0 where nothing is, [K, OPINIONS].
    """
    return judged(xp, layout(xp, x, exists, used), exists, said)


def layout(xp: Xp, x: Array, exists: Array, used: Array) -> Layout:
    """How configurations lie, whatever is said of them; the arguments are those of `geometry`."""
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
    prior = _CONSTANT + 0.5 * additive + 0.5 * xp.exp(-relative / _NEAR[1] ** 2)
    return Layout(near, prior)


def judged(xp: Xp, lie: Layout, exists: Array, said: Array) -> Geometry:
    """Configurations with what is said of them; the arguments are those of `geometry`."""
    count = xp.maximum(exists.sum(), 1.0)
    expected = said[:, :-1]
    expected = (expected - (expected * exists[:, None]).sum(axis=0) / count) * exists[:, None]
    opinion = xp.concatenate([expected, said[:, -1:] * exists[:, None]], axis=1)
    sure = xp.sqrt((opinion[:, 0] ** 2).sum() / count)
    liked = opinion[:, 0] / (sure + UNSURE)
    prior = lie.prior + _AGREES * liked[:, None] * liked[None, :]
    return Geometry(lie.near, prior, opinion, liked, sure)


def at(xp: Xp, table: Array, index: Array) -> Array:
    """table[k, index[.., k]] for every k."""
    return table[xp.arange(len(table)), index]


def _log(xp: Xp, value: Array) -> Array:
    """Small and large gaps told apart alike: 0 at 1, -1 below a thousandth."""
    return xp.log10(xp.maximum(value, 0.0) + _SHARP) / 3.0


def _within(xp: Xp, low: float, value: Array, high: float) -> Array:
    """What `clip` does; NumPy's takes several times as long for so few numbers."""
    return xp.minimum(xp.maximum(value, low), high)


def features(
    xp: Xp, moment: Moment, shape: Geometry, past: Past | None = None
) -> tuple[Array, Array]:
    """Features of every arm, [K, F], and of the study, [G], in the order of `schema`.

    One decision is a hundred and more operations on arrays of a hundred numbers, and under NumPy
    the calls take the time: numbers that are treated alike are so together, as rows of an array.

    Args:
        xp: NumPy or JAX's twin of it.
        moment: The moment.
        shape: How the configurations lie, and what names tell.
        past: `past_of` the moment, for whoever has it already.
    """
    p = past_of(xp, moment, shape.near) if past is None else past
    untried = moment.exists * moment.open * (moment.n == 0)
    horizon = xp.maximum(xp.minimum(moment.r, p.total - p.steps), 0.0)
    now = _Present(untried, untried.sum(), horizon)
    slow, ahead = _ahead(xp, moment, p, now)
    shown = xp.array([p.first, p.cur, 0.5 - p.better, _within(xp, 0.0, slow, 2.0)]) * p.seen
    expected, behind = _expected(xp, moment, shape, p, now, shown)
    named = {
        **p.arms,
        **ahead,
        **expected,
        **_opinions(xp, moment, shape, p, behind),
        "can_run": moment.open,
        "latest": moment.last,
        "untried": untried,
        "in_flight": moment.flying,
        "log_workers": xp.log2(1.0 * moment.workers) / 3.0 * moment.exists,
    }
    arms = _within(xp, -3.0, xp.array(_arm_order(named)), 3.0) * moment.exists
    study = xp.array(_study_order({**p.study, **_left(xp, moment, p, now)}))
    return arms.T, _within(xp, -3.0, study, 3.0)


def past_of(xp: Xp, moment: Moment, near: Array) -> Past:
    """What the curves have shown, and the features that follow from it alone.

    Args:
        xp: NumPy or JAX's twin of it.
        moment: The moment; of it `q`, `n`, `total` and `exists`.
        near: Weights of neighbours by width, [2, K, K].
    """
    n = moment.n
    seen = moment.exists * (n > 0)
    once = xp.minimum(n, 1)
    ago = xp.array([n, once, n - once, n - xp.maximum(n // 4, once), n // 2])
    improved = at(xp, moment.q, ago) * seen
    best = improved[0].max()
    scale = xp.maximum(best, _NOTHING)
    cur, first, *before = improved / scale
    gained = cur - xp.array(before)
    passed = xp.arange(moment.q.shape[1])[:, None] <= xp.where(seen > 0, n, -1)
    total, steps, tried = 1.0 * moment.total, 1.0 * n, seen.sum()
    compared = xp.array([first, cur])
    mean = (compared * seen).sum(axis=1) / xp.maximum(tried, _TINY)
    apart = (compared - mean[:, None]) * seen
    squares = (apart**2).sum(axis=1)
    top, have = cur.max(), 1.0 * (best > _NOTHING)
    curves = _Improved(seen, passed, xp.where(passed, moment.q.T / scale, -1.0), cur)
    rivals, better = _rivals(xp, n, curves)
    below_top, below_first = _log(xp, xp.array([1.0 - cur, first.max() - first]))
    gains = _log(xp, gained) * seen
    spent, slow, fast = xp.array([steps, seen * (first < 0.05), seen * (first > 0.5)]).sum(axis=1)
    count = xp.maximum(tried, 1.0)
    second = xp.where(cur < top - _TINY, cur, 0.0).max()
    logs = xp.log1p(xp.array([spent, tried, total])) / xp.array([6.0, 5.0, 6.0])
    return Past(
        seen=seen,
        tried=tried,
        cur=cur,
        first=first,
        gained=gained[2],
        better=better,
        top=top,
        have=have,
        steps=steps,
        total=total,
        apart=apart,
        squares=squares,
        spent=spent,
        arms={
            "tried": seen,
            "is_best": (cur >= top - _TINY) * seen,
            "log_units": xp.log1p(steps) / 4.0,
            "units_share": steps / total,
            "improvement": cur,
            "log_gap_to_best": below_top,
            "first_improvement": first,
            "log_gap_to_best_first": below_first * seen,
            "log_gain_last_unit": gains[0],
            "log_gain_last_quarter": gains[1],
            "log_gain_last_half": gains[2],
            "log_plateau": _plateau(xp, curves),
            **rivals,
            **_neighbours(xp, near, seen, apart),
        },
        study={
            "any_improvement": have,
            "log_spent": logs[0],
            "log_tried": logs[1],
            "log_full_units": logs[2],
            "mean_improvement": mean[1],
            "mean_first_improvement": mean[0],
            "deviation_of_first_improvement": xp.sqrt(squares[0] / xp.maximum(tried, _TINY)),
            "log_gap_to_second": _log(xp, top - second),
            "share_slow_start": slow / count,
            "share_fast_start": fast / count,
            "longest_share": (steps * moment.exists).max() / total,
        },
    )


def _rivals(xp: Xp, n: Array, s: _Improved) -> tuple[Named, Array]:
    """Each arm beside the others when they had had as much; and the part that was better, [K].

    What others had reached and gained since then is the same for all arms with t units.
    """
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


def _neighbours(xp: Xp, near: Array, seen: Array, apart: Array) -> Named:
    """How arms with configurations like an arm's have done."""
    found = xp.array([seen, apart[1], apart[0]]) @ near  # symmetric, [2, 3, K]
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


def _plateau(xp: Xp, s: _Improved) -> Array:
    """For how long each arm has not improved, [K]."""
    return xp.log1p((s.u >= s.cur - _TINY).sum(axis=0)) / 4.0 * s.seen


def _ahead(xp: Xp, moment: Moment, p: Past, now: _Present) -> tuple[Array, Named]:
    """The slower of two guesses of where each arm ends, [K]; and how far it can still go."""
    horizon, further, bought = xp.log1p(
        xp.array([now.horizon, now.horizon / (p.steps + 1.0), moment.r])
    )
    doublings = xp.log2((p.steps + now.horizon + _TINY) / xp.maximum(p.steps, 1.0))
    ahead = p.gained * doublings  # nothing if untried
    slow = p.cur + 0.5 * ahead
    guesses = xp.maximum(xp.array([p.cur + ahead, slow]), 0.0)
    return slow, {
        "log_horizon": horizon / 4.0,
        "horizon_share": now.horizon / p.total,
        "log_horizon_by_units": further / 4.0,
        "log_units_bought": bought / 6.0,
        "extrapolated_fast": guesses[0],
        "extrapolated_slow": guesses[1],
    }


def _expected(
    xp: Xp, moment: Moment, shape: Geometry, p: Past, now: _Present, shown: Array
) -> tuple[Named, Array]:
    """What a Gaussian process expects of each arm, given what tried arms have shown, [4, K].

    Its mean of anything that they show is linear in it: P y / σ². Beside it: by how much each arm
    is liked less than the best liked of those that can be tried, [K].
    """
    expected = shown @ moment.covariance * (p.have / NOISE)
    values = xp.concatenate([expected, shape.liked[None, :]])
    highest = xp.where(now.untried > 0, values, -1e3).max(axis=1) * (now.fresh > 0)
    behind = highest[:, None] - values
    left = xp.maximum(moment.covariance.diagonal(), 0.0)
    expected = _within(xp, -2.0, expected, 2.0)
    return {
        "expected_first": expected[0],
        "behind_best_expected_first": behind[0],
        "prior_spread_left": xp.sqrt(left / shape.prior.diagonal()),
        "expected_improvement": expected[1],
        "behind_best_expected_improvement": behind[1],
        "expected_rank": expected[2],
        "behind_best_expected_rank": behind[2],
        "expected_extrapolation": expected[3],
        "above_expected_improvement": p.cur - expected[1] * p.seen,
    }, behind[4]


def _opinions(xp: Xp, moment: Moment, shape: Geometry, p: Past, behind: Array) -> Named:
    """What was expected of each arm, and whether what has been seen agrees.

    That is the correlation over the arms that were tried, less sure where these are few.
    """
    mean = (shape.liked * p.seen).sum() / xp.maximum(p.tried, _TINY)
    liked = (shape.liked - mean) * p.seen
    alike = (p.apart * liked).sum(axis=1) / xp.sqrt(p.squares * (liked**2).sum() + _TINY)
    first, cur = alike * p.tried / (p.tried + 4.0)
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


def _left(xp: Xp, moment: Moment, p: Past, now: _Present) -> Named:
    """The study as a whole: what is left of the budget, and for how many arms."""
    left = (moment.r * moment.open * moment.exists).max()
    logs = xp.log1p(xp.array([left, left / p.total, now.fresh, left / (now.fresh + 1.0)]))
    logs = logs / xp.array([6.0, 2.0, 6.0, 4.0])
    return {
        "log_left": logs[0],
        "log_left_trainings": logs[1],
        "spent_share": p.spent / (p.spent + left + 1.0),
        "tried_share": p.tried / xp.maximum(moment.exists.sum(), 1.0),
        "log_untried": logs[2],
        "log_left_per_untried": logs[3],
    }
