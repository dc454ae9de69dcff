"""Commit to the leader, or look at a few other arms once first: priced on draws of whole curves.

Once the leader needs all that is left, every unit for another arm is taken from it. A look shows
how one more arm begins; whether it is worth its unit depends on how much that says of the end, and
on how much the leader would have gained by the unit. Both are read off joint draws of all curves,
whatever their distribution: no Gaussian stands for them.

Notation:
    ĉ      the leader       a  the other arms, the most promising first      ζ  best loss so far
    S      draws            T  epochs of a full training
    r_k    units left after k looks, one unit for each of the first k others
    e_a(u) lowest loss of arm a after u more units, in a draw; never above ζ
    g_a    E[e_a(1 + r_k) | e_a(1)], by least squares over the draws (Longstaff and Schwartz)
    â      argmin of E e_ĉ(r_k) and g_a, a ≤ k: whom a draw commits to after its looks
    V_k = E min{e_â, min_{a ≤ k} e_a(1)},  V_0 = E e_ĉ(r_0),  C_k = E e_ĉ(r_k)
    W_k = C_k - t (C_k - V_k): t is the part of what looks promise that counts
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from bhpt.domain import FloatArray, IntArray, View

MOST = 6  # looks that are priced together
_DRAWS = 256
_FEWEST = 16
_CELLS = 2**23  # of draws, arms and epochs together: 64 megabytes


def draws_of(arms: int, epochs: int) -> int:
    """How many draws of whole curves of so many arms are priced: fewer of very long ones."""
    return int(np.clip(_CELLS // (arms * (epochs + 1)), _FEWEST, _DRAWS))


def price_looks(view: View, paths: FloatArray, arms: IntArray, trust: float) -> FloatArray:
    """W_k for k = 0 (commit now) up to all others, [A]; infinite where nothing is left after k.

    Args:
        view: The moment.
        paths: Draws of the lowest loss of each of the arms after each epoch, [S, A, T + 1].
        arms: ĉ, then the others, the most promising first, [A].
        trust: t.
    """
    lowest = _lowest(view, paths, arms)
    seen = [lowest(place, 1) for place in range(len(arms))]
    worth = np.full(len(arms), np.inf)
    worth[0] = lowest(0, int(view.horizon[arms[0]])).mean()
    for k in range(1, len(arms)):
        rest = view.affordable(view.left_after(float(view.costs[arms[1 : k + 1]].sum())))[arms]
        if rest[0] < 1:
            break
        leader = lowest(0, int(rest[0]))
        ends = np.stack([leader, *(lowest(a, 1 + int(rest[a])) for a in range(1, k + 1))])
        guesses = [np.full(len(leader), leader.mean())]
        guesses += [expected_given(ends[a], seen[a]) for a in range(1, k + 1)]
        reached = np.take_along_axis(ends, np.stack(guesses).argmin(axis=0)[None], axis=0)[0]
        value = np.minimum(reached, np.min(seen[1 : k + 1], axis=0)).mean()
        worth[k] = leader.mean() - trust * (leader.mean() - value)
    return worth


def _lowest(view: View, paths: FloatArray, arms: IntArray) -> Callable[[int, int], FloatArray]:
    """e_a(u) as a function of an arm's place and of units, [S]."""
    counts = view.curves.count_by_arm[arms]
    last = paths.shape[2] - 1

    def lowest(place: int, units: int) -> FloatArray:
        column = min(int(counts[place]) + units * view.unit, last)
        return np.minimum(paths[:, place, column], view.curves.best)

    return lowest


def expected_given(ends: FloatArray, seen: FloatArray) -> FloatArray:
    """E[end | what is seen], a quadratic of the normal scores of what is seen, fitted, [S].

    Only the order of what is seen counts, so that no scale of losses is assumed.
    """
    size = len(seen)
    ranks = np.empty(size)
    ranks[np.argsort(seen, kind="stable")] = np.arange(size)
    scores = ndtri((ranks + 0.5) / size)
    basis = np.stack([np.ones(size), scores, scores**2], axis=1)
    fitted: FloatArray = basis @ np.linalg.lstsq(basis, ends, rcond=None)[0]
    return fitted
