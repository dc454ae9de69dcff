"""Rules that follow a schedule: random search, Hyperband, successive halving, i-Epoch, ASHA.

A schedule is a generator over a `Board`: it yields the arm whose next unit it wants and may look
at the losses of everything it has asked for. To decide, the schedule is replayed over the units
that have been reported, and the first unit that has not been is the decision. So a schedule has
no state of its own and survives a restart, and it counts every unit once: arms that come up
again resume where they were.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bhpt.domain import FloatArray, IntArray, View
from bhpt.policies.interface import Decision, Explanation, refuse_side_by_side

Request = tuple[int, str]
Schedule = Callable[["Board"], Iterator[Request]]


class Board:
    """What a schedule sees while it is replayed: its own requests and their results.

    Attributes:
        arms: K.
        units: Units that an arm can run at most.
        budget: B, units in all.
        rng: The schedule's own random numbers, the same at every replay.
    """

    def __init__(self, view: View) -> None:
        """Start before the first unit."""
        curves = view.curves
        self.arms = view.arms
        self.units = view.full
        self.budget = len(curves.reports) + view.units_left
        self.rng = np.random.default_rng((view.seed, 2))
        self._view = view
        self._done: IntArray = np.zeros(view.arms, np.int64)
        self._best: FloatArray = np.full(view.arms, np.inf)
        self._spent = 0

    @property
    def left(self) -> int:
        """Units of the budget that have not been asked for."""
        return self.budget - self._spent

    def done(self, arm: int) -> int:
        """Units of this arm that have been run."""
        return int(self._done[arm])

    def best(self, arm: int) -> float:
        """Lowest finite loss of this arm, infinity if there is none."""
        return float(self._best[arm])

    def ranked(self, arms: "list[int]") -> list[int]:
        """Arms from best to worst, in the given order where they tie."""
        return sorted(arms, key=self.best)

    def reported(self, arm: int) -> bool:
        """Take the result of the arm's next unit, if it has been reported."""
        curve = self._view.curves.of_arm(arm)
        start = self.done(arm) * self._view.unit
        if start >= len(curve):
            return False
        unit = curve[start : start + self._view.unit]
        finite = unit[np.isfinite(unit)]
        self._best[arm] = min(self._best[arm], finite.min(initial=np.inf))
        self._done[arm] += 1
        self._spent += 1
        return True


@dataclass(frozen=True, eq=False)
class Scheduled:
    """A policy that follows a schedule, one unit at a time."""

    schedule: Schedule
    sequential: ClassVar[bool] = True

    def decide(self, view: View) -> Decision | None:
        """Replay the schedule up to the first unit that nobody has run."""
        refuse_side_by_side(self, 1 + len(view.pending))
        if not view.choosable.any():
            return None
        board = Board(view)
        for arm, why in self.schedule(board):
            if board.done(arm) >= board.units or board.reported(arm):
                continue
            if view.choosable[arm]:
                return Decision(arm, Explanation.in_words(why, view.arms))
        return None


def train_to(board: Board, arm: int, units: int, why: str) -> Iterator[Request]:
    """Ask for units of an arm until it has had `units` of them."""
    for _ in range(board.done(arm), min(units, board.units)):
        yield arm, why


def random_search(board: Board) -> Iterator[Request]:
    """Train arms in random order, each to its end."""
    for arm in board.rng.permutation(board.arms).tolist():
        yield from train_to(board, arm, board.units, "random search: train it to the end")


