"""The state of a study at one moment, as a value; `folding` makes it of the study's events."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from bhpt.domain import Curves, FloatArray, Saved
from bhpt.domain.ledger import Ledger
from bhpt.domain.reports import Metrics
from bhpt.spaces import Config
from bhpt.study.arm_list import ArmList
from bhpt.study.attempts import Attempt, AttemptList
from bhpt.study.events import (
    SessionStarted,
)
from bhpt.study.plan import Plan
from bhpt.study.tried_arms import Arm, TriedArms
from bhpt.study.unit_size import ReportedUnit

BLAMELESS = frozenset({"stopped", "lost"})
"""Failures that say nothing about the arm: the driver stopped the unit, or died."""

GENERATIONS = 2
"""Checkpoints of an arm that are kept: the newest, and the one before in case it is damaged."""


@dataclass(frozen=True, slots=True)
class Child:
    """An arm a step away from a good one: which, from which parent, how good that was then."""

    arm: int
    parent: int
    loss: float


@dataclass(frozen=True, slots=True)
class Best:
    """The lowest loss so far: on which arm and epoch, in which attempt, and its checkpoint."""

    loss: float
    arm: int
    epoch: int
    attempt: int
    saved: Saved | None


@dataclass(frozen=True, eq=False)
class State:
    """A moment of a study.

    Attributes:
        plan: What it was told.
        arms: Every arm with its configuration; None until there are any.
        curves: Everything observed; None until there are arms.
        ledger: Spent, promised, left.
        attempts: Every attempt, by number.
        open: Numbers of the attempts in flight, in order.
        open_arms: Their arms, in the same order.
        tried: What is known of arms that were tried, in the order of first trial.
        failures: How many attempts failed.
        longest_s: The longest time that a reported unit was busy, None before the first.
        best: The lowest loss so far.
        batches: How often candidates were drawn near good ones.
        children: Candidates near good ones that wait for their first unit, in order, where their
            parents are known.
        first_arms: How many arms there were when the first unit was decided.
        queue: Arms that are tried before the policy chooses, in order.
        session: The driver that holds the study, None between sessions.
        unit: Epochs in a unit now.
        recent: The last reports of this session, where units may grow.
        session_from: How many attempts there were when the last driver took over.
        checkpoints_at: The fsspec path of the checkpoints; empty if they lie in a local folder.
        events: How many events were folded.
    """

    plan: Plan
    ledger: Ledger
    arms: ArmList | None = None
    curves: Curves | None = None
    attempts: AttemptList = field(default_factory=AttemptList)
    open: tuple[int, ...] = ()
    open_arms: tuple[int, ...] = ()
    tried: TriedArms = field(default_factory=TriedArms)
    failures: int = 0
    longest_s: float | None = None
    best: Best | None = None
    batches: int = 0
    children: tuple[Child, ...] = ()
    first_arms: int = 0
    queue: tuple[int, ...] = ()
    session: SessionStarted | None = None
    unit: int = 1
    recent: tuple[ReportedUnit, ...] = ()
    session_from: int = 0
    checkpoints_at: str = ""
    events: int = 1

    @property
    def configs(self) -> Sequence[Config]:
        """The configuration of every arm."""
        return () if self.arms is None else self.arms.configs

    @property
    def features(self) -> FloatArray | None:
        """Encoded configurations, [K, D]; None until there are arms."""
        return None if self.arms is None else self.arms.features

    @property
    def tokens(self) -> FloatArray | None:
        """Tokens of the hyper-parameters, [K, N, F]; None until there are arms."""
        return None if self.arms is None else self.arms.tokens

    @property
    def earlier(self) -> FloatArray | None:
        """Ranks of the arms that earlier studies expect, [K]; None without any."""
        return None if self.arms is None else self.arms.earlier

    @property
    def clock(self) -> float:
        """Seconds for which the study has been running."""
        return self.ledger.clock

    @property
    def reports(self) -> int:
        """Reported units."""
        return 0 if self.curves is None else len(self.curves.reports)

    @property
    def session_workers(self) -> int:
        """How many workers the driver has, or the plan if there is none."""
        return self.plan.workers if self.session is None else self.session.workers

    @property
    def can_pay(self) -> bool:
        """Whether what is left of the budget is worth another session."""
        least = self.ledger.budget.rules.worth_a_session(self.plan.training.step)
        return self.ledger.left >= least

    @property
    def flying(self) -> tuple[Attempt, ...]:
        """The attempts in flight, in the order decided."""
        return tuple(self.attempts[number] for number in self.open)

    def flying_epochs(self, arm: int) -> int:
        """Epochs of an arm in flight: a unit's, or two units' in logs of an earlier version."""
        if arm not in self.open_arms:
            return 0
        return sum(one.unit.epochs for one in self.flying if one.unit.arm == arm)

    def metrics_of(self, arm: int) -> tuple[Metrics, ...]:
        """What was reported of every observed epoch of an arm, empty where only a number was."""
        return tuple(
            metrics
            for attempt in self.attempts
            if attempt.unit.arm == arm and attempt.status == "observed"
            for metrics in attempt.metrics or ({},) * attempt.unit.epochs
        )

    def arm(self, arm: int) -> Arm:
        """What is known of an arm beside its curve."""
        return self.tried.get(arm, _UNTRIED)

    def count(self, arm: int) -> int:
        """Observed epochs of an arm."""
        return 0 if self.curves is None else self.curves.count(arm)

    def lowest(self, arm: int) -> float:
        """The lowest finite loss of an arm, infinity where there is none."""
        row = None if self.curves is None else self.curves.row(arm)
        if self.curves is None or row is None:
            return math.inf
        return float(self.curves.best_by_row[row])

    def was_tried(self, arm: int) -> bool:
        """Whether any unit of an arm was started."""
        return arm in self.tried or arm in self.open_arms

    @property
    def untried(self) -> int:
        """How many arms no unit was started of."""
        first = {arm for arm in self.open_arms if arm not in self.tried}
        return len(self.configs) - len(self.tried) - len(first)


_UNTRIED = Arm()
