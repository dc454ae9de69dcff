"""From a view to the inputs of the networks, for the arms that they look at (`looked_at`).

Notation:
    K  arms, R  arms looked at, T  units of a full training, n_k  units of arm k
    q_k(t) = ℓ_0 - lowest loss of arm k within t units, at least 0
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from bhpt.beliefs.experts import Advice, advice
from bhpt.beliefs.learned.arm_opinions import (
    expected,
    names_tell,
    opinions_by_expert,
    standings_among,
    tokens_read,
    trust_in_experts,
)
from bhpt.beliefs.learned.features import NOISE, Present, features, present_of
from bhpt.beliefs.learned.geometry import Geometry, Layout, layout, with_opinions
from bhpt.beliefs.learned.likeness import Likeness
from bhpt.beliefs.learned.looked_at import last_choice, looked_at
from bhpt.beliefs.learned.past import Moment, Past, past_of
from bhpt.beliefs.learned.weights import NetworkWeights
from bhpt.beliefs.scale import starting_level
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import Curves, FloatArray, IntArray, Slot, View

_NETWORKS = 2  # that look at arms of one study: one that chooses and one that predicts
_FEW = 128  # arms whose covariance is followed from tried arm to tried arm


@dataclass(frozen=True, eq=False)
class NetworkInputs:
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


def network_inputs(view: View, trained: NetworkWeights) -> NetworkInputs:
    """The inputs of a network; names count only for one that was trained with names."""
    rows = looked_at(view, trained)
    moment, shape = observe(view, rows, trained)
    past = seen_past(view, moment, shape)
    arms, study = features(np, moment, shape, past, seen_present(view, moment, past))
    return NetworkInputs(rows, moment, arms.astype(np.float32), study.astype(np.float32))


def at_rest(view: View) -> View:
    """The view with its horizons but without arms in flight or several workers.

    The predictor was not trained with any.
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


def experts_advice(view: View, arm: int, trained: NetworkWeights) -> Advice | None:
    """Each expert's opinion of an arm and of those that the network looks at; None without any.

    The trust is the weight with which `expected` combines them.
    """
    named = tokens_read(view, trained)
    if named is None or not names_tell(view, trained):
        return None
    rows = np.union1d(looked_at(view, trained), arm)
    opinions = opinions_by_expert(view, named, rows, trained)
    standings = standings_among(view.curves, view.unit, rows)
    return advice(rows, opinions, trust_in_experts(view, rows, opinions), standings)


def observe(
    view: View, rows: IntArray, trained: NetworkWeights, settled: int | None = None
) -> tuple[Moment, Geometry]:
    """The state of some arms, and how their configurations lie.

    Args:
        view: The study.
        rows: Which arms, in order, [R].
        trained: The network whose inputs they become.
        settled: How many arms had been tried when these arms were chosen; as the view says if None.
    """
    before = last_choice(view).visited if settled is None else settled
    common = view.memory.recall(_STATES, (view, rows, before), lambda: _state(view, rows, before))
    shape = _shape(view, rows, trained)
    covariance = _covariances(view, shape, trained).after(common.tried, common.settled)
    return replace(common.moment, covariance=covariance), shape


