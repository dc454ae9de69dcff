"""Which arms are looked at: all of few, of many a bounded number that matters.

The networks look at them, and so do Gaussian processes where a study has tried very many.

So a decision takes as long in a study of many thousand units as in a short one. Of very many
untried arms those are looked at that come first in an order drawn by chance, with a few that are
expected to be good in front (more of them would be one corner of the space, and all would be lost
where names mislead); of very many tried arms those in flight, those reported lately, the
leader, and the best of each stage of training.

What follows from the choice (distances, covariances) costs more than a decision, so from some
length of a study on the choice is made anew only every few units. In between the same arms are
looked at: whatever is chosen is one of them. It is a function of the view alone: which units had
been decided, and about which of them had been reported, when the last such moment was.

With very many workers, the arms in flight at that moment and those reported since would be most
of what is looked at. Then only the best of them are.

Notation:
    K  arms, R  arms looked at, V  arms that have been tried
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.learned.arm_opinions import SOME, at_first, names_tell, tokens_read
from bhpt.beliefs.learned.weights import NetworkWeights
from bhpt.domain import BoolArray, Curves, IntArray, Slot, View

MOST_LOOKED_AT = 272
"""Arms; more only where very many are in flight."""

_LEAST_TRIED = 92  # of more tried arms, as many are looked at, however many others
_MOST_UNTRIED = 100  # of more untried arms, as many are looked at, as in training
_SHORT = 128  # units: in a study that has decided on no more, the choice is always made anew
_EVERY = 16  # units, in a longer one
_VERY_LONG = 4096  # units: from here on half as often
_EVERY_AT_MOST = 64  # units, with many workers
_MANY_WORKERS = 64  # with more, not all arms in flight are looked at
_BUSY = 40  # but so many of them
_BEST_BY_NAME = 10  # of the untried arms are looked at first, the others by chance
_CHANCE = 5  # the stream of random numbers that orders untried arms


_LOOKED_AT: Slot[IntArray] = Slot("arms looked at", room=2)  # by two networks


@dataclass(frozen=True)
class LastChoice:
    """When the arms looked at were last chosen anew.

    Attributes:
        reports: How many units had been reported, about.
        visited: How many arms these were.
        decided: Units decided since.
        step: Units from one such moment to the next.
        crowded: Whether there are too many workers to look at all arms in flight.
    """

    reports: int
    visited: int
    decided: int
    step: int
    crowded: bool


def last_choice(view: View) -> LastChoice:
    """When the arms looked at were last chosen anew."""
    workers = max(view.lanes, view.split)
    reported = len(view.curves.reports)
    crowded = workers > _MANY_WORKERS and view.arms > MOST_LOOKED_AT
    if view.step < _SHORT:
        return LastChoice(reported, len(view.curves.visited), 0, 1, crowded)
    step = _EVERY if view.step < _VERY_LONG else 2 * _EVERY
    step = min(max(-(-workers // _EVERY) * _EVERY, step), _EVERY_AT_MOST)
    decided = view.step % step
    reports = min(max(view.step - decided - (workers - 1), 0), reported)
    curves, slot = view.curves, Slot[int]("arms visited at the last choice", whole=True)
    inputs = (curves.record, reports)
    visited = view.memory.recall(slot, inputs, lambda: curves.visited_after(reports))
    return LastChoice(reports, visited, decided, step, crowded)


def looked_at(view: View, trained: NetworkWeights | None = None) -> IntArray:
    """Arms that are looked at, in order, [R].

    Args:
        view: The study.
        trained: The network that looks at them: what it expects by names counts among untried
            arms. None to disregard names.
    """
    names = trained if view.arms > _MOST_UNTRIED else None  # of few all are looked at
    return view.memory.recall(_LOOKED_AT, (view, names), lambda: _looked_at(view, trained))


def _looked_at(view: View, trained: NetworkWeights | None) -> IntArray:
    chosen = last_choice(view)
    tried = _mask(view.arms, view.curves.visited[: chosen.visited])
    active, busy = _active(view, chosen)
    untried = _untried(view, chosen, tried, active, busy, trained)
    room = max(MOST_LOOKED_AT - int(np.count_nonzero(untried)), _LEAST_TRIED)
    if np.count_nonzero(tried) > room:
        tried = _worth_a_look(view, chosen, active & tried, busy, room)
    rows = tried | untried
    if not (rows & view.choosable).any():  # as many run as are looked at, or the best are done
        rows |= _can_run(view, chosen, room)
    return np.flatnonzero(rows)


def _untried(
    view: View,
    chosen: LastChoice,
    tried: BoolArray,
    active: BoolArray,
    busy: BoolArray,
    trained: NetworkWeights | None,
) -> BoolArray:
    """Which of the arms are looked at that had not been tried when the choice was made, [K].

    The active ones, and a number of others that can be tried. Some others are spare: when one of
    them has been decided on, it is active, and the choice is still the same. With very many
    workers, an active one has to come first in the order, too.
    """
    taken = active & ~tried
    others = view.choosable & ~(tried | active | busy)
    spare = 0 if chosen.step == 1 else chosen.step - int(np.count_nonzero(taken)) % chosen.step
    if chosen.crowded:
        others, spare, taken = others | taken, chosen.step, np.zeros_like(taken)
    if np.count_nonzero(others) > _MOST_UNTRIED + spare:
        order = _order(view, trained)
        others = _mask(view.arms, order[others[order]][: _MOST_UNTRIED + spare])
    return taken | others


def _active(view: View, chosen: LastChoice) -> tuple[BoolArray, BoolArray]:
    """Arms in flight or reported lately.

    Returns:
        Those that are looked at in any case, and those of which only the best are: with very many
        workers, all that were in flight when the choice was made. [K] each.
    """
    before = chosen.reports if chosen.crowded or chosen.step == 1 else chosen.reports - _EVERY
    late = view.curves.visited[view.curves.reports[max(before, 0) :, 0]]
    if not chosen.crowded:
        return _mask(view.arms, view.pending, late), np.zeros(view.arms, bool)
    ahead = max(len(view.pending) - chosen.decided, 0)
    return _mask(view.arms, view.pending[ahead:]), _mask(view.arms, view.pending[:ahead], late)


def _worth_a_look(
    view: View, chosen: LastChoice, active: BoolArray, busy: BoolArray, room: int
) -> BoolArray:
    """Which of very many tried arms are looked at, about `room` of them, [K].

    The active ones, the leader and the best of the busy ones; then the best of each stage of
    training as they stood when the choice was made.
    """
    curves = view.curves
    order = _standing_then(view, chosen)
    looked = active.copy()
    looked[curves.leader] = True
    if chosen.crowded:
        looked[order[busy[order]][:_BUSY]] = True
    left = max(room - int(np.count_nonzero(looked)), 0)
    passed = looked | busy
    first = order[: left + int(np.count_nonzero(passed))]  # enough of them are left of these
    looked[first[~passed[first]][:left]] = True
    return looked


def _can_run(view: View, chosen: LastChoice, room: int) -> BoolArray:
    """The best arms that can run, [K]."""
    order = _standing_then(view, chosen)
    found = _mask(view.arms, order[view.choosable[order]][: max(room // 2, 1)])
    return found if found.any() else view.choosable


def _standing_then(view: View, chosen: LastChoice) -> IntArray:
    """Arms from the most to the least worth a look when the choice was made, [V]."""
    curves = view.curves
    slot: Slot[IntArray] = Slot("arms by standing", whole=True)
    return view.memory.recall(
        slot,
        (curves.record, chosen.reports, view.unit),
        lambda: by_standing(curves.first(chosen.reports), view.unit),
    )


def by_standing(curves: Curves, unit: int) -> IntArray:
    """Visited arms from the most to the least worth a look, [V].

    An arm is compared with those of its stage, which have had as many units up to a factor of
    two: first come the best of every stage, then the second ones, and so on.
    """
    units = np.maximum(-(-curves.counts // unit), 1)
    stage = np.floor(np.log2(units)).astype(np.int64)
    loss = curves.best_by_row
    by_stage = np.lexsort((curves.visited, loss, stage))
    starts = np.searchsorted(stage[by_stage], np.arange(stage.max(initial=0) + 1))
    rank = np.empty(len(loss), np.int64)
    rank[by_stage] = np.arange(len(loss)) - starts[stage[by_stage]]
    order: IntArray = curves.visited[np.lexsort((curves.visited, loss, rank))]
    return order


def _order(view: View, trained: NetworkWeights | None) -> IntArray:
    """The order in which untried arms are looked at, [K].

    By chance, but first come some that are expected to end best, if names tell.
    """
    named = tokens_read(view, trained) if names_tell(view, trained) else None
    slot: Slot[IntArray] = Slot("order of untried arms", trained, whole=True)
    inputs = (view.arms, view.seed, named, view.earlier)
    return view.memory.recall(slot, inputs, lambda: _drawn_order(view, trained))


def _drawn_order(view: View, trained: NetworkWeights | None) -> IntArray:
    order = np.argsort(np.random.default_rng((view.seed, _CHANCE)).random(view.arms))
    if trained is None or not names_tell(view, trained):
        return order
    opinion = at_first(view, order[:SOME], trained)[:, 0]
    first = np.argsort(-opinion, kind="stable")[:_BEST_BY_NAME]
    return np.concatenate([order[first], np.delete(order, first)])


def _mask(arms: int, *chosen: IntArray) -> BoolArray:
    """Which of all arms are among some, [K]."""
    mask = np.zeros(arms, bool)
    for some in chosen:
        mask[some] = True
    return mask
