"""A peer behind the interface of a policy, so that the one simulator runs them all.

The accounting is everybody's: a unit at a time, resumed where the arm stands, a hard stop at the
budget. A peer is told the lowest loss so far after every unit, at most that of the untrained model:
that is what a run is scored by, and no peer has to cope with NaN, infinity or 1e30.

Deciding sends nothing but answers to the peer's process, so the time of a decision is the peer's
own thinking and a pipe's few microseconds; starting the process and imports are not in it.
"""

import numpy as np

from bhpt.bench.peers.cells import equal_cells
from bhpt.bench.peers.process import PeerBegin, PeerProcess, PeerRequest
from bhpt.domain import FloatArray, Misuse, View
from bhpt.policies.interface import Decision, Explanation

_IDLE = 1000  # requests in a row for what is trained already: the peer has nothing new to try
_APART = 1e-4  # between configurations that are the same: the same arm must not be meant twice


class PeerPolicy:
    """Follows what a peer asks for. Unlike our policies it lives through one run and keeps state.

    A peer's process cannot be asked about a past that it has not lived through, so a view must
    continue the run that this object is in, or be the first of a new one.
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
        """Do what does not belong to any decision before decisions are timed."""
        equal_cells(distinct(features))

    def decide(self, view: View) -> Decision | None:
        """The next unit that the peer wants; what it leaves over goes to the best arm."""
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
        """Begin a run, or check that this view is the next moment of the one begun."""
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
            values = told(view, self._request.arm)
            if len(values) < self._request.to:
                return
            self._request = self._process.answer(self._run, values)
        self._request = None


def told(view: View, arm: int) -> list[float]:
    """What a peer hears of an arm: min(ℓ_0, lowest loss so far) after each of its units."""
    if view.untrained is None:
        raise Misuse("a peer needs the loss of an untrained model: none is known")
    curve = view.curves.of_arm(arm)
    usable = np.where(np.isfinite(curve), curve, np.inf)
    lowest = np.minimum(np.minimum.accumulate(usable), view.untrained)
    ends = [*range(view.unit, len(curve), view.unit), len(curve)] if len(curve) else []
    return [float(lowest[end - 1]) for end in ends]


def distinct(features: FloatArray) -> FloatArray:
    """Features of which no two rows are the same, moved by as little as can be, [K, D]."""
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
