"""Every unit of a study as columns: the timeline, the burn-down and all curves are drawn from them.

Notation:
    N  attempts, E  observed epochs in all.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bhpt.domain import Curves, FloatArray, IntArray, Objective
from bhpt.study import State
from bhpt.study.attempts import Attempt

STATUSES = ("open", "observed", "failed")


@dataclass(frozen=True, eq=False)
class Units:
    """All attempts, by number.

    Attributes:
        attempt: Their numbers, [N].
        arm: Which configuration each trains, [N].
        done: Epochs of the arm before it, [N].
        epochs: Epochs that it trains, [N].
        status: Place in `STATUSES`, [N].
        lane: Which worker, counted from 0; the first idle one where the log names none, [N].
        started: Clock at which it was decided on, [N].
        ended: Clock at which it was settled, NaN while it is in flight, [N].
        used: What was gone of the budget once it was settled, NaN while it is in flight, [N].
        best: The best value of the metric once it was settled, NaN before there is one, [N].
        order: Its place among all settled ones, -1 while it is in flight, [N].
        values: The metric of its epochs, one unit after the other, none of those without, [E].
        message: Why it failed, by attempt.
    """

    attempt: IntArray
    arm: IntArray
    done: IntArray
    epochs: IntArray
    status: IntArray
    lane: IntArray
    started: FloatArray
    ended: FloatArray
    used: FloatArray
    best: FloatArray
    order: IntArray
    values: FloatArray
    message: dict[int, str]

    def of(self, attempts: IntArray) -> "Units":
        """Some of the attempts, by number, in the given order."""
        first = np.cumsum(self._observed) - self._observed
        own = [np.arange(first[n], first[n] + self._observed[n]) for n in attempts]
        places = np.concatenate(own) if own else np.zeros(0, np.int64)
        return Units(
            attempt=self.attempt[attempts],
            arm=self.arm[attempts],
            done=self.done[attempts],
            epochs=self.epochs[attempts],
            status=self.status[attempts],
            lane=self.lane[attempts],
            started=self.started[attempts],
            ended=self.ended[attempts],
            used=self.used[attempts],
            best=self.best[attempts],
            order=self.order[attempts],
            values=self.values[places],
            message={n: self.message[n] for n in attempts.tolist() if n in self.message},
        )

    @property
    def settled(self) -> IntArray:
        """Attempts in the order in which they were settled."""
        over = np.flatnonzero(self.order >= 0)
        ordered: IntArray = over[np.argsort(self.order[over])]
        return ordered

    @property
    def _observed(self) -> IntArray:
        """Values of each attempt, [N]."""
        return np.where(self.status == STATUSES.index("observed"), self.epochs, 0)


def units_of(state: State) -> Units:
    """Every attempt of a study."""
    attempts = list(state.attempts)
    arm, done, epochs = _whole(attempts)
    status = np.array([STATUSES.index(one.status) for one in attempts], np.int64)
    started = np.array([one.started for one in attempts], float)
    ended = np.array([np.nan if one.ended is None else one.ended for one in attempts], float)
    order = _order(ended)
    losses = _losses(state.curves, status, arm, done, epochs)
    return Units(
        attempt=np.arange(len(attempts)),
        arm=arm,
        done=done,
        epochs=epochs,
        status=status,
        lane=lanes(started, ended, [one.worker for one in attempts]),
        started=started,
        ended=ended,
        used=_used(state, np.array([one.cost for one in attempts], float), ended, order),
        best=_shown(state.plan.objective, _best(losses, status, epochs, order)),
        order=order,
        values=_shown(state.plan.objective, losses),
        message={one.number: one.message for one in attempts if one.status == "failed"},
    )


def changed_units(before: State, after: State) -> IntArray:
    """Attempts that are new or were in flight before, by number."""
    fresh = range(len(before.attempts), len(after.attempts))
    return np.array([*before.open, *fresh], np.int64)


def lanes(started: FloatArray, ended: FloatArray, workers: Sequence[int | None]) -> IntArray:
    """The lane of each attempt, [N]: its worker, else the first one that is free when it starts.

    Args:
        started: When, [N].
        ended: When, NaN for those in flight, [N].
        workers: Which worker the log names, None where it does not, [N].
    """
    free_from: list[float] = []
    found = np.zeros(len(started), np.int64)
    for place in np.argsort(started, kind="stable").tolist():
        lane = workers[place]
        if lane is None:
            idle = (n for n, at in enumerate(free_from) if at <= started[place])
            lane = next(idle, len(free_from))
        free_from += [0.0] * (lane + 1 - len(free_from))
        free_from[lane] = float("inf") if np.isnan(ended[place]) else float(ended[place])
        found[place] = lane
    return found


def _whole(attempts: list[Attempt]) -> tuple[IntArray, IntArray, IntArray]:
    """Arm, epochs before and epochs of each attempt, [N] each."""
    rows = [(one.unit.arm, one.done, one.unit.epochs) for one in attempts]
    columns = np.array(rows, np.int64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


def _order(ended: FloatArray) -> IntArray:
    """Place of each attempt among the settled ones, -1 for those in flight, [N]."""
    order = np.full(len(ended), -1)
    by_time = np.argsort(ended, kind="stable")  # NaN last
    settled = by_time[: int(np.isfinite(ended).sum())]
    order[settled] = np.arange(len(settled))
    return order


def _losses(
    curves: Curves | None, status: IntArray, arm: IntArray, done: IntArray, epochs: IntArray
) -> FloatArray:
    """The losses of all observed attempts, one after the other, [E]."""
    seen = np.flatnonzero(status == STATUSES.index("observed"))
    if curves is None or not len(seen):
        return np.zeros(0)
    row_of = np.zeros(curves.arms, np.int64)
    row_of[curves.visited] = np.arange(len(curves.visited))
    rows = np.repeat(row_of[arm[seen]], epochs[seen])
    first = np.cumsum(epochs[seen]) - epochs[seen]
    within = np.arange(len(rows)) - np.repeat(first, epochs[seen])
    losses: FloatArray = curves.losses[rows, np.repeat(done[seen], epochs[seen]) + within]
    return losses


def _best(losses: FloatArray, status: IntArray, epochs: IntArray, order: IntArray) -> FloatArray:
    """The lowest loss of the study once each attempt was settled, [N]."""
    lowest = np.full(len(status), np.inf)
    seen = np.flatnonzero(status == STATUSES.index("observed"))
    if len(seen):
        usable = np.where(np.isfinite(losses), losses, np.inf)
        lowest[seen] = np.minimum.reduceat(usable, np.cumsum(epochs[seen]) - epochs[seen])
    return _along(lowest, order, np.minimum)


def _used(state: State, cost: FloatArray, ended: FloatArray, order: IntArray) -> FloatArray:
    """What was gone of the budget once each attempt was settled, [N]."""
    rules = state.ledger.budget.rules
    spent = _along(cost, order, np.add)
    pairs = zip(spent.tolist(), ended.tolist(), strict=True)
    return np.array([rules.used(one, at) if at == at else np.nan for one, at in pairs], float)


def _along(values: FloatArray, order: IntArray, ufunc: np.ufunc) -> FloatArray:
    """Values accumulated in the order in which attempts were settled; NaN for the others, [N]."""
    found = np.full(len(values), np.nan)
    over = np.flatnonzero(order >= 0)
    settled = over[np.argsort(order[over])]
    found[settled] = ufunc.accumulate(values[settled])
    return found


def _shown(objective: Objective, losses: FloatArray) -> FloatArray:
    """Losses as values of the metric; what is infinite because there is none yet is NaN."""
    finite = np.where(np.isfinite(losses), losses, np.nan)
    return finite if objective.mode == "min" else -finite
