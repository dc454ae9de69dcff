"""A table and a policy in, a trajectory out: one event a unit, a hard stop at the budget."""

import time
from dataclasses import dataclass

import numpy as np

from bhpt.bench.tasks import Task
from bhpt.domain import Curves, FloatArray, IntArray, Memory, Misuse
from bhpt.policies.interface import Policy


@dataclass(frozen=True, eq=False)
class Trajectory:
    """What a run did.

    Attributes:
        arms: Arm of each unit, in order, [n ≤ B].
        losses: Best finite loss of each unit, infinite if it had none, [n].
        decision_s: Seconds spent deciding, all decisions together.
    """

    arms: IntArray
    losses: FloatArray
    decision_s: float

    @property
    def best(self) -> float:
        """The output: the lowest loss seen, infinity if none was finite."""
        return float(self.losses.min(initial=np.inf))

    @property
    def output(self) -> int:
        """The arm that the output came from; -1 if no loss was finite."""
        return int(self.arms[self.losses.argmin()]) if np.isfinite(self.best) else -1


def simulate(task: Task, policy: Policy, budget: int, seed: int) -> Trajectory:
    """Run a policy on a table, `budget` units and not one more."""
    if budget < 1:
        raise Misuse(f"a budget needs at least one unit, not {budget}")
    curves = Curves.empty(task.arms, task.epochs)
    memory = Memory()
    arms, losses, seconds = [], [], 0.0
    for spent in range(budget):
        view = task.view(curves, budget - spent, seed, memory)
        started = time.perf_counter()
        decision = policy.decide(view)
        seconds += time.perf_counter() - started
        if decision is None:  # every arm is finished
            break
        unit = task.next_unit(curves, decision.arm)
        curves = curves.extend(decision.arm, unit)
        arms.append(decision.arm)
        losses.append(float(unit[np.isfinite(unit)].min(initial=np.inf)))
    return Trajectory(np.array(arms, np.int64), np.array(losses), seconds)


def curves_seen(task: Task, run: Trajectory) -> Curves:
    """The curves that a run has seen at its end; `Curves.first` has those of any unit before."""
    curves = Curves.empty(task.arms, task.epochs)
    for arm in run.arms.tolist():
        curves = curves.extend(arm, task.next_unit(curves, arm))
    return curves
