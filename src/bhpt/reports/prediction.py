"""What the predictor of a study predicts of it now: for the live view and `status`."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bhpt.beliefs.predictor import Predictor
from bhpt.domain import Memory, Objective, View
from bhpt.policies.study_predictor import predictor_named
from bhpt.reports.hindsight import trust
from bhpt.reports.worlds import (
    Outcome,
    Worlds,
    draw_worlds,
    is_priced,
    is_spent,
    look_at,
    no_better,
    one_worker,
)
from bhpt.study import State
from bhpt.study.threads import one_thread

_INTERVAL = (0.05, 0.95)
_GROWN = 1.2  # the trust is computed again when there are so many times the reports
_SHARE = 0.05  # of the time may be spent on predictions for a live view
_STEP = 0.1  # of the budget: by then a view of a short study should show another prediction
_MOST = 0.15  # of the time may be spent to keep up with the budget
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Interval:
    """A value that is not known yet: a middle and the ends of a 90% interval."""

    low: float
    middle: float
    high: float

    def at_best(self, best: float) -> "Interval | None":
        """The same once a better loss is there: nothing ends above its best.

        None if the best is below what was expected: then the prediction has been overtaken, and
        cut at the best it would say that nothing better is to come.
        """
        if best < self.middle - _ROUNDING * abs(self.middle):
            return None
        return replace(self, middle=min(self.middle, best), high=min(self.high, best))

    def shown(self, objective: Objective) -> "Interval":
        """An interval of losses as one of the metric, in the user's direction."""
        if objective.mode == "min":
            return self
        return Interval(-self.high, -self.middle, -self.low)


@dataclass(frozen=True)
class StudyPrediction:
    """Where a study and its arms will end, with what is left of its budget.

    Attributes:
        final: The best loss of the study at its end.
        ends: The lowest loss of each arm if what is left went to it, where that is known, as the
            predictor says it: the reasons that are stored with decisions name the same.
    """

    final: Interval
    ends: dict[int, Interval] = field(default_factory=dict)

    def at_best(self, best: float) -> "StudyPrediction | None":
        """The same once the study has a better loss; None if its end has been overtaken."""
        final = self.final.at_best(best)
        return None if final is None else replace(self, final=final)


Predict = Callable[[State], StudyPrediction | None]
"""What is predicted of a study; None before anything is known, and when nothing can go on."""


def predict_study(
    state: State,
    predictor: Predictor | None = None,
    memory: Memory | None = None,
    believed: float | None = None,
) -> StudyPrediction | None:
    """What the study's predictor predicts now; None if nothing is known or can go on.

    Nothing is known either while no unit without a start in it was timed (`worlds.is_priced`).

    Args:
        state: The study.
        predictor: Its predictor; that of the policy that it remembers if None.
        memory: What the predictor has prepared for the study; a fresh one if None.
        believed: What `hindsight.trust` says of the study; computed from its past if None.
    """
    if state.best is None or is_spent(state) or not is_priced(state):
        return None
    if predictor is None:
        predictor = predictor_named(state.plan.policy)
    # units in flight go on when all else is spent
    amounts = (state.ledger.budget.amount,) if state.open else ()
    part = trust(state, predictor) if believed is None else believed
    worlds = draw_worlds(state, predictor, memory or Memory(), amounts, part)
    if worlds is None:
        return None
    outcome, alone = _outcome(state, worlds), one_worker(state)
    other = None if alone is None else draw_worlds(alone, predictor, Memory(), amounts, part)
    if alone is not None and other is not None:
        outcome = no_better(outcome, _outcome(alone, other))
    with one_thread():
        ends = _ends_of_arms(worlds.view, predictor)
    return StudyPrediction(Interval(outcome.low, outcome.expected, outcome.high), ends)


def _outcome(state: State, worlds: Worlds) -> Outcome:
    """What is left is expected to buy."""
    looked = look_at(state, 0.0)
    chance = worlds.chance(0.0 if looked is None else None, looked)
    return worlds.outcome(0.0, chance, worlds.played(chance))


def _ends_of_arms(view: View, predictor: Predictor) -> dict[int, Interval]:
    """Where each arm ends, as the predictor says of the losses themselves."""
    ends = predictor.predict(view)
    low, high = np.maximum(ends.quantiles(_INTERVAL), view.curves.lowest_possible)
    middle = np.clip(ends.mean(), low, high)
    known = np.flatnonzero(np.isfinite(middle))
    return {int(k): Interval(float(low[k]), float(middle[k]), float(high[k])) for k in known}


class LivePrediction:
    """Predictions for a view that is drawn again and again.

    A prediction is made again when there is something new, and never so often that it takes more
    than a small part of the time; a larger part where a tenth of the budget was spent since the
    last one, or where the study is better already than was predicted. What past predictions came
    to is looked at within the small part only.

    Args:
        policy: Name of the policy that decides, if not the one that the study remembers.
        memory: What the study's predictor has prepared.
        now: The time, in seconds.
    """

    def __init__(
        self,
        policy: str | None,
        memory: Memory,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy = policy
        self._memory = memory
        self._now = now
        self._seen: tuple[int, int] | None = None
        self._again_at = float("-inf")
        self._keep_up_at = float("-inf")
        self._keep_up_from = float("inf")
        self._latest: StudyPrediction | None = None
        self._predictor: Predictor | None = None
        self._believed = 0.0
        self._again_after = 0

    def __call__(self, state: State) -> StudyPrediction | None:
        """The latest prediction, a new one if it is time for it."""
        seen = (len(state.attempts), state.reports)
        started = self._now()
        if seen == self._seen or not (started >= self._again_at or self._behind(state, started)):
            if self._latest is None or state.best is None:
                return self._latest
            return self._latest.at_best(state.best.loss)
        if self._predictor is None:
            self._predictor = predictor_named(self._policy or state.plan.policy)
        if started >= self._again_at and state.reports >= self._again_after:
            self._believed = trust(state, self._predictor)
            self._again_after = int(_GROWN * state.reports) + 1
        trusted = self._now()
        self._latest = predict_study(state, self._predictor, self._memory, self._believed)
        ended = self._now()
        self._seen = seen
        self._again_at = ended + (ended - started) / _SHARE
        self._keep_up_at = ended + (ended - trusted) / _MOST
        self._keep_up_from = _used(state) + _STEP - _ROUNDING
        return self._latest

    def _behind(self, state: State, now: float) -> bool:
        """Whether the last prediction no longer fits, and another is cheap.

        It does not where much of the budget was spent since, or where the study is already better
        than it was expected to end.
        """
        if now < self._keep_up_at:
            return False
        latest, best = self._latest, state.best
        passed = latest is not None and best is not None and best.loss < latest.final.middle
        return passed or _used(state) >= self._keep_up_from


def _used(state: State) -> float:
    """The part of the budget that is spent."""
    return state.ledger.used / state.ledger.budget.amount
