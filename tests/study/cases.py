"""A deterministic trainer and small policies for the tests of studies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bhpt.domain import View
from bhpt.policies.interface import Decision, Explanation
from bhpt.study import Keep, MemoryLog
from bhpt.study.events import Event


def loss_at(config: dict[str, float], epoch: int) -> float:
    """A learning curve that falls towards the distance of x from 0.3."""
    x = float(config["x"])
    return abs(x - 0.3) + math.exp(-epoch / (2 + 5 * x))


def losses_of(config: dict[str, float], done: int, epochs: int) -> list[float]:
    return [loss_at(config, done + 1 + place) for place in range(epochs)]


def into(log: MemoryLog) -> Keep:
    """Keep a new study in a log that the test can look at."""

    def keep(first: Sequence[Event]) -> MemoryLog:
        log.append(first, 0)
        return log

    return keep


CONFIGS = [{"x": value / 10} for value in range(11)]


@dataclass(frozen=True)
class Greedy:
    """Tries a random arm half of the time, else goes on with the best one."""

    def decide(self, view: View) -> Decision | None:
        arms = np.flatnonzero(view.choosable)
        if not len(arms):
            return None
        rng = view.rng()
        best = np.full(view.arms, np.inf)
        best[view.curves.visited] = view.curves.best_by_row
        arm = int(arms[best[arms].argmin()]) if rng.random() < 0.5 else int(rng.choice(arms))
        return Decision(arm, Explanation("a test", best, np.zeros(view.arms), best))
