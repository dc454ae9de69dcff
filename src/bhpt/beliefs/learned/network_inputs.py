"""From a view to what the networks are told.

Notation:
    K  arms, R  arms looked at, T  units of a full training, n_k  units of arm k
    q_k(t) = ℓ_0 - lowest loss of arm k within t units, at least 0
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

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
from bhpt.beliefs.learned.weights import NetworkWeights
from bhpt.beliefs.scale import untrained_loss
from bhpt.domain import FloatArray, IntArray, View

_MOST_UNTRIED = 100  # of more untried arms, as many are looked at, as in training
_SOME = 2000  # arms by chance that are judged by their names
_LIKED = 50  # of these, the best by their names are looked at first
_CHANCE = 5  # the stream of random numbers that chooses them


@dataclass(frozen=True, eq=False)
class Sight:
    """What the networks are told of a view.

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


class _Same:
    """An array as a key of what is remembered, told apart by identity.

    What lies in a view's arrays never changes, so it need not be compared at every decision.
    """

    __slots__ = ("array",)

    def __init__(self, array: FloatArray) -> None:
        self.array = array

    def __hash__(self) -> int:
        """Of the object; it lives as long as the key."""
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        """Whether it is this very array."""
        return isinstance(other, _Same) and self.array is other.array


def see(view: View, trained: NetworkWeights) -> Sight:
    """Look at a view, as a network does that knows what it knows: of names nothing, perhaps."""
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
    """Whether the network has an opinion about these arms, before anything is trained."""
    named = _named(view, trained)
    return named is not None and _names_tell(named, trained)


def _named(view: View, trained: NetworkWeights) -> _Same | None:
    """What names mean, if there are any and the network knows some."""
    if view.meanings is None or not trained.knows_names:
        return None
    return _Same(view.meanings)


@lru_cache(maxsize=2)
def _names_tell(named: _Same, trained: NetworkWeights) -> bool:
    """Whether opinions about the first arms differ at all."""
    said = opinions(np, trained, named.array[:_SOME])
    return float(said[:, 0].std()) > UNSURE


def looked_at(view: View, trained: NetworkWeights) -> IntArray:
    """All arms that were tried, run or can, but of very many untried ones only a part, [R]."""
    tried = view.curves.count_by_arm > 0
    tried[view.pending] = True
    fresh = view.choosable & ~tried
    others = view.arms - int(np.count_nonzero(fresh))
    if view.arms - others > _MOST_UNTRIED:
        first = _order(view.arms, view.seed, _named(view, trained), trained)
        first = first[: others + _MOST_UNTRIED]
        tried[first[fresh[first]][:_MOST_UNTRIED]] = True
        return np.flatnonzero(tried)
    return np.flatnonzero(tried | fresh)


@lru_cache(maxsize=2)
def _order(arms: int, seed: int, named: _Same | None, trained: NetworkWeights) -> IntArray:
    """The order in which untried arms are looked at, [K].

    By chance, but first come some that are expected to end best, if names tell.
    """
    order = np.argsort(np.random.default_rng((seed, _CHANCE)).random(arms))
    if named is None or not _names_tell(named, trained):
        return order
    said = opinions(np, trained, named.array[order[:_SOME]])[:, 0]
    first = np.argsort(-said, kind="stable")[:_LIKED]
    return np.concatenate([order[first], np.delete(order, first)])


def observe(view: View, rows: IntArray, trained: NetworkWeights) -> tuple[Moment, Geometry]:
    """The state of these arms, and how their configurations lie."""
    curves = view.curves
    n = -(-curves.count_by_arm[rows] // view.unit)
    tried = np.searchsorted(rows, curves.visited)
    shape = _geometry(_Same(view.features), _named(view, trained), rows.tobytes(), trained)
    latest = curves.visited[curves.reports[-1, 0]] if len(curves.reports) else -1
    flying = np.zeros(view.arms)
    flying[view.pending] = 1.0
    moment = Moment(
        q=improvements(view, tried, len(rows), int(n.max(initial=0))),
        n=n,
        r=view.bought_now[rows].astype(float),
        total=float(view.full),
        exists=np.ones(len(rows)),
        open=view.choosable[rows].astype(float),
        last=(rows == latest).astype(float),
        flying=flying[rows],
        workers=float(max(view.lanes, view.split)),
        covariance=_followed(shape).after(tried.tobytes()),
    )
    return moment, shape


@lru_cache(maxsize=2)
def _geometry(
    configs: _Same, named: _Same | None, rows: bytes, trained: NetworkWeights
) -> Geometry:
    """Neighbourhoods and opinions, made once for a study and not for every decision."""
    chosen = np.frombuffer(rows, np.int64)
    x = configs.array[chosen].astype(float)
    said = np.zeros((len(x), OPINIONS))
    if named is not None:
        said = opinions(np, trained, named.array[chosen].astype(float))
    return geometry(np, x, np.ones(len(x)), np.ones(x.shape[1]), said)


class _Followed:
    """The covariance of what arms are like, followed from tried arm to tried arm.

    It is always made arm by arm in the order in which they were first reported, so a study that
    is resumed gets the same numbers to the last bit.
    """

    def __init__(self, prior: FloatArray) -> None:
        self._prior = prior
        self._latest = (b"", prior)

    def after(self, tried: bytes) -> FloatArray:
        """Once these have been tried, indices in their order, [R, R]."""
        before, covariance = self._latest
        if not tried.startswith(before):
            before, covariance = b"", self._prior
        for arm in np.frombuffer(tried[len(before) :], np.int64):
            covariance = tried_too(covariance, int(arm))
        self._latest = (tried, covariance)
        return covariance


@lru_cache(maxsize=2)
def _followed(shape: Geometry) -> _Followed:
    return _Followed(shape.prior)


def tried_too(covariance: FloatArray, arm: int) -> FloatArray:
    """Covariance of what arms are like once one more has been tried, [R, R]."""
    column = covariance[:, arm]
    left: FloatArray = covariance - np.outer(column, column / (column[arm] + NOISE))
    return left


def improvements(view: View, tried: IntArray, looked: int, longest: int) -> FloatArray:
    """q, zero where not observed, [R, longest + 1] (at least two columns).

    Args:
        view: The study.
        tried: Where the visited arms are among those looked at, [V].
        looked: How many these are, R.
        longest: The most units that any arm has had.
    """
    curves, unit = view.curves, view.unit
    q = np.zeros((max(longest, 1) + 1, looked))
    if longest:
        losses = curves.losses[:, : curves.longest]
        usable = curves.observed & np.isfinite(losses)
        start = untrained_loss(curves, view.untrained)
        gained = np.where(usable, start - losses, 0.0)
        gained = np.maximum.accumulate(np.maximum(gained, 0.0), axis=1)
        ends = np.minimum(np.arange(unit, longest * unit + 1, unit), curves.longest) - 1
        q[1:, tried] = gained.T.take(ends, axis=0)
    return q.T  # features run over units first
