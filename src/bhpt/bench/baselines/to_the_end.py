"""Methods that train every arm they try to its end: what is common to them.

Such a method chooses a new arm only when the last one is finished, so its state can be read off
the view: an arm that was started is continued, and only then a new one is chosen.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bhpt.domain import FloatArray, IntArray, View
from bhpt.policies.interface import Decision, Explanation, SequentialPolicy, refuse_side_by_side


@dataclass(frozen=True, eq=False)
class Finished:
    """Arms trained to their end, in the order in which they were.

    Attributes:
        arms: Which, [F].
        losses: Best finite loss of each, ℓ_0 or the worst seen if it has none, [F].
    """

    arms: IntArray
    losses: FloatArray


class Chooser(Protocol):
    """Chooses the next arm to train to its end."""

    def choose(self, view: View, finished: Finished) -> Decision:
        """One of the arms that have not been tried."""
        ...


@dataclass(frozen=True, eq=False)
class ToTheEnd(SequentialPolicy):
    """A policy that trains each arm of a chooser to its end."""

    chooser: Chooser

    def decide(self, view: View) -> Decision | None:
        """Go on with the arm that was started; if there is none, choose one."""
        refuse_side_by_side(self, 1 + len(view.pending))
        if not view.choosable.any():
            return None
        started = view.curves.visited[view.choosable[view.curves.visited]]
        if started.size:
            arm = int(started[-1])
            return Decision(arm, Explanation.in_words("train it to the end", view.arms))
        return self.chooser.choose(view, finished(view))


def finished(view: View) -> Finished:
    """What has been trained to its end; a failed arm counts as the worst that was seen."""
    curves = view.curves
    done = curves.counts >= curves.epochs
    losses = curves.best_by_row[done]
    usable = losses[np.isfinite(losses)]
    worst = max(usable.max(initial=-np.inf), -np.inf if view.untrained is None else view.untrained)
    filled = np.where(np.isfinite(losses), losses, worst if np.isfinite(worst) else 0.0)
    return Finished(curves.visited[done], filled)


def untried(view: View) -> IntArray:
    """Arms that can be run and have not been, [U]."""
    return np.flatnonzero(view.choosable & (view.curves.count_by_arm == 0))
