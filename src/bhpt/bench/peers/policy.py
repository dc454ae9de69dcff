"""A peer behind the interface of a policy, so that the one simulator runs them all.

The accounting is the same for all: one unit at a time, resumed where the arm stands, a hard stop at
the budget. A peer receives the lowest loss so far after every unit, at most that of the untrained
model: a run is scored by it, and no peer has to handle NaN, infinity or 1e30.

A decision only sends answers to the peer's process, so its time is the peer's computation and a few
microseconds for the pipe; starting the process and imports are not included.
"""

import numpy as np

from bhpt.bench.peers.cells import equal_cells
from bhpt.bench.peers.process import PeerBegin, PeerProcess, PeerRequest
from bhpt.domain import FloatArray, Misuse, View
from bhpt.policies.interface import Decision, Explanation

_IDLE = 1000  # requests in a row that need no training, after which the peer counts as done
_APART = 1e-4  # distance given to equal configurations, so that a point identifies one arm


class PeerPolicy:
    """Follows a peer's requests. Unlike other policies it keeps the state of one run.

    A peer's process cannot return to an earlier moment, so a view must continue the current run or
    be the first of a new one.
    """

    def __init__(self, name: str, method: str, process: PeerProcess) -> None:
        """Follow one method of a process that is running."""
        self._name = name
        self._method = method
        self._process = process
        self._run = 0
        self._trained: list[int] = []  # arm of every unit of this run, in order
        self._asked: int | None = None
        self._request: PeerRequest | None = None

    @staticmethod
    def get_ready(features: FloatArray) -> None:
        """Precompute what depends on the features only, before decisions are timed."""
        equal_cells(distinct(features))

    def decide(self, view: View) -> Decision | None:
        """The next unit that the peer requests; once it requests none, the best arm goes on."""
        if len(view.pending):
            raise Misuse(f"peer {self._name} decides one unit at a time: use one worker")
        if not view.choosable.any():
            return None
        self._follow(view)
        self._settle(view)
        if self._request is None:
            arm, why = _best_open(view), f"{self._name} is done: the rest goes to the best arm"
        else:
            arm, why = self._request.arm, f"{self._name}: to {self._request.to} units"
        if not view.choosable[arm]:
            return None
        self._asked = arm
        return Decision(arm, Explanation.in_words(why, view.arms))

    def _follow(self, view: View) -> None:
        """Begin a run, or check that this view continues the current one."""
        trained = view.curves.visited[view.curves.reports[:, 0]].tolist()
        if not trained:
            self._begin(view)
        elif trained == [*self._trained, self._asked]:
            self._trained = trained
        elif trained != self._trained:
            raise Misuse(f"peer {self._name} cannot go on with a run that it has not made itself")

    def _begin(self, view: View) -> None:
        self._trained = []
        points = distinct(view.features)
        self._run, self._request = self._process.begin(
            PeerBegin(
                method=self._method,
                points=points.tolist(),
                offsets=equal_cells(points).tolist(),
                units=view.full,
                budget=int(view.left / float(view.costs[0]) + 1e-9),
                seed=view.seed,
            )
        )

    def _settle(self, view: View) -> None:
        """Answer all requests that need no more training."""
        for _ in range(_IDLE):
            if self._request is None:
                return
            values = received_losses(view, self._request.arm)
            if len(values) < self._request.to:
                return
            self._request = self._process.answer(self._run, values)
        self._request = None


def received_losses(view: View, arm: int) -> list[float]:
    """Values of an arm that a peer receives: min(ℓ_0, lowest loss so far) after each unit."""
    if view.untrained is None:
        raise Misuse("a peer needs the loss of an untrained model: none is known")
    curve = view.curves.of_arm(arm)
    usable = np.where(np.isfinite(curve), curve, np.inf)
    lowest = np.minimum(np.minimum.accumulate(usable), view.untrained)
    ends = [*range(view.unit, len(curve), view.unit), len(curve)] if len(curve) else []
    return [float(lowest[end - 1]) for end in ends]


def distinct(features: FloatArray) -> FloatArray:
    """Features with equal rows moved apart by the smallest possible amount, [K, D]."""
    moved = np.array(features, float)
    seen: dict[bytes, int] = {}
    for arm, row in enumerate(np.round(features, 9)):
        before = seen.get(row.tobytes(), 0)
        seen[row.tobytes()] = before + 1
        inward = 1.0 if row[0] < 0.5 else -1.0
        moved[arm, 0] += inward * _APART * before
    return moved


def _best_open(view: View) -> int:
    """The best of the arms that can go on; a new one if no arm that was tried can."""
    return int(np.lexsort((view.curves.best_by_arm, ~view.choosable))[0])
