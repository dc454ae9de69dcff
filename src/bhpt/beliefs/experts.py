"""Predicted ranks of the arms by several experts, weighted by how well each has ranked them so far.

An expert needs no training of the arms. There are networks that read names and ranges, closeness to
documented defaults, closeness to the middle of the user's ranges, and the user's earlier studies.
Each predicts a rank of every arm; their weighted sum is used, at weights that are fixed unless
there are earlier studies. Then the study shows how the tried arms rank, and the experts' weights
follow by Bayesian linear regression, in closed form:

    y = Xᵀ b + noise,   b_e ~ N(m_e, s_e²),   noise ~ N(0, σ²)
    b = (S⁻¹ + X Xᵀ / σ²)⁻¹ (S⁻¹ m + X y / σ²),   negative weights count as 0

so an expert that misleads loses weight as looks show it, one that is right gains, and of two that
agree one is enough.

Networks and earlier studies both expect ranks, and the one that tells arms further apart knows
more, so it leads from the start. Networks say only a part of what they have learned of names, in
case these mislead, and said twice as much when p was chosen; so `v_n` is the variance of twice what
they say. Where names mean nothing to the networks earlier studies lead, where they are well known
the networks:

    m_networks = 0.9 p,   m_earlier = 0.6 (1 - p),   p = v_n⁸ / (v_n⁸ + v_e⁸)

What earlier studies expect lies close together, since they know little of each arm. It is spread
to ranks before it is weighed (`from_ranks`), to all of them where its deviation is what three
studies of a space usually give: so the policy tries first what they place first, and looks soon
show whether that was right. `v_e` is the variance before that spread.

Notation:
    K  arms, V  observations, E  experts, X  what experts expected, y  what came
    v  variance over arms of the ranks that an expert expects, n  networks, e  earlier studies
"""

from dataclasses import dataclass

import numpy as np

from bhpt.domain import Curves, FloatArray, IntArray
from bhpt.spaces.tokens import column

EXPERTS = ("reader", "documented", "middle", "earlier")
"""The experts, in their order."""
_PRIOR_MEAN = np.array([0.90, 0.05, 0.05, 0.00])
_PRIOR_DEVIATION = np.array([0.35, 0.15, 0.10, 0.25])
_READER, _EARLIER = EXPERTS.index("reader"), EXPERTS.index("earlier")
_EARLIER_ALONE = 0.60  # the weight of earlier studies where networks know nothing
_TOLD = 0.17  # deviation of the ranks that three studies of a space usually expect
_SHARPNESS = 8  # of p: how soon the one that knows more leads alone
_LOUDER = 2.0  # times what networks say of names: what they said when p was chosen
_NOISE = 0.25  # deviation of what an arm shows from what experts expected, in ranks
_MOST = np.array([1.5, 1.0, 1.0, 1.5])  # no expert is trusted more than this
_LATER = 3  # arms that must have come further than the first unit before that counts
_TINY = 1e-9
# from a standardised score to the rank at the end, being among the best, and the early rank
_AS_RANKS = np.array([0.289, 0.142, 0.289])
_END, _EARLY = 0, 2  # columns of opinions


@dataclass(frozen=True, eq=False)
class Standing:
    """How some arms rank after as many units each.

    Attributes:
        arms: Which, [V].
        ranks: Best 1/2, worst -1/2, about 0, [V].
        early: Whether that is after their first unit.
    """

    arms: IntArray
    ranks: FloatArray
    early: bool

    def of(self, place: IntArray) -> "Standing":
        """The same of those arms that have a place, by their places.

        Args:
            place: Where each arm is, negative where it has none, [K].
        """
        at = place[self.arms]
        return Standing(at[at >= 0], self.ranks[at >= 0], self.early)


@dataclass(frozen=True, eq=False)
class Advice:
    """The predictions of every expert for some arms, and the experts' weights.

    Attributes:
        arms: Which, [R].
        ranks: The rank at the end that each expert expects of each, best highest, [E, R].
        trust: In each expert, [E].
        agreement: Correlation of what each expected with how the tried arms rank, as late as
            several have come; NaN for fewer than three of them, [E].
        shown: How many tried arms that is.
    """

    arms: IntArray
    ranks: FloatArray
    trust: FloatArray
    agreement: FloatArray
    shown: int


def advice(
    arms: IntArray, opinions: FloatArray, trust: FloatArray, shown: list[Standing]
) -> Advice:
    """The experts' part of an explanation.

    Args:
        arms: Which, [R].
        opinions: Of each expert about each of them, [E, R, OPINIONS].
        trust: In each expert, [E].
        shown: How the tried ones of them rank, by their places.
    """
    latest = shown[-1] if shown else Standing(arms[:0], np.zeros(0), early=True)
    expected = opinions[:, latest.arms, _EARLY if latest.early else _END]
    agreed = np.array([_correlation(one, latest.ranks) for one in expected])
    return Advice(arms, opinions[:, :, _END], trust, agreed, len(latest.arms))