def brackets(units: int, eta: int = 3) -> list[list[tuple[int, int]]]:
    """Hyperband's brackets as (number of arms, units an arm has then had), widest first."""
    s_max = int(np.floor(np.log(units) / np.log(eta) + 1e-9))
    made = []
    for s in range(s_max, -1, -1):
        n = int(np.ceil((s_max + 1) / (s + 1) * eta**s - 1e-9))
        made.append(
            [(max(1, n // eta**i), max(1, round(units * eta ** (i - s)))) for i in range(s + 1)]
        )
    return made


def hyperband(board: Board) -> Iterator[Request]:
    """Hyperband with η = 3; promotions resume; brackets repeat until the budget is gone."""
    while True:
        before = board.left
        for bracket in brackets(board.units):
            first = min(bracket[0][0], board.arms)
            arms = board.rng.choice(board.arms, size=first, replace=False).tolist()
            for rung, (keep, units) in enumerate(bracket):
                arms = board.ranked(arms)[:keep] if rung else arms
                for arm in arms:
                    yield from train_to(board, arm, units, f"Hyperband: to {units} units")
        if board.left == before:  # every arm drawn was finished: a fresh draw may differ
            yield from leftovers(board)
            return


def leftovers(board: Board) -> Iterator[Request]:
    """Spend what a schedule leaves over: continue arms from best to worst, then new ones."""
    for arm in board.ranked(list(range(board.arms))):
        yield from train_to(board, arm, board.units, "what is left goes to the best arm")


def ladder(units: int, eta: int = 3) -> list[int]:
    """1, η, η², .. and the last unit itself."""
    levels = [1]
    while levels[-1] * eta < units:
        levels.append(levels[-1] * eta)
    return levels if levels[-1] == units else [*levels, units]


def halving_rungs(budget: int, arms: int, units: int, eta: int = 3) -> list[tuple[int, int]]:
    """Rungs (arms, units each) of the widest successive halving that the budget can pay."""
    levels = ladder(min(units, budget), eta)
    steps = np.diff([0, *levels])
    for n in range(arms, 0, -1):
        sizes = [max(1, n // eta**i) for i in range(len(levels))]
        if int(np.dot(sizes, steps)) <= budget:
            break
    return list(zip(sizes, levels, strict=True))


def successive_halving(board: Board) -> Iterator[Request]:
    """One successive halving whose size and ladder are chosen for the budget."""
    rungs = halving_rungs(board.budget, board.arms, board.units)
    arms = board.rng.permutation(board.arms)[: rungs[0][0]].tolist()
    for rung, (keep, units) in enumerate(rungs):
        arms = board.ranked(arms)[:keep] if rung else arms
        for arm in arms:
            yield from train_to(board, arm, units, f"successive halving: to {units} units")
    yield from leftovers(board)


def i_epoch(units: int) -> Schedule:
    """i-Epoch: `units` units for each sampled arm, then the best to the end, in order."""

    def schedule(board: Board) -> Iterator[Request]:
        # half of the budget, or what one full training needs, is kept for the best
        kept = min(max(board.units - units, 0), board.budget // 2)
        probes = max(1, min(board.arms, (board.budget - kept) // units))
        arms = board.rng.permutation(board.arms)[:probes].tolist()
        for arm in arms:
            yield from train_to(board, arm, units, f"{units}-Epoch: try it")
        for arm in board.ranked(arms):
            yield from train_to(board, arm, board.units, f"{units}-Epoch: the best to the end")
        yield from leftovers(board)

    return schedule


def asha(board: Board, eta: int = 3) -> Iterator[Request]:
    """ASHA with one worker: promote whenever a rung has a third to promote, else add an arm."""
    levels = ladder(board.units, eta)
    rungs: list[dict[int, float]] = [{} for _ in levels]
    promoted: list[set[int]] = [set() for _ in levels]
    fresh = board.rng.permutation(board.arms).tolist()[::-1]
    while True:
        move = _promotion(rungs, promoted, eta)
        if move is not None:
            arm, rung = move
            promoted[rung - 1].add(arm)
        elif fresh:
            arm, rung = fresh.pop(), 0
        else:
            break
        yield from train_to(board, arm, levels[rung], f"ASHA: to {levels[rung]} units")
        rungs[rung][arm] = board.best(arm)
    yield from leftovers(board)


def _promotion(
    rungs: list[dict[int, float]], promoted: list[set[int]], eta: int
) -> tuple[int, int] | None:
    """The best arm that may move up, from the highest rung down, and the rung it moves to."""
    for rung in range(len(rungs) - 2, -1, -1):
        ranked = sorted(rungs[rung], key=lambda arm, at=rung: rungs[at][arm])  # type: ignore[misc]
        for arm in ranked[: len(ranked) // eta]:
            if arm not in promoted[rung]:
                return arm, rung + 1
    return None
