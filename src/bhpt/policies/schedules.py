"""The rules that follow a schedule: random search, successive halving, Hyperband, i-Epoch, ASHA.

Every unit counts once: an arm that comes up again resumes where it was.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

import numpy as np

from bhpt.domain import IntArray
from bhpt.policies.asha import ETA, AshaCourse
from bhpt.policies.rungs import Board, NextRung, Rung, RungCourse
from bhpt.policies.scheduled import Course, Schedule, Setup

RungSize = tuple[int, int]
"""Arms of a rung, and units that each of them has then had."""


def _the_end(_: Board) -> Rung | None:
    """Nothing comes after this rung."""
    return None


def leftovers(board: Board) -> Rung:
    """Spend what a schedule leaves over: continue arms from best to worst, then new ones."""
    order = board.ranked(np.arange(board.setup.arms))
    why = "what is left goes to the best arm"
    return Rung(order, board.setup.units, why, _the_end, _the_end)


def _random_search(setup: Setup) -> Course:
    """Train arms in random order, each to its end; every worker has an arm of its own."""
    order = setup.rng().permutation(setup.arms)
    why = "random search: train it to the end"
    return RungCourse(setup, Rung(order, setup.units, why, _the_end, _the_end))


def ladder(units: int) -> list[int]:
    """1, η, η², .. and the last unit itself."""
    levels = [1]
    while levels[-1] * ETA < units:
        levels.append(levels[-1] * ETA)
    return levels if levels[-1] == units else [*levels, units]


def halving_rungs(budget: int, arms: int, units: int) -> list[RungSize]:
    """Rungs of the widest successive halving that the budget can pay; one arm at least."""
    levels = ladder(min(units, budget))
    steps = np.diff([0, *levels])

    def sizes(n: int) -> list[int]:
        return [max(1, n // ETA**i) for i in range(len(levels))]

    paid = bisect_right(range(1, arms + 1), budget, key=lambda n: int(np.dot(sizes(n), steps)))
    return list(zip(sizes(max(1, paid)), levels, strict=True))


def climb(
    arms: IntArray,
    rungs: Sequence[RungSize],
    name: str,
    end: NextRung,
    ahead: NextRung | None = None,
) -> Rung:
    """The first rung of a successive halving.

    Args:
        arms: Those of the first rung, in the order in which they are trained.
        rungs: The rungs from this one on.
        name: Of the method, for the reasons.
        end: What comes after the last rung.
        ahead: What idle workers begin while the last units of a rung are in flight; None for its
            next rung, with arms promoted on what is known by then.
    """
    (_, units), *later = rungs

    def after(board: Board) -> Rung | None:
        if not later:
            return end(board)
        return climb(board.ranked(arms)[: later[0][0]], later, name, end, ahead)

    steps = np.diff([units, *(level for _, level in later)])
    reserve = int(np.dot([keep for keep, _ in later], steps)) if later else 0
    return Rung(arms, units, f"{name}: to {units} units", after, ahead or after, reserve)


def _successive_halving(setup: Setup) -> Course:
    """One successive halving whose size and ladder are chosen for the budget."""
    rungs = halving_rungs(setup.budget, setup.arms, setup.units)
    arms = setup.rng().permutation(setup.arms)[: rungs[0][0]]
    return RungCourse(setup, climb(arms, rungs, "successive halving", leftovers))


def brackets(units: int) -> list[list[RungSize]]:
    """Hyperband's brackets, widest first."""
    s_max = int(np.floor(np.log(units) / np.log(ETA) + 1e-9))
    made = []
    for s in range(s_max, -1, -1):
        n = int(np.ceil((s_max + 1) / (s + 1) * ETA**s - 1e-9))
        made.append(
            [(max(1, n // ETA**i), max(1, round(units * ETA ** (i - s)))) for i in range(s + 1)]
        )
    return made


class Hyperband:
    """Hyperband with η = 3; promotions resume; brackets repeat until the budget is gone.

    Brackets do not depend on each other, so idle workers begin the next one.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._brackets = brackets(setup.units)
        self._rng = setup.rng()
        self._draws: list[IntArray] = []

    def _arms(self, number: int) -> IntArray:
        """The arms of a bracket, the same whenever it is asked for."""
        while len(self._draws) <= number:
            wanted = self._brackets[len(self._draws) % len(self._brackets)][0][0]
            size = min(wanted, self._setup.arms)
            self._draws.append(self._rng.choice(self._setup.arms, size=size, replace=False))
        return self._draws[number]

    def bracket(self, number: int, before: int, aside: int = 0) -> Rung:
        """The first rung of a bracket.

        Args:
            number: Of the bracket, counted through all rounds.
            before: Units that had been spent when its round began.
            aside: How many brackets before it were left in flight.
        """

        def end(board: Board) -> Rung:
            if (number + 1) % len(self._brackets):
                return self.bracket(number + 1, before, aside)
            if board.spent == before:  # every arm drawn was finished: no further draw will do
                return leftovers(board)
            return self.bracket(number + 1, board.spent, aside)

        def ahead(board: Board) -> Rung:
            if aside == len(self._brackets):  # workers enough for all brackets of a round
                return leftovers(board)
            return self.bracket(number + 1, board.spent, aside + 1)

        rungs = self._brackets[number % len(self._brackets)]
        return climb(self._arms(number), rungs, "Hyperband", end, ahead)


def _hyperband(setup: Setup) -> Course:
    """Hyperband, from its first bracket on."""
    return RungCourse(setup, Hyperband(setup).bracket(0, 0))


def _each_to_the_end(arms: IntArray, name: str) -> NextRung:
    """The arms one after the other; idle workers begin the next one."""

    def following(board: Board) -> Rung:
        if not arms.size:
            return leftovers(board)
        rest = _each_to_the_end(arms[1:], name)
        return Rung(arms[:1], board.setup.units, f"{name}: the best to the end", rest, rest)

    return following


@cache
def i_epoch(units: int) -> Schedule:
    """i-Epoch: `units` units for each sampled arm, then the best to the end, in order."""
    name = f"{units}-Epoch"

    def start(setup: Setup) -> Course:
        # half of the budget, or what one full training needs, is kept for the best
        kept = min(max(setup.units - units, 0), setup.budget // 2)
        probes = max(1, min(setup.arms, (setup.budget - kept) // units))
        arms = setup.rng().permutation(setup.arms)[:probes]

        def after(board: Board) -> Rung | None:
            return _each_to_the_end(board.ranked(arms), name)(board)

        most = min(units, setup.units)
        return RungCourse(setup, Rung(arms, most, f"{name}: try it", after, after, kept))

    return Schedule(name, start)


def _asha(setup: Setup) -> Course:
    """ASHA as its authors have it: promote whenever a rung has a third to promote."""
    return AshaCourse(setup, ladder(setup.units), stopping=False)


def _stopping_asha(setup: Setup) -> Course:
    """ASHA as most libraries have it: stop an arm that is not among a rung's best third."""
    return AshaCourse(setup, ladder(setup.units), stopping=True)


random_search = Schedule("random search", _random_search, sized=False)
successive_halving = Schedule("successive halving", _successive_halving)
hyperband = Schedule("Hyperband", _hyperband, sized=False)
asha = Schedule("ASHA", _asha, sized=False)
stopping_asha = Schedule("stopping ASHA", _stopping_asha, sized=False)
