"""From a state to what a policy may look at: prices, horizons, what is left.

The safety rule: a unit is started only if its predicted cost fits into what is left. Where
costs are predicted (seconds, dollars) the prediction is `MARGIN` standard deviations above the
typical cost; when no unit is that safe any more, one whose typical cost fits may still start,
because what is left would be wasted otherwise, and it is stopped in time if it runs over. Money
has to pay for the time in which a unit is stopped too, so that much is never promised. Epochs
are exact. When not even one unit fits, the last one is shorter. What is counted, and how, is asked
of the budget's kind.

Notation:
    K  arms.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bhpt.domain import BoolArray, Curves, FloatArray, IntArray, Memory, Misuse, View
from bhpt.study.state import State
from bhpt.study.unit_times import PaceModel, Timings

MARGIN = 1.64
"""Standard deviations: about one unit in twenty takes longer than its safe prediction."""

_ROUNDING = 1e-9
_NEARLY_ALL = 0.95  # of the arms must be able to have a unit, where it could be shorter


@dataclass(frozen=True, eq=False)
class Prospects:
    """What the next unit of every arm would take.

    Attributes:
        unit: Epochs in a unit now; fewer than planned when only a shorter one fits.
        epochs: Epochs that it trains, those trained again included, [K].
        times: What is known of durations; None before anything was timed.
        starts: Arms that have to be started from nothing first, [K].
        typical: Typical cost, [K].
        safe: Cost that is exceeded only rarely, [K].
        possible: Arms that are not finished, given up or in flight, [K].
    """

    unit: int
    epochs: IntArray
    times: PaceModel | None
    starts: BoolArray
    typical: FloatArray
    safe: FloatArray
    possible: BoolArray

    @property
    def starts_alone(self) -> bool:
        """Whether nothing was timed but first units that pay for a start: prices are guesses."""
        return self.times is not None and self.times.start.unknown

    def seconds(self, arm: int, own: Timings) -> float | None:
        """The typical duration of an arm's next unit, None before anything was timed.

        Args:
            arm: Which.
            own: What is known of it.
        """
        if self.times is None:
            return None
        training = float(self.epochs[arm]) * self.times.typical(arm, own)
        return training + self.times.start_s * float(self.starts[arm])


Reruns = Callable[[int], int]
"""Epochs of an arm that would have to be trained again before its next unit."""


def priced_view(
    state: State, reruns: Reruns | None = None, memory: Memory | None = None
) -> tuple[View, Prospects] | None:
    """The view of a state and the prices behind it; None if no unit can be started.

    Args:
        state: The study.
        reruns: Who knows better than the log which tried arms could go on where they stopped.
        memory: What was prepared for this study; a fresh one if None.
    """
    known = _known_reruns(state, reruns)
    times = _pace_model(state)
    left = state.ledger.left - stopping(state)
    prospects = _fair_prospects(state, times, known, left)
    if not _fitting(prospects, prospects.typical, left).any():
        shorter = _shorter_unit(state, times, known, left)
        if shorter is None:
            return None
        prospects = _prospects(state, times, known, shorter)
    safe = _fitting(prospects, prospects.safe, left)
    typical = _fitting(prospects, prospects.typical, left)
    startable = safe if safe.any() else typical
    if not startable.any():
        return None
    view = _view(state, prospects, startable, Memory() if memory is None else memory)
    return view, prospects


def _fair_prospects(
    state: State, times: PaceModel | None, reruns: IntArray, left: float
) -> Prospects:
    """Prices of units that are short enough for nearly every arm to have one.

    Where units have grown, they shrink again near the end: else only arms whose epochs are cheap
    could be started there, however bad they are.
    """
    training, unit = state.plan.training, state.unit
    while True:
        prospects = _prospects(state, times, reruns, unit)
        fits = _fitting(prospects, prospects.safe, left)[prospects.possible]
        if unit <= training.unit or not len(fits) or fits.mean() >= _NEARLY_ALL:
            return prospects
        unit = max(training.unit, unit // 2 // training.unit * training.unit)


def _pace_model(state: State) -> PaceModel | None:
    """What the arms that ran last say about paces; all of them where those say nothing."""
    features, tried = _arms(state)[1], state.tried
    model = PaceModel.fit(features, tried.latest_timings)
    if model is not None and model.start.unknown and len(tried) > model.arms:
        return PaceModel.fit(features, tried.timings)
    return model


def stopping(state: State) -> float:
    """What must be left to stop a unit; nothing with ask and tell, where nobody stops any."""
    return 0.0 if state.plan.trainer is None else state.ledger.budget.rules.stopping


def _view(state: State, prospects: Prospects, startable: BoolArray, memory: Memory) -> View:
    """The policy's view, at true prices."""
    curves, features = _arms(state)
    side_by_side = state.session_workers
    shared = state.ledger.budget.rules.shared
    return View(
        curves=curves,
        unit=prospects.unit,
        left=state.ledger.left,
        costs=prospects.typical,
        features=features,
        untrained=state.plan.training.untrained,
        pending=_flying_arms(state),
        seed=state.plan.seed,
        lanes=side_by_side if shared else 1,
        split=1 if shared else side_by_side,
        tokens=state.tokens,
        earlier=state.earlier,
        startable=startable,
        first_arms=state.first_arms,
        memory=memory,
    )


