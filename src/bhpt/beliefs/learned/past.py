"""What the curves of some arms have shown, without a scale, and the features that follow from it.

Everything is relative to the best improvement seen so far, so a loss in nats, an error rate and a
negative reward look alike. Nothing here depends on what is left of the budget, on units in flight
or on names, so two networks that look at the same arms share it.

Notation:
    K  arms, T  units of a full training, n_k  units that arm k has had
    q_k(t)  improvement over the untrained loss after t units, best so far; q_k(0) = 0
    u = q / S, where S is the best improvement of all
"""

from dataclasses import dataclass
from typing import NamedTuple

from bhpt.beliefs.learned.array_types import Array, Named, Xp

TINY = 1e-9
_NOTHING = 1e-30  # the best improvement, as a loss, counts from here on
_SHARP = 1e-3  # differences of less than a thousandth of the best improvement look alike


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
        flying: 1 for arms with a unit in flight, whose loss is not known yet, [K].
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


class _Improved(NamedTuple):
    """Improvements in units of S.

    Attributes:
        seen: 1 for arms that have been tried, [K].
        passed: Whether arm k has had t units, [T + 1, K].
        u: Improvements, -1 where they are not known, [T + 1, K].
        cur: Of each arm now, 0 if untried, [K].
        first: Of each arm after its first unit, 0 if untried, [K].
    """

    seen: Array
    passed: Array
    u: Array
    cur: Array
    first: Array


class _Spread(NamedTuple):
    """How tried arms differ in `first` and in `cur`, in this order.

    Attributes:
        tried: How many there are.
        mean: Of the tried arms, [2].
        apart: What each lies from it, 0 if untried, [2, K].
        squares: Sums of the squares of `apart`, [2].
    """

    tried: Array
    mean: Array
    apart: Array
    squares: Array


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
    curves = _Improved(seen, passed, xp.where(passed, moment.q.T / scale, -1.0), cur, first)
    spread = _spread(xp, curves)
    rivals, better = _rivals(xp, n, curves)
    total, steps = 1.0 * moment.total, 1.0 * n
    top, have, spent = cur.max(), 1.0 * (best > _NOTHING), steps.sum()
    return Past(
        seen=seen,
        tried=spread.tried,
        cur=cur,
        first=first,
        gained=gained[2],
        better=better,
        top=top,
        have=have,
        steps=steps,
        total=total,
        apart=spread.apart,
        squares=spread.squares,
        spent=spent,
        arms={
            "log_units": xp.log1p(steps) / 4.0,
            "units_share": steps / total,
            "log_plateau": _plateau(xp, curves),
            **_standing(xp, curves, gained, top),
            **rivals,
            **_neighbours(xp, near, seen, spread.apart),
        },
        study={
            "any_improvement": have,
            "longest_share": (steps * moment.exists).max() / total,
            **_study(xp, curves, spread, spent, total),
        },
    )


def _spread(xp: Xp, s: _Improved) -> _Spread:
    """How tried arms differ."""
    tried = s.seen.sum()
    compared = xp.array([s.first, s.cur])
    mean = (compared * s.seen).sum(axis=1) / xp.maximum(tried, TINY)
    apart = (compared - mean[:, None]) * s.seen
    return _Spread(tried, mean, apart, (apart**2).sum(axis=1))


def _study(xp: Xp, s: _Improved, spread: _Spread, spent: Array, total: Array) -> Named:
    """How much was spent, and how the tried arms have begun and stand, all of them together.

    Args:
        xp: NumPy or JAX's twin of it.
        s: Improvements.
        spread: How tried arms differ.
        spent: Units of all arms.
        total: T.
    """
    tried, mean, _, squares = spread
    logs = xp.log1p(xp.array([spent, tried, total])) / xp.array([6.0, 5.0, 6.0])
    slow, fast = xp.array([s.seen * (s.first < 0.05), s.seen * (s.first > 0.5)]).sum(axis=1)
    count, top = xp.maximum(tried, 1.0), s.cur.max()
    return {
        "log_spent": logs[0],
        "log_tried": logs[1],
        "log_full_units": logs[2],
        "mean_improvement": mean[1],
        "mean_first_improvement": mean[0],
        "deviation_of_first_improvement": xp.sqrt(squares[0] / xp.maximum(tried, TINY)),
        "log_gap_to_second": _log_gap(xp, top - xp.where(s.cur < top - TINY, s.cur, 0.0).max()),
        "share_slow_start": slow / count,
        "share_fast_start": fast / count,
    }


def _standing(xp: Xp, s: _Improved, gained: Array, top: Array) -> Named:
    """How far each arm has come, beside the best, and how fast it improves.

    Args:
        xp: NumPy or JAX's twin of it.
        s: Improvements.
        gained: Since the unit before, in the last quarter and in the second half, [3, K].
        top: The highest u.
    """
    below_top, below_first = _log_gap(xp, xp.array([1.0 - s.cur, s.first.max() - s.first]))
    gains = _log_gap(xp, gained) * s.seen
    return {
        "tried": s.seen,
        "is_best": (s.cur >= top - TINY) * s.seen,
        "improvement": s.cur,
        "log_gap_to_best": below_top,
        "first_improvement": s.first,
        "log_gap_to_best_first": below_first * s.seen,
        "log_gain_last_unit": gains[0],
        "log_gain_last_quarter": gains[1],
        "log_gain_last_half": gains[2],
    }


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
    better = (s.u.take(n, axis=0) > s.cur[:, None] + TINY).sum(axis=1) / rivals  # of [K, K]
    counts = xp.log1p(xp.array([rivals, teachers])) / 4.0
    gained = clipped(xp, 0.0, xp.array([typical, most]), 1.0)
    return {
        "share_better": better,
        "log_gap_to_envelope": _log_gap(xp, envelope - s.cur) * s.seen,
        "log_rivals": counts[0],
        "log_rivals_beyond": counts[1],
        "typical_later_gain": gained[0],
        "largest_later_gain": gained[1],
        "improvement_with_typical_gain": clipped(xp, 0.0, s.cur + typical, 2.0) * s.seen,
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
    return xp.log1p((s.u >= s.cur - TINY).sum(axis=0)) / 4.0 * s.seen


def at(xp: Xp, table: Array, index: Array) -> Array:
    """table[k, index[.., k]] for every k."""
    return table[xp.arange(len(table)), index]


def _log_gap(xp: Xp, value: Array) -> Array:
    """A gap on a logarithmic scale: 0 at 1, -1 below a thousandth."""
    return xp.log10(xp.maximum(value, 0.0) + _SHARP) / 3.0


def clipped(xp: Xp, low: float, value: Array, high: float) -> Array:
    """What `clip` does; NumPy's takes several times as long for so few numbers."""
    return xp.minimum(xp.maximum(value, low), high)