def _state(view: View, rows: IntArray, before: int) -> "_State":
    """What every network sees of some arms; see `observe`."""
    curves = view.curves
    place = np.full(view.arms, -1)
    place[rows] = np.arange(len(rows))
    tried = place[curves.visited]
    seen = np.flatnonzero(tried >= 0)
    latest = curves.visited[curves.reports[-1, 0]] if len(curves.reports) else -1
    flying = np.zeros(view.arms)
    flying[view.pending] = 1.0
    gained = view.memory.recall(_GAINED, (rows, view.unit), lambda: Improvements(rows, view.unit))
    moment = Moment(
        q=gained.of(curves, starting_level(view)),
        n=-(-curves.count_by_arm[rows] // view.unit),
        r=view.bought_now[rows].astype(float),
        total=float(view.full),
        exists=np.ones(len(rows)),
        open=view.choosable[rows].astype(float),
        last=(rows == latest).astype(float),
        flying=flying[rows],
        workers=float(max(view.lanes, view.split)),
        covariance=_NONE,
    )
    return _State(moment, tried[seen], int(np.searchsorted(seen, before)))


def seen_past(view: View, moment: Moment, shape: Geometry) -> Past:
    """What the curves of some arms have shown: once a view, for all networks that look at them.

    Args:
        view: The study, with its memory.
        moment: The state of the arms.
        shape: How their configurations lie.
    """
    inputs = (moment.n, moment.q, moment.total, shape.near)
    return view.memory.recall(_PASTS, inputs, lambda: past_of(np, moment, shape.near))


def seen_present(view: View, moment: Moment, past: Past) -> Present:
    """What some arms can still do: once a view, for all networks that look at them.

    Args:
        view: The study, with its memory.
        moment: The state of the arms.
        past: What their curves have shown.
    """
    inputs = (past, moment.r, moment.open, moment.n)
    return view.memory.recall(_PRESENTS, inputs, lambda: present_of(np, moment, past))


def _shape(view: View, rows: IntArray, trained: NetworkWeights) -> Geometry:
    """Neighbourhoods and opinions, made once for a choice of arms and not for every decision."""
    if view.earlier is not None:
        return _shape_of_opinions(view, rows, trained)
    slot: Slot[Geometry] = Slot("geometry of a choice of arms", trained)
    inputs = (view.features, tokens_read(view, trained), view.started_with, rows)
    return view.memory.recall(slot, inputs, lambda: _shape_of_opinions(view, rows, trained))


def _shape_of_opinions(view: View, rows: IntArray, trained: NetworkWeights) -> Geometry:
    """The same, made anew where configurations or the experts' opinions of them have changed."""
    opinions = expected(view, rows, trained)
    slot: Slot[Geometry] = Slot("geometry", trained)
    configs = view.features[rows].astype(float)
    exists = np.ones(len(rows))
    return view.memory.recall(
        slot,
        (configs, opinions),
        lambda: with_opinions(np, _layout(view, rows, configs), exists, opinions),
    )


def _layout(view: View, rows: IntArray, configs: FloatArray) -> Layout:
    """How configurations lie: once for all networks that look at them."""

    def make() -> Layout:
        alike = view.memory.recall(_LIKENESS, (), Likeness).of(view.features, rows)
        return layout(np, configs, np.ones(len(configs)), np.ones(configs.shape[1]), alike)

    return view.memory.recall(_LAYOUTS, (configs,), make)


def _covariances(view: View, shape: Geometry, trained: NetworkWeights) -> "Covariances":
    slot: Slot[Covariances] = Slot("covariances of arms", trained)
    return view.memory.recall(slot, (shape.prior,), lambda: Covariances(shape.prior))


class _State(NamedTuple):
    """What every network sees of some arms, whatever it was trained with.

    Attributes:
        moment: Their state, without a covariance.
        tried: Those that were tried, by their places, in their order, [V].
        settled: How many of these had been tried when the arms were chosen.
    """

    moment: Moment
    tried: IntArray
    settled: int


_NONE = np.zeros((0, 0))
_STATES: Slot[_State] = Slot("state of arms", room=_NETWORKS)
_PASTS: Slot[Past] = Slot("past of arms", room=_NETWORKS)
_PRESENTS: Slot[Present] = Slot("present of arms", room=_NETWORKS)
_LAYOUTS: Slot[Layout] = Slot("layout of arms", room=_NETWORKS)
_LIKENESS: Slot[Likeness] = Slot("likeness of arms by column", whole=True)


class Covariances:
    """The covariance of what arms are like, given which of them have been tried.

    Of few arms it is made arm by arm, in the order in which they were first reported. Of many,
    those that had been tried when the arms looked at were chosen are taken in at once, and the
    others one by one. The latest result is where the next one begins; results do not depend on
    earlier calls.

    Args:
        prior: Before any arm has been tried, [R, R].
    """

    def __init__(self, prior: FloatArray) -> None:
        self._prior = prior
        self._base = (b"", prior)
        self._latest = (b"", prior)

    def after(self, tried: IntArray, settled: int) -> FloatArray:
        """The covariance once some arms have been tried, [R, R].

        Args:
            tried: Which, by their places, in their order, [V].
            settled: How many of them had been tried when the arms looked at were chosen.
        """
        first = tried[: settled if len(self._prior) > _FEW else 0].tobytes()
        if first != self._base[0]:
            made = after_trying(self._prior, np.frombuffer(first, np.int64))
            self._base = self._latest = (first, made)
        wanted = tried.tobytes()
        before, covariance = self._latest
        if not wanted.startswith(before) or not before.startswith(first):
            before, covariance = self._base
        for arm in np.frombuffer(wanted[len(before) :], np.int64):
            covariance = tried_too(covariance, int(arm))
        self._latest = (wanted, covariance)
        return covariance


def tried_too(covariance: FloatArray, arm: int) -> FloatArray:
    """Covariance of what arms are like once one more has been tried, [R, R]."""
    column = covariance[:, arm]
    left: FloatArray = np.multiply.outer(column, column / (column[arm] + NOISE))
    return np.subtract(covariance, left, out=left)


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


class Improvements:
    """q of some arms, followed from report to report.

    Only arms whose curves have become longer are computed anew; results do not depend on earlier
    calls.

    Args:
        rows: Which arms, [R].
        unit: Epochs in a unit.
    """

    def __init__(self, rows: IntArray, unit: int) -> None:
        self._rows = rows
        self._unit = unit
        self._record: object = None
        self._start = np.nan
        self._counts = np.zeros(len(rows), np.int64)
        self._q = np.zeros((2, len(rows)))
        self._by_arm = self._q.T

    def of(self, curves: Curves, start: float) -> FloatArray:
        """q, zero where not observed, [R, units of the longest + 1] (at least two columns).

        Args:
            curves: Of all arms.
            start: The loss from which improvements are counted.
        """
        counts = curves.count_by_arm[self._rows]
        if curves.record is not self._record or start != self._start:
            self._counts = np.zeros_like(counts)
            self._q = np.zeros((2, len(counts)))
        changed = np.flatnonzero(counts != self._counts)
        if len(changed) or curves.record is not self._record or start != self._start:
            longest = -(-int(counts.max(initial=0)) // self._unit)
            q = np.zeros((max(longest, 1) + 1, len(counts)))
            shared = min(len(q), len(self._q))
            q[:shared] = self._q[:shared]
            q[:, changed] = 0.0
            tried = changed[counts[changed] > 0]
            rows = curves.rows(self._rows[tried])
            q[1 : longest + 1, tried] = improvements(curves, rows, self._unit, longest, start)
            self._record, self._start, self._counts, self._q = curves.record, start, counts, q
            self._by_arm = q.T  # features run over units first
        return self._by_arm


_GAINED: Slot[Improvements] = Slot("improvements", room=_NETWORKS)


def improvements(
    curves: Curves, rows: IntArray, unit: int, longest: int, start: float
) -> FloatArray:
    """Improvements of some arms after each of so many units, [longest, A].

    Args:
        curves: Of all arms.
        rows: Rows of these arms in the curves, [A].
        unit: Epochs in a unit.
        longest: Units; at least as many as each of the arms has had.
        start: The loss from which improvements are counted.
    """
    stop = min(longest * unit, curves.longest)
    losses = curves.losses[rows, :stop]
    usable = (np.arange(stop) < curves.counts[rows][:, None]) & np.isfinite(losses)
    gained = np.where(usable, start - losses, 0.0)
    gained = np.maximum.accumulate(np.maximum(gained, 0.0), axis=1)
    ends = np.minimum(np.arange(unit, longest * unit + 1, unit), stop) - 1
    return np.asarray(gained.T.take(ends, axis=0))
