"""The inputs of the learned networks: features of each arm and of the study, without a scale.

They follow from what the curves have shown (`past`), from how the configurations lie (`geometry`)
and from what is left of the budget. The same functions run under NumPy for one decision and under
JAX, mapped over thousands of studies at once, where the policy is trained (`benchmarks/policy`):
`xp` is the one or the other.

Notation:
    K  arms, T  units of a full training, n_k  units that arm k has had
    q_k(t)  improvement over the untrained loss after t units, best so far; q_k(0) = 0
    u = q / S, where S is the best improvement of all
    r_k  units that what is left would buy arm k, its last unit aside
"""

from operator import itemgetter
from typing import NamedTuple

from bhpt.beliefs.learned.array_types import Array, Named, Xp
from bhpt.beliefs.learned.geometry import Geometry
from bhpt.beliefs.learned.past import TINY, Moment, Past, clipped, past_of
from bhpt.beliefs.learned.schema import ARM_FEATURES, STUDY_FEATURES

NOISE = 0.1  # variance of what an arm shows, beside a kernel of height 1

_arm_order, _study_order = itemgetter(*ARM_FEATURES), itemgetter(*STUDY_FEATURES)


class Present(NamedTuple):
    """What arms can still do with what is left, whatever names tell.

    Attributes:
        untried: 1 for arms that have not been tried and can be, [K].
        fresh: How many these are.
        shown: What tried arms have shown: their first unit, how far they are, the part of the
            others that was not better, and a guess of their end; 0 if untried, [4, K].
        arms: Features of arms that follow, by name, [K] each.
        study: Features of the study that follow, by name.
    """

    untried: Array
    fresh: Array
    shown: Array
    arms: Named
    study: Named


def features(
    xp: Xp,
    moment: Moment,
    shape: Geometry,
    past: Past | None = None,
    present: Present | None = None,
) -> tuple[Array, Array]:
    """Features of every arm, [K, F], and of the study, [G], in the order of `schema`.

    One decision is a hundred and more operations on arrays of a hundred numbers, and under NumPy
    the calls take the time: numbers that are treated alike are so together, as rows of an array.

    Args:
        xp: NumPy or JAX's twin of it.
        moment: The moment.
        shape: How the configurations lie, and what names tell.
        past: `past_of` the moment, if it is there already.
        present: `present_of` the moment, likewise.
    """
    p = past_of(xp, moment, shape.near) if past is None else past
    now = present_of(xp, moment, p) if present is None else present
    expected, behind = _expected(xp, moment, shape, p, now)
    named = {
        **p.arms,
        **now.arms,
        **expected,
        **_opinions(xp, moment, shape, p, behind),
        "latest": moment.last,
        "in_flight": moment.flying,
        "log_workers": xp.log2(1.0 * moment.workers) / 3.0 * moment.exists,
    }
    arms = clipped(xp, -3.0, xp.array(_arm_order(named)), 3.0) * moment.exists
    study = xp.array(_study_order({**p.study, **now.study}))
    return arms.T, clipped(xp, -3.0, study, 3.0)


def present_of(xp: Xp, moment: Moment, p: Past) -> Present:
    """What arms can still do with what is left, and the features that follow from it.

    Args:
        xp: NumPy or JAX's twin of it.
        moment: The moment; of it `exists`, `open`, `n` and `r`.
        p: What the curves have shown.
    """
    untried = moment.exists * moment.open * (moment.n == 0)
    fresh = untried.sum()
    slow, ahead = _ahead(xp, moment, p)
    shown = xp.array([p.first, p.cur, 0.5 - p.better, clipped(xp, 0.0, slow, 2.0)]) * p.seen
    arms = {**ahead, "can_run": moment.open, "untried": untried}
    return Present(untried, fresh, shown, arms, _left(xp, moment, p, fresh))


def _ahead(xp: Xp, moment: Moment, p: Past) -> tuple[Array, Named]:
    """The slower of two guesses of where each arm ends, [K]; and how far it can still go."""
    units = xp.maximum(xp.minimum(moment.r, p.total - p.steps), 0.0)
    horizon, further, bought = xp.log1p(xp.array([units, units / (p.steps + 1.0), moment.r]))
    doublings = xp.log2((p.steps + units + TINY) / xp.maximum(p.steps, 1.0))
    ahead = p.gained * doublings  # nothing if untried
    slow = p.cur + 0.5 * ahead
    guesses = xp.maximum(xp.array([p.cur + ahead, slow]), 0.0)
    return slow, {
        "log_horizon": horizon / 4.0,
        "horizon_share": units / p.total,
        "log_horizon_by_units": further / 4.0,
        "log_units_bought": bought / 6.0,
        "extrapolated_fast": guesses[0],
        "extrapolated_slow": guesses[1],
    }


def _expected(
    xp: Xp, moment: Moment, shape: Geometry, p: Past, now: Present
) -> tuple[Named, Array]:
    """What a Gaussian process expects of each arm, given what tried arms have shown, [4, K].

    Its mean of anything that they show is linear in it: P y / σ². Beside it: by how much each arm
    falls behind the best opinion of those that can be tried, [K].
    """
    expected = now.shown @ moment.covariance * (p.have / NOISE)
    values = xp.concatenate([expected, shape.standard[None, :]])
    highest = xp.where(now.untried > 0, values, -1e3).max(axis=1) * (now.fresh > 0)
    behind = highest[:, None] - values
    left = xp.maximum(moment.covariance.diagonal(), 0.0)
    expected = clipped(xp, -2.0, expected, 2.0)
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
    mean = (shape.standard * p.seen).sum() / xp.maximum(p.tried, TINY)
    standard = (shape.standard - mean) * p.seen
    alike = (p.apart * standard).sum(axis=1) / xp.sqrt(p.squares * (standard**2).sum() + TINY)
    first, cur = alike * p.tried / (p.tried + 4.0)
    end, top, early, spread = 3.0 * shape.opinion.T
    whole = xp.array([3.0 * shape.certainty, first, cur])[:, None] * moment.exists
    return {
        "opinion_end": end,
        "opinion_top": top,
        "opinion_early": early,
        "opinion_spread": spread,
        "opinion_standard": shape.standard,
        "behind_best_opinion": behind,
        "opinion_certainty": whole[0],
        "opinion_agrees_with_first": whole[1],
        "opinion_agrees_with_now": whole[2],
    }


def _left(xp: Xp, moment: Moment, p: Past, fresh: Array) -> Named:
    """The study as a whole: what is left of the budget, and for how many arms."""
    left = (moment.r * moment.open * moment.exists).max()
    logs = xp.log1p(xp.array([left, left / p.total, fresh, left / (fresh + 1.0)]))
    logs = logs / xp.array([6.0, 2.0, 6.0, 4.0])
    return {
        "log_left": logs[0],
        "log_left_trainings": logs[1],
        "spent_share": p.spent / (p.spent + left + 1.0),
        "tried_share": p.tried / xp.maximum(moment.exists.sum(), 1.0),
        "log_untried": logs[2],
        "log_left_per_untried": logs[3],
    }
