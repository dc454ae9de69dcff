"""A policy that follows a schedule: successive halving, Hyperband, random search and the like.

A schedule depends on what was reported alone, so it survives a restart and can be
followed from any moment of a study. Where it stands is kept between decisions and brought up to
date with the units that came in since; a schedule that starts afresh takes in all units and
stands at the same place.

A schedule draws from the arms that the study started with. Arms that are added later come after
them, in the order in which they were added, so a study that grows does not change what was
scheduled before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bhpt.domain import Curves, View
from bhpt.domain.memory import Slot
from bhpt.policies.interface import Decision, Explanation

UnitRequest = tuple[int, str]
"""An arm whose next unit is wanted, and why."""


@dataclass(frozen=True)
class Setup:
    """What a schedule is sized for.

    Attributes:
        arms: K₀, the arms that the study started with.
        units: Units of one full training.
        unit: Epochs in a unit.
        budget: B, units in all: reported, in flight and left. 0 for schedules that do not look.
        seed: The study's seed.
    """

    arms: int
    units: int
    unit: int
    budget: int
    seed: int

    def rng(self) -> np.random.Generator:
        """The schedule's own random numbers, the same at every decision of the study."""
        return np.random.default_rng((self.seed, 2))


class Course(Protocol):
    """Where a schedule stands."""

    def take(self, curves: Curves) -> None:
        """Take in what was reported since the last call; what was taken in before is the same."""
        ...

    def choose(self, view: View) -> UnitRequest | None:
        """The next unit to run, None to wait for one in flight or at the end; changes nothing."""
        ...


@dataclass(frozen=True)
class Schedule:
    """A rule with a name.

    Attributes:
        name: For people.
        start: Where it stands before the first unit.
        sized: Whether it depends on the budget.
    """

    name: str
    start: Callable[[Setup], Course]
    sized: bool = True


class CourseMemory:
    """Where a schedule stood at the last decision, and what it had seen by then."""

    def __init__(self) -> None:
        self._setup: Setup | None = None
        self._seen: Curves | None = None
        self._course: Course | None = None

    def brought_up_to(self, schedule: Schedule, setup: Setup, curves: Curves) -> Course:
        """The course of the schedule after everything in `curves`.

        The course at hand goes on where it is of the same study; otherwise a new one starts.
        """
        course = self._course
        known = self._seen is not None and _goes_on(self._seen, curves)
        if course is None or self._setup != setup or not known:
            course = schedule.start(setup)
        course.take(curves)
        self._setup, self._seen, self._course = setup, curves, course
        return course


def _goes_on(before: Curves, now: Curves) -> bool:
    """Whether everything that was seen before is a beginning of what is seen now."""
    rows, reports = len(before.visited), len(before.reports)
    if before.record is now.record and reports <= len(now.reports):
        return True
    if not (
        np.array_equal(before.reports, now.reports[:reports])
        and np.array_equal(before.visited, now.visited[:rows])
    ):
        return False
    old, new = before.losses[:, : before.longest], now.losses[:rows, : before.longest]
    equal = (old == new) | (np.isnan(old) & np.isnan(new)) | ~before.observed
    return bool(equal.all())


@dataclass(frozen=True, eq=False)
class Scheduled:
    """A policy that follows a schedule, one unit at a time, with any number of workers.

    Where the schedule stands is kept in the view's memory, so one object can serve many studies.
    """

    schedule: Schedule

    def decide(self, view: View) -> Decision | None:
        """The next unit of the schedule; None if there is none, or if one in flight comes first."""
        if not view.choosable.any():
            return None
        setup = setup_of(view, self.schedule)
        memory = view.memory.recall(Slot("course", self.schedule), (), CourseMemory)
        course = memory.brought_up_to(self.schedule, setup, view.curves)
        wanted = course.choose(view)
        if wanted is None:
            return None
        arm, why = wanted
        return Decision(arm, Explanation.in_words(why, view.arms))


def setup_of(view: View, schedule: Schedule) -> Setup:
    """What a schedule is sized for in a study."""
    budget = view.step + view.units_left if schedule.sized else 0
    return Setup(view.started_with, view.full, view.unit, budget, view.seed)


def added_later(view: View) -> UnitRequest | None:
    """The first arm that was added to the study later and can run a unit."""
    new = view.started_with + np.flatnonzero(view.choosable[view.started_with :])
    return (int(new[0]), "the schedule is done: an arm that was added later") if new.size else None
