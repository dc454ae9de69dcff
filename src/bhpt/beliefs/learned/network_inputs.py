"""From a view to the inputs of the networks.

The networks look at a bounded number of arms, so that a decision takes as long in a study of
many thousand units as in a short one: all arms of a small study; of a large one the untried arms
that come first, those in flight, those reported lately, and of the others that were tried the
best at each stage of training.

Notation:
    K  arms, R  arms looked at, T  units of a full training, n_k  units of arm k
    q_k(t) = ℓ_0 - lowest loss of arm k within t units, at least 0
"""

from dataclasses import dataclass, replace

import numpy as np

from bhpt.beliefs import experts
from bhpt.beliefs.learned.features import (
    NOISE,
    OPINIONS,
    UNSURE,
    Geometry,
    Moment,
    features,
    geometry,
)
from bhpt.beliefs.learned.name_opinions import opinions
from bhpt.beliefs.learned.network import Weights
from bhpt.beliefs.learned.weights import NetworkWeights
from bhpt.beliefs.scale import starting_level
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import BoolArray, Curves, FloatArray, IntArray, Slot, View

MOST_LOOKED_AT = 256  # arms, beside those that must be
_MOST_UNTRIED = 100  # of more untried arms, as many are looked at, as in training
_RANKED_EVERY = 16  # reports: in between, the arms looked at stay the same where they can
_FEW = 128  # arms whose covariance is followed from tried arm to tried arm
_SOME = 2000  # arms by chance that are judged by their names
_LIKED = 50  # of these, the best by their names are looked at first
_EVERY_BITS = 3  # experts are weighed at every report up to 7, every second up to 15, and so on
_CHANCE = 5  # the stream of random numbers that chooses them


@dataclass(frozen=True, eq=False)
class Sight:
    """The inputs of a network.

    Attributes:
        rows: Arms looked at, in order, [R].
        moment: Their state.
        arms: Their features, [R, F].
        study: Features of the study, [G].
    """

    rows: IntArray
    moment: Moment
    arms: FloatArray
    study: FloatArray


def see(view: View, trained: NetworkWeights) -> Sight:
    """The inputs of a network; names count only for one that was trained with names."""
    rows = looked_at(view, trained)
    moment, shape = observe(view, rows, trained)
    arms, study = features(np, moment, shape)
    return Sight(rows, moment, arms.astype(np.float32), study.astype(np.float32))


def at_rest(view: View) -> View:
    """The view with its horizons but without arms in flight or several workers.

    The predictor was never shown any.
    """
    if not len(view.pending) and view.lanes == view.split == 1:
        return view
    part = view.left / view.split
    can = view.bought_now > 0
    return replace(
        view,
        pending=view.pending[:0],
        startable=can,
        left=part,
        costs=np.where(can, np.minimum(view.costs, part), view.costs),
        lanes=1,
        split=1,
    )


def names_tell(view: View, trained: NetworkWeights) -> bool:
    """Whether experts have an opinion about these arms, before anything is trained."""
    named = _named(view, trained)
    if named is None:
        return False
    slot: Slot[bool] = Slot("names tell", trained)
    inputs = (named, view.earlier)
    return view.memory.recall(slot, inputs, lambda: _differ(view, named, trained))


def _named(view: View, trained: NetworkWeights) -> FloatArray | None:
    """Tokens of the hyper-parameters, if there are any and the network reads them, [K, N, F]."""
    return view.tokens if trained.knows_names else None


def _differ(view: View, named: FloatArray, trained: NetworkWeights) -> bool:
    """Whether opinions about the first arms differ at all."""
    first = np.arange(min(view.arms, _SOME))
    return float(_at_first(view, named, first, trained)[:, 0].std()) > UNSURE


def _at_first(view: View, named: FloatArray, rows: IntArray, trained: NetworkWeights) -> FloatArray:
    """What experts together expect of some arms before anything is shown, [R, OPINIONS]."""
    asked = ask_experts(named[rows], _part(view.earlier, rows), trained)
    return experts.combined(asked, experts.weights(asked, []))


