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
    Geometry,
    Moment,
    features,
    geometry,
)
from bhpt.beliefs.learned.knowledge import opinions
from bhpt.beliefs.learned.weights import Trained
from bhpt.beliefs.scale import untrained_loss
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import BoolArray, FloatArray, IntArray, View

_MOST_UNTRIED = 100  # of more untried arms, as many by chance are looked at, as in training
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


def see(view: View, trained: Trained) -> Sight:
    """Look at a view, as a network does that knows what it knows."""
    rows = looked_at(view)
    moment, shape = observe(view, rows, trained)
    arms, study = features(np, moment, shape)
    return Sight(rows, moment, arms.astype(np.float32), study.astype(np.float32))


def at_rest(view: View) -> View:
    """The view as if nothing were in flight: the predictor was never shown arms that are."""
    return replace(view, pending=view.pending[:0]) if len(view.pending) else view


def looked_at(view: View) -> IntArray:
    """All arms that were tried, run or can, but of very many untried ones a random part, [R]."""
    tried = view.curves.count_by_arm > 0
    tried[view.pending] = True
    fresh = np.flatnonzero(view.choosable & ~tried)
    if len(fresh) > _MOST_UNTRIED:
        order = np.random.default_rng((view.seed, _CHANCE)).random(view.arms)
        fresh = fresh[np.argsort(order[fresh])[:_MOST_UNTRIED]]
    return np.sort(np.concatenate([np.flatnonzero(tried), fresh]))


def observe(view: View, rows: IntArray, trained: Trained) -> tuple[Moment, Geometry]:
    """The state of these arms, and how their configurations lie."""
    curves = view.curves
    n = -(-curves.count_by_arm[rows] // view.unit)
    said = _said(view, rows, trained)
    shape = _geometry(view.features[rows].astype(float).tobytes(), said.tobytes(), len(rows))
    last, flying = np.zeros(view.arms), np.zeros(view.arms)
    flying[view.pending] = 1.0
    if len(curves.reports):
        last[curves.visited[curves.reports[-1, 0]]] = 1.0
    moment = Moment(
        q=improvements(view, rows, int(n.max(initial=0))),
        n=n,
        r=view.bought(view.left)[rows].astype(float),
        total=float(view.full),
        exists=np.ones(len(rows), np.float32),
        open=view.choosable[rows].astype(float),
        last=last[rows],
        flying=flying[rows],
        workers=float(max(view.lanes, view.split)),
        covariance=posterior(shape.prior, n > 0),
    )
    return moment, shape


def _said(view: View, rows: IntArray, trained: Trained) -> FloatArray:
    """What is expected of these arms before anything is trained, [R, OPINIONS]."""
    if view.meanings is None:
        return np.zeros((len(rows), OPINIONS))
    return _opinions(view.meanings[rows].astype(float).tobytes(), len(rows), trained)


@lru_cache(maxsize=4)
def _opinions(meanings: bytes, arms: int, trained: Trained) -> FloatArray:
    """Opinions, asked once for a study and not for every decision."""
    said: FloatArray = opinions(np, trained, np.frombuffer(meanings).reshape(arms, -1))
    return said


@lru_cache(maxsize=2)
def _geometry(configurations: bytes, said: bytes, arms: int) -> Geometry:
    """Neighbourhoods, made once for a study and not for every decision."""
    x = np.frombuffer(configurations).reshape(arms, -1)
    expected = np.frombuffer(said).reshape(arms, OPINIONS)
    return geometry(np, x, np.ones(arms), np.ones(x.shape[1]), expected)


def improvements(view: View, rows: IntArray, longest: int) -> FloatArray:
    """q, zero where not observed, [R, longest + 1] (at least two columns)."""
    curves, unit = view.curves, view.unit
    q = np.zeros((len(rows), max(longest, 1) + 1))
    if longest:
        losses = curves.losses[:, : curves.longest]
        usable = curves.observed & np.isfinite(losses)
        start = untrained_loss(curves, view.untrained)
        gained = np.where(usable, start - np.where(usable, losses, 0.0), 0.0)
        gained = np.maximum.accumulate(np.maximum(gained, 0.0), axis=1)
        ends = np.minimum(np.arange(1, longest + 1) * unit, curves.longest) - 1
        q[np.searchsorted(rows, curves.visited), 1 : longest + 1] = gained[:, ends]
    return q


def posterior(prior: FloatArray, seen: BoolArray) -> FloatArray:
    """Covariance of what arms are like once some have been seen, [R, R]."""
    cross = prior[:, seen]
    root = cholesky(cross[seen] + NOISE * np.eye(int(seen.sum())))
    half = solve_lower(root, cross.T)
    left: FloatArray = prior - half.T @ half
    return left