def _arms(state: State) -> tuple[Curves, FloatArray]:
    if state.curves is None or state.features is None:
        raise Misuse("the study has no arms yet")
    return state.curves, state.features


def _flying_arms(state: State) -> IntArray:
    """Arms with a unit in flight, each once, in the order decided, [P]."""
    arms = dict.fromkeys(state.open_arms)
    return np.fromiter(arms, np.int64, len(arms))


def _prospects(state: State, times: PaceModel | None, reruns: IntArray, unit: int) -> Prospects:
    """Prices of one unit of `unit` epochs, or what is left of an arm if that is less."""
    curves, _ = _arms(state)
    rules = state.ledger.budget.rules
    done = curves.count_by_arm
    fresh = np.minimum(unit, curves.epochs - done)
    epochs = np.maximum(fresh + reruns, 1)
    starts = epochs == done + fresh
    seconds = longest = None
    if times is not None and rules.by_time:
        paces = times.paces(state.tried.timings)
        once = starts * times.start_s
        seconds, longest = once + epochs * paces.typical, once + epochs * paces.safe(MARGIN)
    typical = rules.unit_costs(epochs, seconds)
    safe = rules.unit_costs(epochs, longest) if rules.by_time else typical
    possible = fresh > 0
    possible[state.tried.columns.given_up] = False
    possible[_flying_arms(state)] = False
    return Prospects(unit, epochs, times, starts, typical, safe, possible)


def _known_reruns(state: State, reruns: Reruns | None) -> IntArray:
    """Epochs that each arm would have to train again first, [K].

    The log knows all about arms whose last epoch is in a checkpoint. Of the others, a trainer may
    be alive if it has trained since the driver took over; only the arms that ran last are asked
    about, so that this costs the same in a long study. The others are priced without a trainer.
    The trainer of an arm in flight lives: after that unit nothing has to be trained again.
    """
    curves, _ = _arms(state)
    tried = state.tried.columns
    done = curves.count_by_arm[tried.arms]
    known = np.zeros(curves.arms, np.int64)
    if reruns is None:
        known[tried.arms] = np.maximum(done - tried.ready, 0)  # nothing, of a study as before
        return known
    known[tried.arms] = np.maximum(done - tried.held, 0)
    flying = _flying_arms(state)
    known[flying] = 0
    if (tried.ready > tried.held).any():
        lives = np.zeros(curves.arms, bool)
        lives[tried.arms] = (tried.held < done) & (tried.ready > tried.held)
        lives[flying] = False
        latest = state.tried.latest_arms
        for arm in latest[lives[latest]].tolist():
            known[arm] = reruns(arm)
    return known


def _fitting(prospects: Prospects, costs: FloatArray, left: float) -> BoolArray:
    """Arms whose next unit can be paid for, [K]."""
    fits: BoolArray = prospects.possible & (costs <= left * (1 + _ROUNDING))
    return fits


def _shorter_unit(
    state: State, times: PaceModel | None, reruns: IntArray, left: float
) -> int | None:
    """The longest unit that some arm can still pay for, so that nothing is wasted."""
    training = state.plan.training
    one = _prospects(state, times, reruns, training.step)
    each = one.typical / one.epochs
    affordable = np.floor(left / each * (1 + _ROUNDING)) - (one.epochs - training.step)
    if not one.possible.any():
        return None
    longest = int(affordable[one.possible].max())
    shorter = min(longest, state.unit) // training.step * training.step
    return shorter if shorter >= training.step else None
