"""Where further arms of an open space come from: new regions, and steps away from good arms.

The space is covered first: arms drawn evenly from all of it are there from the start, and as many
again are drawn when all were tried. An arm near a good one (its child) is added only when its
parent has been trained far enough to know that it is good, one child at a time, and never a
near-copy of an arm that is there already: copies add no information, and many of them crowd out
everything else.

Pure: randomness comes from the seed and from how many arms and reports there are, so a replay
adds the same.
"""

from math import ceil

import numpy as np

from bhpt.domain.arrays import places_of_lowest
from bhpt.spaces import NEAR, Config
from bhpt.study.arm_list import space_of
from bhpt.study.events import ArmsAdded
from bhpt.study.state import Child, State

_PARENTS = 5  # the best arms may have children
_FAR = 1 / 3  # the part of a full training after which an arm is known to be good
_WAITING = 2  # untried children of one parent, the second only after it improved
_FINEST = 8  # how often the distance between candidates is halved before a space is full


def fresh_arms(state: State) -> ArmsAdded | None:
    """New candidates where some are due, else None."""
    search = state.plan.search
    if search.space is None or state.arms is None:
        return None
    if not state.untried:
        return _new_region(state, search.space)
    return _child(state, search.space) if search.near else None


def _new_region(state: State, text: str) -> ArmsAdded | None:
    """More arms from all of the space, closer to each other only where it is full."""
    space, arms = space_of(text), state.arms
    if arms is None or len(arms) >= space.size:
        return None
    for halved in range(_FINEST + 1):
        least = NEAR / 2**halved if halved < _FINEST else 0.0
        rng = np.random.default_rng((state.plan.seed, 0, len(arms), halved))
        count = state.plan.search.candidates
        drawn = space.draw_apart(count, rng, arms.features, least, arms.has)
        if drawn:
            return ArmsAdded(tuple(drawn), "drawn", state.clock)
    return None


def _child(state: State, text: str) -> ArmsAdded | None:
    """One step away from the first good arm that may have a child now."""
    parents = _due(state)
    if not parents or state.features is None:
        return None
    parent = parents[state.reports % len(parents)]
    rng = np.random.default_rng((state.plan.seed, 1, state.batches, state.reports))
    made: Config | None = space_of(text).child(state.configs[parent], state.features, rng)
    return None if made is None else ArmsAdded((made,), "near", state.clock, (parent,))


def _due(state: State) -> list[int]:
    """Good arms that may have a child now, best first."""
    curves = state.curves
    if curves is None:
        return []
    enough = ceil(_FAR * state.plan.training.epochs)
    best = [int(curves.visited[row]) for row in places_of_lowest(curves.best_by_row, _PARENTS)]
    known = [arm for arm in best if curves.count(arm) >= enough]
    if not known:
        return []
    waiting = [child for child in state.children if not state.was_tried(child.arm)]
    if len(waiting) >= state.plan.search.near:
        return []
    return [arm for arm in known if _may_have_one(state, arm, waiting)]


def _may_have_one(state: State, parent: int, waiting: list[Child]) -> bool:
    """Whether a parent has no child that waits, or is better than when the one that waits came."""
    own = [child for child in waiting if child.parent == parent]
    return not own or (len(own) < _WAITING and state.lowest(parent) < own[-1].loss)