def ask_experts(named: FloatArray, earlier: FloatArray | None, trained: Weights) -> FloatArray:
    """The opinion of every expert about some arms, in the order of `EXPERTS`, [E, R, OPINIONS].

    Args:
        named: Tokens of the arms, [R, N, F].
        earlier: Their expected ranks by earlier studies, if there are any, [R].
        trained: Networks that read names.
    """
    return np.stack(
        [
            opinions(np, trained, named),
            experts.from_scores(experts.closeness_to_defaults(named)),
            experts.from_scores(experts.closeness_to_middle(named)),
            experts.from_ranks(np.zeros(len(named)) if earlier is None else earlier),
        ]
    )


def _part(values: FloatArray | None, rows: IntArray) -> FloatArray | None:
    return None if values is None else values[rows]


def looked_at(view: View, trained: NetworkWeights) -> IntArray:
    """Arms that the network looks at, in order, [R].

    All that were tried, run or can, but of very many untried ones only a part, and of very many
    tried ones too.
    """
    tried = view.curves.count_by_arm > 0
    tried[view.pending] = True
    fresh = view.choosable & ~tried
    others = view.arms - int(np.count_nonzero(fresh))
    if view.arms - others > _MOST_UNTRIED:
        first = _order(view, trained)[: others + _MOST_UNTRIED]
        chosen = first[fresh[first]][:_MOST_UNTRIED]
        fresh = np.zeros(view.arms, bool)
        fresh[chosen] = True
    room = MOST_LOOKED_AT - int(np.count_nonzero(fresh))
    if np.count_nonzero(tried) > room:
        tried = worth_a_look(view, room)
    return np.flatnonzero(tried | fresh)


