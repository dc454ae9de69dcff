"""Opinions of experts about the arms of a view, before and while they are trained.

The networks that read names score each arm alone, so that is computed once an arm and kept while
arms are added to the study. Opinions of an arm beside the others follow from the scores, for any
choice of arms.

Notation:
    K  arms, R  some of them, N  hyper-parameters, F  numbers of a token, E  networks or experts
"""

import numpy as np

from bhpt.beliefs import experts
from bhpt.beliefs.learned.geometry import OPINIONS, UNSURE
from bhpt.beliefs.learned.name_opinions import has_tokens, relative
from bhpt.beliefs.learned.name_readers import NameReaders
from bhpt.beliefs.learned.network import Weights
from bhpt.beliefs.learned.weights import NetworkWeights
from bhpt.domain import Curves, FloatArray, IntArray, Slot, View
from bhpt.domain.memory import all_same

SOME = 2000
"""Arms that are compared with each other at most; of more, those that a caller names are."""

_BLOCK = 16  # other arms than the first that are read together
_EVERY_BITS = 3  # experts are weighed at every report up to 7, every second up to 15, and so on


def names_tell(view: View, trained: NetworkWeights | None) -> bool:
    """Whether experts have an opinion about these arms, before anything is trained."""
    named = tokens_read(view, trained)
    if named is None or trained is None:
        return False
    first = np.arange(min(view.arms, SOME))
    slot: Slot[bool] = Slot("names tell", trained, whole=True)
    inputs = (named[: len(first)], _first(view.earlier, len(first)))
    return view.memory.recall(
        slot, inputs, lambda: float(at_first(view, first, trained)[:, 0].std()) > UNSURE
    )


def tokens_read(view: View, trained: NetworkWeights | None) -> FloatArray | None:
    """Tokens of the hyper-parameters, if there are any and a network reads them, [K, N, F]."""
    return view.tokens if trained is not None and trained.knows_names else None


def at_first(view: View, rows: IntArray, trained: NetworkWeights) -> FloatArray:
    """The experts' joint opinion of arms before any is trained, 0 without names, [R, OPINIONS]."""
    named = tokens_read(view, trained)
    if named is None:
        return np.zeros((len(rows), OPINIONS))
    if view.started_with > SOME:  # asked once a study about arms from everywhere: none is kept
        opinions = ask_experts(named[rows], _part(view.earlier, rows), trained)
    else:
        opinions = _opinions_beside(view, named, rows, trained)
    return experts.combined(opinions, experts.weights(opinions, []))


def expected(view: View, rows: IntArray, trained: NetworkWeights) -> FloatArray:
    """The experts' joint opinion of some arms, [R, OPINIONS].

    Without earlier studies this is the same for a whole study, as in training, where the network
    learns how far to trust it. Earlier studies were not part of training, so with them each
    expert is trusted as far as it has been right about what the study had shown when its reports
    last reached one of a growing series of counts.
    """
    named = tokens_read(view, trained)
    if named is None:
        return np.zeros((len(rows), OPINIONS))
    opinions = opinions_by_expert(view, named, rows, trained)
    if view.earlier is None:
        return experts.combined(opinions, experts.weights(opinions, []))
    curves = _weighing(view)
    together: Slot[FloatArray] = Slot("opinion of all experts", trained)
    shown = (opinions, curves.counts, curves.visited, curves.losses)
    return view.memory.recall(
        together, shown, lambda: experts.combined(opinions, trust_in_experts(view, rows, opinions))
    )


def trust_in_experts(view: View, rows: IntArray, opinions: FloatArray) -> FloatArray:
    """How far each expert's opinions of some arms are trusted, [E]."""
    shown = [] if view.earlier is None else standings_among(_weighing(view), view.unit, rows)
    return experts.weights(opinions, shown)


def standings_among(curves: Curves, unit: int, rows: IntArray) -> list[experts.Standing]:
    """How those of some arms that were tried rank, by their places."""
    place = np.full(curves.arms, -1)
    place[rows] = np.arange(len(rows))
    return [standing.of(place) for standing in experts.standings(curves, unit)]


def _weighing(view: View) -> Curves:
    """What the study had shown when its experts were last weighed."""
    return view.curves.first(_weighed_at(len(view.curves.reports)))


def ask_experts(named: FloatArray, earlier: FloatArray | None, trained: Weights) -> FloatArray:
    """The opinion of every expert about some arms, in the order of `EXPERTS`, [E, R, OPINIONS].

    Args:
        named: Tokens of the arms, [R, N, F].
        earlier: Their expected ranks by earlier studies, if there are any, [R].
        trained: Networks that read names.
    """
    return _opinions(NameReaders(trained).scores(named), named, earlier)


def _opinions(scored: FloatArray, named: FloatArray, earlier: FloatArray | None) -> FloatArray:
    return np.stack(
        [
            relative(np, scored, has_tokens(named)),
            experts.from_scores(experts.closeness_to_defaults(named)),
            experts.from_scores(experts.closeness_to_middle(named)),
            experts.from_ranks(np.zeros(len(named)) if earlier is None else earlier),
        ]
    )


