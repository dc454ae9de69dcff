"""The schedules the plain way: one worker, one unit after the other, no state between decisions.

The oracle for what one worker does on a fixed set of arms.
"""

from collections.abc import Callable, Iterator

import numpy as np

from bhpt.bench.tasks import Task
from bhpt.policies.schedules import brackets, halving_rungs, ladder

Plain = Callable[["Run"], Iterator[int]]


class Run:
    """A table that is trained as a schedule asks."""

    def __init__(self, task: Task, budget: int, seed: int) -> None:
        self.task, self.budget = task, budget
        self.arms, self.units = task.arms, -(-task.epochs // task.unit)
        self.rng = np.random.default_rng((seed, 2))
        self.done = [0] * task.arms
        self.best = [np.inf] * task.arms
        self.trained: list[int] = []

    def train(self, arm: int) -> None:
        at = self.done[arm] * self.task.unit
        losses = self.task.losses[arm, at : at + self.task.unit]
        self.best[arm] = min([self.best[arm], *losses[np.isfinite(losses)]])
        self.done[arm] += 1
        self.trained.append(arm)

    def ranked(self, arms: list[int]) -> list[int]:
        return sorted(arms, key=lambda arm: self.best[arm])

    def shuffled(self) -> list[int]:
        return [int(arm) for arm in self.rng.permutation(self.arms)]


def run(schedule: Plain, task: Task, budget: int, seed: int) -> list[int]:
    """Arms of the units, in order."""
    made = Run(task, budget, seed)
    for arm in schedule(made):
        if len(made.trained) == budget:
            break
        made.train(arm)
    return made.trained


def _to(board: Run, arm: int, units: int) -> Iterator[int]:
    while board.done[arm] < min(units, board.units):
        yield arm


def leftovers(board: Run) -> Iterator[int]:
    for arm in board.ranked(list(range(board.arms))):
        yield from _to(board, arm, board.units)


def random_search(board: Run) -> Iterator[int]:
    for arm in board.shuffled():
        yield from _to(board, arm, board.units)


def hyperband(board: Run) -> Iterator[int]:
    while True:
        before = len(board.trained)
        for bracket in brackets(board.units):
            first = min(bracket[0][0], board.arms)
            arms = board.rng.choice(board.arms, size=first, replace=False).tolist()
            for rung, (keep, units) in enumerate(bracket):
                arms = board.ranked(arms)[:keep] if rung else arms
                for arm in arms:
                    yield from _to(board, arm, units)
        if len(board.trained) == before:
            yield from leftovers(board)
            return


def successive_halving(board: Run) -> Iterator[int]:
    rungs = halving_rungs(board.budget, board.arms, board.units)
    arms = board.shuffled()[: rungs[0][0]]
    for rung, (keep, units) in enumerate(rungs):
        arms = board.ranked(arms)[:keep] if rung else arms
        for arm in arms:
            yield from _to(board, arm, units)
    yield from leftovers(board)


def i_epoch(units: int) -> Plain:
    def schedule(board: Run) -> Iterator[int]:
        kept = min(max(board.units - units, 0), board.budget // 2)
        arms = board.shuffled()[: max(1, min(board.arms, (board.budget - kept) // units))]
        for arm in arms:
            yield from _to(board, arm, units)
        for arm in board.ranked(arms):
            yield from _to(board, arm, board.units)
        yield from leftovers(board)

    return schedule


def asha(board: Run, eta: int = 3) -> Iterator[int]:
    levels = ladder(board.units)
    rungs: list[dict[int, float]] = [{} for _ in levels]
    promoted: list[set[int]] = [set() for _ in levels]
    fresh = board.shuffled()[::-1]
    while True:
        move = _promotion(rungs, promoted, eta)
        if move is not None:
            arm, rung = move
            promoted[rung - 1].add(arm)
        elif fresh:
            arm, rung = fresh.pop(), 0
        else:
            break
        yield from _to(board, arm, levels[rung])
        rungs[rung][arm] = board.best[arm]
    yield from leftovers(board)


def _promotion(
    rungs: list[dict[int, float]], promoted: list[set[int]], eta: int
) -> tuple[int, int] | None:
    for rung in range(len(rungs) - 2, -1, -1):
        held = rungs[rung]
        for arm in sorted(held, key=held.__getitem__)[: len(held) // eta]:
            if arm not in promoted[rung]:
                return arm, rung + 1
    return None


BY_NAME: dict[str, Plain] = {
    "random": random_search,
    "hyperband": hyperband,
    "sh": successive_halving,
    "asha": asha,
    "i-epoch": i_epoch(1),
    "2-epoch": i_epoch(2),
    "5-epoch": i_epoch(5),
}