def worth_a_look(view: View, room: int) -> BoolArray:
    """Which of very many tried arms are looked at, about `room` of them, [K].

    The arms in flight, the leader and those reported lately; then the best of each stage of
    training, as they stood when the reports were last a multiple of some. So the choice changes
    rarely, and what is computed from it can be kept. If none of these can run, the best that can
    are looked at, too: with hundreds of workers all others may be in flight or finished.
    """
    curves = view.curves
    before = len(curves.reports) - len(curves.reports) % _RANKED_EVERY
    chosen = np.zeros(view.arms, bool)
    chosen[view.pending] = True
    chosen[curves.visited[curves.reports[before - _RANKED_EVERY :, 0]]] = True
    chosen[curves.visited[curves.best_by_row.argmin()]] = True
    slot: Slot[IntArray] = Slot("arms by standing")
    order = view.memory.recall(
        slot,
        (curves.record, before, view.unit),
        lambda: by_standing(curves.first(before), view.unit),
    )
    left = room - int(np.count_nonzero(chosen))
    chosen[order[~chosen[order]][: max(left, 0)]] = True
    if not (chosen & view.choosable).any():  # as many run as are looked at, or the best are done
        chosen[order[view.choosable[order]][: max(room // 2, 1)]] = True
    return chosen


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


def _order(view: View, trained: NetworkWeights) -> IntArray:
    """The order in which untried arms are looked at, [K].

    By chance, but first come some that are expected to end best, if names tell.
    """
    named = _named(view, trained) if names_tell(view, trained) else None
    slot: Slot[IntArray] = Slot("order of untried arms", trained)
    inputs = (view.arms, view.seed, named, view.earlier)
    return view.memory.recall(slot, inputs, lambda: _drawn_order(view, named, trained))


def _drawn_order(view: View, named: FloatArray | None, trained: NetworkWeights) -> IntArray:
    order = np.argsort(np.random.default_rng((view.seed, _CHANCE)).random(view.arms))
    if named is None:
        return order
    said = _at_first(view, named, order[:_SOME], trained)[:, 0]
    first = np.argsort(-said, kind="stable")[:_LIKED]
    return np.concatenate([order[first], np.delete(order, first)])


def observe(view: View, rows: IntArray, trained: NetworkWeights) -> tuple[Moment, Geometry]:
    """The state of these arms, and how their configurations lie."""
    curves = view.curves
    n = -(-curves.count_by_arm[rows] // view.unit)
    place = np.full(view.arms, -1)
    place[rows] = np.arange(len(rows))
    seen = np.flatnonzero(place[curves.visited] >= 0)
    tried = place[curves.visited[seen]]
    shape = _shape(view, rows, trained)
    latest = curves.visited[curves.reports[-1, 0]] if len(curves.reports) else -1
    flying = np.zeros(view.arms)
    flying[view.pending] = 1.0
    longest = int(n.max(initial=0))
    gained: Slot[FloatArray] = Slot("improvements")
    moment = Moment(
        q=view.memory.recall(
            gained,
            (curves, view.unit, view.untrained, rows),
            lambda: improvements(view, seen, tried, len(rows), longest),
        ),
        n=n,
        r=view.bought_now[rows].astype(float),
        total=float(view.full),
        exists=np.ones(len(rows)),
        open=view.choosable[rows].astype(float),
        last=(rows == latest).astype(float),
        flying=flying[rows],
        workers=float(max(view.lanes, view.split)),
        covariance=_covariances(view, shape, trained).after(tried),
    )
    return moment, shape


def _shape(view: View, rows: IntArray, trained: NetworkWeights) -> Geometry:
    """Neighbourhoods and opinions, made once for a choice of arms and not for every decision."""
    said = expected(view, rows, trained)
    slot: Slot[Geometry] = Slot("geometry", trained)
    inputs = (view.features, said, rows)
    return view.memory.recall(slot, inputs, lambda: _made_shape(*inputs))


def _made_shape(configs: FloatArray, said: FloatArray, rows: IntArray) -> Geometry:
    x = configs[rows].astype(float)
    return geometry(np, x, np.ones(len(x)), np.ones(x.shape[1]), said)


def expected(view: View, rows: IntArray, trained: NetworkWeights) -> FloatArray:
    """What experts together expect of some arms, [R, OPINIONS].

    Without earlier studies this is the same for a whole study, as in training, where the network
    learns how far to trust it. What earlier studies say was not part of training, so with them each
    expert is trusted as far as it has been right about what the study had shown when its reports
    last reached one of a growing series of counts.
    """
    named = _named(view, trained)
    if named is None:
        return np.zeros((len(rows), OPINIONS))
    said = _asked(view, named, rows, trained)
    if view.earlier is None:
        return experts.combined(said, experts.weights(said, []))
    curves = _weighing(view)
    together: Slot[FloatArray] = Slot("opinion of all experts", trained)
    shown = (said, curves.counts, curves.visited, curves.losses)
    return view.memory.recall(
        together,
        shown,
        lambda: experts.combined(said, experts.weights(said, _shown(curves, view.unit, rows))),
    )


def experts_advice(view: View, arm: int, trained: NetworkWeights) -> experts.Advice | None:
    """What each expert says of an arm and those that the network looks at; None if names tell none.

    The trust is what `expected` combines them with.
    """
    named = _named(view, trained)
    if named is None or not names_tell(view, trained):
        return None
    rows = np.union1d(looked_at(view, trained), arm)
    said = _asked(view, named, rows, trained)
    weighing = [] if view.earlier is None else _shown(_weighing(view), view.unit, rows)
    trust = experts.weights(said, weighing)
    return experts.advice(rows, said, trust, _shown(view.curves, view.unit, rows))


def _weighing(view: View) -> Curves:
    """What the study had shown when its experts were last weighed."""
    return view.curves.first(_weighed_at(len(view.curves.reports)))


def _asked(view: View, named: FloatArray, rows: IntArray, trained: NetworkWeights) -> FloatArray:
    """The opinion of every expert about some arms, [E, R, OPINIONS].

    All arms of a study of few are judged at once, so that another choice of them costs nothing.
    """
    slot: Slot[FloatArray] = Slot("opinions of experts", trained)
    if view.arms <= _SOME:
        inputs: tuple[object, ...] = (named, view.earlier)
        every = view.memory.recall(slot, inputs, lambda: ask_experts(named, view.earlier, trained))
        return every[:, rows]
    return view.memory.recall(
        slot,
        (named, view.earlier, rows),
        lambda: ask_experts(named[rows], _part(view.earlier, rows), trained),
    )


def _weighed_at(reports: int) -> int:
    """The last count of reports at which experts are weighed: all of few, then ever fewer."""
    step = 1 << max(reports.bit_length() - _EVERY_BITS, 0)
    return reports - reports % step


def _shown(curves: Curves, unit: int, rows: IntArray) -> list[experts.Standing]:
    """How those of some arms that were tried rank, by their places."""
    place = np.full(curves.arms, -1)
    place[rows] = np.arange(len(rows))
    return [standing.of(place) for standing in experts.standings(curves, unit)]


def _covariances(view: View, shape: Geometry, trained: NetworkWeights) -> "Covariances":
    slot: Slot[Covariances] = Slot("covariances of arms", trained)
    return view.memory.recall(slot, (shape.prior,), lambda: Covariances(shape.prior))


class Covariances:
    """The covariance of what arms are like, given which of them have been tried.

    Of few arms it is made arm by arm, in the order in which they were first reported, and the
    latest one is where the next begins. Of many it is made at once, since a new arm is then
    mostly one of another choice of arms. What was asked for before changes no bit of it.

    Args:
        prior: Before any arm has been tried, [R, R].
    """

    def __init__(self, prior: FloatArray) -> None:
        self._prior = prior
        self._latest = (b"", prior)

    def after(self, tried: IntArray) -> FloatArray:
        """Once these have been tried, places in their order, [R, R]."""
        wanted = tried.tobytes()
        before, covariance = self._latest
        if wanted == before:
            return covariance
        if len(self._prior) > _FEW:
            covariance = after_trying(self._prior, tried)
        else:
            if not wanted.startswith(before):
                before, covariance = b"", self._prior
            for arm in np.frombuffer(wanted[len(before) :], np.int64):
                covariance = tried_too(covariance, int(arm))
        self._latest = (wanted, covariance)
        return covariance


def tried_too(covariance: FloatArray, arm: int) -> FloatArray:
    """Covariance of what arms are like once one more has been tried, [R, R]."""
    column = covariance[:, arm]
    left: FloatArray = covariance - np.outer(column, column / (column[arm] + NOISE))
    return left


def after_trying(prior: FloatArray, tried: IntArray) -> FloatArray:
    """Covariance of what arms are like once some have been tried, [R, R].

    Args:
        prior: Before any has, [R, R].
        tried: Which, by their places, [V].
    """
    cross = prior[tried]
    among = cross[:, tried]
    among[np.diag_indices(len(tried))] += NOISE
    reduction = solve_lower(cholesky(among), cross)
    left: FloatArray = prior - reduction.T @ reduction
    return left


def improvements(
    view: View, seen: IntArray, tried: IntArray, looked: int, longest: int
) -> FloatArray:
    """q, zero where not observed, [R, longest + 1] (at least two columns).

    Args:
        view: The study.
        seen: Rows of the curves of arms that are looked at, [V].
        tried: Where these arms are among those looked at, [V].
        looked: How many these are, R.
        longest: The most units that any of them has had.
    """
    curves, unit = view.curves, view.unit
    q = np.zeros((max(longest, 1) + 1, looked))
    if longest:
        stop = min(longest * unit, curves.longest)
        losses = curves.losses[seen, :stop]
        usable = (np.arange(stop) < curves.counts[seen][:, None]) & np.isfinite(losses)
        start = starting_level(curves, view.untrained, unit)
        gained = np.where(usable, start - losses, 0.0)
        gained = np.maximum.accumulate(np.maximum(gained, 0.0), axis=1)
        ends = np.minimum(np.arange(unit, longest * unit + 1, unit), stop) - 1
        q[1:, tried] = gained.T.take(ends, axis=0)
    return q.T  # features run over units first