def opinions_by_expert(
    view: View, named: FloatArray, rows: IntArray, trained: NetworkWeights
) -> FloatArray:
    """The opinion of every expert about some arms, [E, R, OPINIONS].

    All arms of a study of few are judged beside each other, so that another choice of them costs
    nothing.
    """
    slot: Slot[FloatArray] = Slot("opinions of experts", trained)
    if view.arms <= SOME:
        every = np.arange(view.arms)
        inputs: tuple[object, ...] = (named, view.earlier)
        return view.memory.recall(
            slot, inputs, lambda: _opinions_beside(view, named, every, trained)
        )[:, rows]
    inputs = (named[rows], _part(view.earlier, rows))
    return view.memory.recall(slot, inputs, lambda: _opinions_beside(view, named, rows, trained))


def _opinions_beside(
    view: View, named: FloatArray, rows: IntArray, trained: NetworkWeights
) -> FloatArray:
    """The opinion of every expert about some arms beside each other, [E, R, OPINIONS]."""
    slot: Slot[ReaderScores] = Slot("scores of arms", trained, whole=True)
    first = view.started_with if view.started_with <= SOME else 0
    kept = view.memory.recall(slot, (first,), lambda: ReaderScores(trained, first))
    return _opinions(kept.of(named, rows), named[rows], _part(view.earlier, rows))


class ReaderScores:
    """Scores of each arm by the networks that read names, computed once an arm.

    The first arms are read together, the others in blocks, a block that is not full with zeros
    behind it: so the score of an arm does not depend, to the last bit, on when it is computed.

    Args:
        trained: The networks.
        first: Arms that are read together: those that the study began with, none if those are many.
    """

    def __init__(self, trained: Weights, first: int) -> None:
        self._readers = NameReaders(trained)
        self._first = first
        self._tokens: FloatArray | None = None
        self._filled = np.zeros(1, np.int64)  # arms of each block that were read
        self._scored = np.zeros((0, 0, 0))  # of each arm, those of a block behind each other

    def of(self, tokens: FloatArray, rows: IntArray) -> FloatArray:
        """Scores of some arms, [E, R, OPINIONS - 1].

        Args:
            tokens: Of all arms, [K, N, F].
            rows: Which arms.
        """
        self._follow(tokens)
        blocks = np.where(rows < self._first, 0, 1 + (rows - self._first) // _BLOCK)
        needed = np.flatnonzero(np.bincount(blocks))
        starts, sizes = self._extent(needed)
        wanted = np.minimum(sizes, len(tokens) - starts)
        self._make_room(int(needed.max(initial=0)))
        for block in needed[self._filled[needed] != wanted].tolist():
            self._read(tokens, block)
        return self._scored[:, rows]

    def _follow(self, tokens: FloatArray) -> None:
        """Forget everything if these are not the tokens of before with some added."""
        known = self._tokens
        if known is not None:
            count = min(len(known), len(tokens))
            if not all_same((known[:count],), (tokens[:count],)):
                self._filled[:] = 0
        self._tokens = tokens

    def _extent(self, blocks: IntArray) -> tuple[IntArray, IntArray]:
        """The first arm of each block, and how many it has when it is full."""
        starts = np.where(blocks == 0, 0, self._first + _BLOCK * (blocks - 1))
        return starts, np.where(blocks == 0, self._first, _BLOCK)

    def _make_room(self, block: int) -> None:
        """Make sure that there is a place for blocks up to this one."""
        if block >= len(self._filled):
            more = np.zeros(2 * block + 1 - len(self._filled), np.int64)
            self._filled = np.concatenate([self._filled, more])

    def _read(self, tokens: FloatArray, block: int) -> None:
        """Let the networks read the arms of a block."""
        start, size = (int(one[0]) for one in self._extent(np.array([block])))
        arms = tokens[start : start + size]
        behind = np.zeros((size - len(arms), *arms.shape[1:]), arms.dtype)
        scored = self._readers.scores(np.concatenate([arms, behind]))
        if start + size > self._scored.shape[1]:
            larger = np.zeros((len(scored), 2 * (start + size), scored.shape[2]), scored.dtype)
            known = self._scored.shape[1]
            larger[: len(self._scored), :known, : self._scored.shape[2]] = self._scored
            self._scored = larger
        self._scored[:, start : start + size] = scored
        self._filled[block] = len(arms)


def _part(values: FloatArray | None, rows: IntArray) -> FloatArray | None:
    return None if values is None else values[rows]


def _first(values: FloatArray | None, count: int) -> FloatArray | None:
    return None if values is None else values[:count]


def _weighed_at(reports: int) -> int:
    """The last count of reports at which experts are weighed: all of few, then ever fewer."""
    step = 1 << max(reports.bit_length() - _EVERY_BITS, 0)
    return reports - reports % step
