"""Predicted continuations of learning curves: a fan of quantiles for every arm that can go on.

Notation:
    K  arms, A  some of them, L  rungs of a ladder of further units, Q  probabilities.
"""

from dataclasses import dataclass, replace

import numpy as np

from bhpt.beliefs.predictor import Ends, Predictor, doubling_horizons
from bhpt.domain import FloatArray, IntArray, Memory, View
from bhpt.reports.worlds import look_at
from bhpt.study import State
from bhpt.study.threads import one_thread

PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Fans:
    """How arms are predicted to go on.

    The predicted value is the best that an arm will have reached by an epoch, not the one of that
    epoch alone.

    Attributes:
        arms: Which, those with the best predicted ends first, [A].
        epochs: Epochs at which each is predicted; the first is where it stands, [A, L].
        quantiles: Of the best value of the metric by then, at `PROBABILITIES`, [A, L, Q].
        assumed: Additional budget that this takes: 0 if what is left can go to any of them.
    """

    arms: IntArray
    epochs: IntArray
    quantiles: FloatArray
    assumed: float = 0.0

    def of(self, arms: IntArray) -> "Fans":
        """The fans of those of the arms that have one."""
        places = np.flatnonzero(np.isin(self.arms, arms))
        return replace(
            self,
            arms=self.arms[places],
            epochs=self.epochs[places],
            quantiles=self.quantiles[places],
        )


def fans_of(state: State, predictor: Predictor, memory: Memory) -> Fans | None:
    """The fans of all arms that were trained and can go on; None if nothing is known.

    Each reaches as far as the arm could be trained with what is left of the budget, all of it; once
    nothing is left, with the same budget again.

    Args:
        state: The study.
        predictor: Its predictor.
        memory: What the predictor has prepared for it.
    """
    if state.best is None:
        return None
    for amount in (0.0, state.ledger.budget.amount):
        looked = look_at(state, amount)
        if looked is not None:
            with one_thread():
                return _fans(state, predictor, replace(looked[0], memory=memory), amount)
    return None


def _fans(state: State, predictor: Predictor, view: View, assumed: float) -> Fans | None:
    ends = predictor.predict(view)
    mean = ends.mean()
    visited = view.curves.visited
    arms = visited[np.isfinite(mean[visited]) & (view.horizon[visited] > 0)]
    if not len(arms):
        return None
    arms = arms[np.argsort(mean[arms], kind="stable")]
    ladder = doubling_horizons(int(view.horizon.max()))
    losses = np.stack([_rung(ends, view, arms, units) for units in ladder], axis=1)
    # paths never rise: an earlier rung is no better than a later one, and the last is the end
    losses = np.maximum.accumulate(losses[:, ::-1], axis=1)[:, ::-1]
    units = np.minimum(ladder[None, :], view.horizon[arms][:, None])
    count = view.curves.count_by_arm[arms][:, None]
    epochs = np.minimum(count + units * view.unit, view.curves.epochs)
    values = losses if state.plan.objective.mode == "min" else -losses[:, :, ::-1]
    return Fans(arms, epochs, values, assumed)


def _rung(ends: Ends, view: View, arms: IntArray, units: int) -> FloatArray:
    """Quantiles of the lowest loss of arms after so many further units, [A, Q]."""
    if not units:
        now: FloatArray = np.repeat(view.curves.best_by_arm[arms][:, None], len(PROBABILITIES), 1)
        return now
    reached = ends.within(np.minimum(units, view.horizon)).quantiles(PROBABILITIES)
    found: FloatArray = reached[:, arms].T
    return found
