"""Curves that rise after their record: what the networks, which see records alone, are not told.

An arm that has not improved for a while may wobble about a plateau, or its loss may rise from epoch
to epoch because it overfits. To the networks both look the same. Whether losses since the record
tend upwards is a question of their order: Kendall's score counts pairs in which the later loss is
higher, less pairs in which it is lower, in units of its deviation were the order random. For each
such unit the odds of a new record fall by a constant factor.

Notation:
    K  arms, R  arms looked at, V  visited arms, m  epochs since the record
    z = (pairs that rise - pairs that fall) / √(m (m - 1) (2 m + 5) / 18)
"""

import numpy as np

from bhpt.domain import Curves, FloatArray, IntArray, Slot, View

LOG_ODDS = 0.55
"""The logarithm of the odds of a new record falls by so much for each unit of z: a logistic
regression on 272 tables of 13 kinds, by predictors that had met none of the kind of their table
(0.62 with 153 more)."""

_LATEST = 50  # epochs since the record that are compared


def rises(view: View, arms: IntArray) -> FloatArray:
    """How far the curves of some arms rise, z; 0 for untried ones and at the record, [R]."""
    by_arm = np.zeros(view.arms)
    by_arm[view.curves.visited] = view.memory.recall(_RISES, (), _Rises).of(view.curves)
    return by_arm[arms]


def less_likely(chances: FloatArray, z: FloatArray) -> FloatArray:
    """Chances of bins of further improvement, the first for none, given how curves rise, [R, bins].

    Args:
        chances: Of curves whose order since the record is random, [R, bins].
        z: How they rise, [R].
    """
    none = chances[:, 0]
    odds = np.exp(-LOG_ODDS * z)
    whole = none + (1 - none) * odds
    made: FloatArray = chances * (odds / whole)[:, None]
    made[:, 0] = none / whole
    return made


def kendall_score(losses: FloatArray) -> float:
    """Kendall's z of consecutive losses; pairs with one that is no number do not count."""
    count = len(losses)
    if count < 2:
        return 0.0
    earlier, later = losses[:, None], losses[None, :]
    score = int(np.triu(later > earlier).sum()) - int(np.triu(later < earlier).sum())
    return score / float(np.sqrt(count * (count - 1) * (2 * count + 5) / 18))


def since_record(losses: FloatArray) -> FloatArray:
    """The losses after the lowest one; the latest of them if there are many."""
    known = np.where(np.isfinite(losses), losses, np.inf)
    return losses[int(known.argmin()) + 1 :][-_LATEST:]


class _Rises:
    """z of all visited arms, followed from report to report.

    Only arms whose curves have become longer are computed anew; results do not depend on earlier
    calls.
    """

    def __init__(self) -> None:
        self._record: object = None
        self._counts = np.zeros(0, np.int64)
        self._scores = np.zeros(0)

    def of(self, curves: Curves) -> FloatArray:
        """How far each curve rises: z, [V]."""
        if curves.record is self._record and curves.counts is self._counts:
            return self._scores
        rows = len(curves.visited)
        before = np.zeros(rows, np.int64)
        scores = np.zeros(rows)
        if curves.record is self._record:
            shared = min(rows, len(self._counts))
            before[:shared], scores[:shared] = self._counts[:shared], self._scores[:shared]
        for row in np.flatnonzero(curves.counts != before):
            scores[row] = kendall_score(since_record(curves.losses[row, : curves.counts[row]]))
        self._record, self._counts, self._scores = curves.record, curves.counts, scores
        return scores


_RISES: Slot[_Rises] = Slot("rises of curves", whole=True)
