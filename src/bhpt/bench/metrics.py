"""How good a run was, compared with perfect knowledge of all curves.

Notation:
    ℓ*_B  the best loss of any arm within B units spent on it alone
    R_B = (ℓ_π - ℓ*_B) / (ℓ_0 - ℓ*_B), normalised regret: 0 perfect, 1 no better than untrained
"""

from dataclasses import dataclass

import numpy as np

from bhpt.bench.simulate import Trajectory
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray


@dataclass(frozen=True)
class Score:
    """Metrics of one run; the names are the columns of results.csv."""

    loss: float
    regret: float
    top1: int
    top3: int
    top5: int
    share: float
    decision_s: float


def reachable(task: Task, budget: int) -> FloatArray:
    """Best loss of each arm within `budget` units, infinite if it has none, [K]."""
    seen = task.losses[:, : budget * task.unit]
    best: FloatArray = np.where(np.isfinite(seen), seen, np.inf).min(axis=1)
    return best


def score(task: Task, budget: int, run: Trajectory) -> Score:
    """Score a run. An untrained model is always available: regret counts no loss above ℓ_0."""
    best = reachable(task, budget)
    optimum = min(float(best.min()), task.untrained)
    room = task.untrained - optimum
    gap = min(run.best, task.untrained) - optimum
    rank = float(np.sum(best < best[run.output])) if run.output >= 0 else np.inf
    return Score(
        loss=run.best,
        regret=gap / room if room > 0 else 0.0,
        top1=int(rank < 1),
        top3=int(rank < 3),
        top5=int(rank < 5),
        share=float(np.sum(run.arms == run.output)) / budget,
        decision_s=run.decision_s,
    )