def _correlation(expected: FloatArray, ranks: FloatArray) -> float:
    """Correlation of ranks; NaN for fewer than three arms or if one side says nothing."""
    predicted = _ranks(expected) if len(expected) else expected
    if len(predicted) < _LATER or predicted.std() < _TINY or ranks.std() < _TINY:
        return float("nan")
    return float(np.corrcoef(predicted, ranks)[0, 1])


def from_scores(scores: FloatArray) -> FloatArray:
    """Opinions of an expert that only scores arms, [K, OPINIONS].

    Args:
        scores: Higher for better arms, [K].
    """
    apart = scores - scores.mean() if len(scores) else scores
    deviation = float(np.sqrt((apart**2).mean())) if len(scores) else 0.0
    found = np.zeros((len(scores), len(_AS_RANKS) + 1))
    if deviation > _TINY:
        found[:, :-1] = (apart / deviation)[:, None] * _AS_RANKS
    return found


def from_ranks(ranks: FloatArray) -> FloatArray:
    """Opinions of an expert that predicts ranks, the surer the farther they are from 0.

    Expectations lie closer together than ranks do, so they are replaced by their ranks, in full
    where they are as far apart as those of an expert that knows a space usually are.

    Args:
        ranks: Expected rank of each arm, about 0, [K]; their mean over arms is ignored.

    Returns:
        [K, OPINIONS]
    """
    found = np.zeros((len(ranks), len(_AS_RANKS) + 1))
    deviation = float(ranks.std()) if len(ranks) else 0.0
    if deviation > _TINY:
        spread = min(deviation / _TOLD, 1.0) * _ranks(ranks)
        found[:, :-1] = spread[:, None] * _AS_RANKS / _AS_RANKS[_END]
    return found


def closeness_to_defaults(tokens: FloatArray) -> FloatArray:
    """Minus the squared distances from documented defaults, in units of each range, [K]."""
    return -np.asarray(tokens[:, :, column("from_default_squared")].sum(axis=1))


def closeness_to_middle(tokens: FloatArray) -> FloatArray:
    """Minus the squared distances from the middle of each range, [K]."""
    return -np.asarray(tokens[:, :, column("from_middle_squared")].sum(axis=1))


def standings(curves: Curves, unit: int) -> list[Standing]:
    """How the tried arms rank: after their first unit, and as late as several have come.

    The second is after as many epochs as a quarter of them have had, three at least.
    """
    if len(curves.visited) < 2:
        return []
    found = [_standing(curves, unit, early=True)]
    counts = np.sort(curves.counts)[::-1]
    several = max(_LATER, len(counts) // 4)
    if len(counts) >= several and counts[several - 1] > unit:
        found.append(_standing(curves, int(counts[several - 1]), early=False))
    return found


def _standing(curves: Curves, epochs: int, early: bool) -> Standing:
    """How arms rank that have had so many epochs, by their best loss within these."""
    rows = np.flatnonzero(curves.counts >= epochs)
    losses = curves.losses[rows, :epochs]
    best = np.where(np.isfinite(losses), losses, np.inf).min(axis=1, initial=np.inf)
    return Standing(curves.visited[rows], _ranks(-best), early)


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks about 0 within -1/2 and 1/2, those of equal values averaged, [V]."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count + 1) / 2 + 0.5)[place] / len(values) - 0.5)


def prior_mean(opinions: FloatArray) -> FloatArray:
    """How far each expert is trusted before anything is shown, [E].

    Of networks and earlier studies the one leads that tells arms further apart.
    """
    by_names, earlier = opinions[[_READER, _EARLIER], :, _END].var(axis=1)
    if not earlier > 0:
        return _PRIOR_MEAN
    known = earlier * (_TOLD / _AS_RANKS[_END]) ** 2  # before `from_ranks` spread it
    by_names *= _LOUDER**2
    share = by_names**_SHARPNESS / (by_names**_SHARPNESS + known**_SHARPNESS)
    mean = _PRIOR_MEAN.copy()
    mean[_READER] *= share
    mean[_EARLIER] = _EARLIER_ALONE * (1.0 - share)
    return mean


def weights(opinions: FloatArray, shown: list[Standing]) -> FloatArray:
    """How far each expert is trusted after what was shown, [E].

    Args:
        opinions: Of each expert about each arm, [E, K, OPINIONS].
        shown: How tried arms rank.
    """
    precision = np.diag(_PRIOR_DEVIATION**-2)
    evidence = prior_mean(opinions) * _PRIOR_DEVIATION**-2
    for standing in shown:
        expected = opinions[:, standing.arms, _EARLY if standing.early else _END]
        if not len(standing.arms):
            continue
        expected = expected - expected.mean(axis=1, keepdims=True)
        precision = precision + expected @ expected.T / _NOISE**2
        evidence = evidence + expected @ (standing.ranks - standing.ranks.mean()) / _NOISE**2
    return np.clip(np.linalg.solve(precision, evidence), 0.0, _MOST)


def combined(opinions: FloatArray, trust: FloatArray) -> FloatArray:
    """The opinion of all experts together, [K, OPINIONS].

    Args:
        opinions: Of each expert about each arm, [E, K, OPINIONS].
        trust: In each expert, [E].
    """
    return np.asarray(np.tensordot(trust, opinions, axes=1))
