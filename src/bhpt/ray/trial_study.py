"""A study whose arms are the trials of an experiment of Ray Tune; Ray itself is not needed.

A unit is one result of a trial. Every result is in the log before the next one is allowed, so
after a kill the log is never behind the trials; a trial that is restored from an older checkpoint
trains epochs again, and each of them is charged.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from bhpt.domain import Failure, FailureKind, Memory, Misuse, Objective, UnitResult, Usage
from bhpt.domain.budget import Budget
from bhpt.policies.interface import Policy
from bhpt.policies.registry import make_policy
from bhpt.spaces.configs import plain_config
from bhpt.storage import create_store, open_store
from bhpt.study import Journal, MemoryLog, State
from bhpt.study.creation import first_events, planned_training
from bhpt.study.deciding import next_unit
from bhpt.study.events import ArmClosed, ArmsAdded, Event, Extended, Failed, SessionStarted
from bhpt.study.settling import failure, report
from bhpt.study.study import policy_name

MOST_TRIALS = 10_000


class TrialVerdict(Enum):
    """What becomes of a trial that has just reported."""

    CONTINUE = "it trains its next epoch at once"
    PAUSE = "others come first"
    STOP = "it will never be trained again"


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """What a study of trials is created with.

    Attributes:
        budget: Epochs, altogether.
        objective: Which metric decides what is best.
        max_epochs: How far a trial may train; None for as far as makes sense.
        policy: By name, or a policy object.
        seed: Of all randomness.
        workers: How many trials may run side by side.
        file: Where the study is kept; None for memory only.
    """

    budget: Budget
    objective: Objective
    max_epochs: int | None = None
    policy: str | Policy = "default"
    seed: int = 0
    workers: int = 1
    file: Path | None = None

    def __post_init__(self) -> None:
        """Refuse a kind of budget that a scheduler of Ray Tune cannot keep."""
        if self.budget.rules.epochs_bought is None:
            raise Misuse(
                f"a scheduler can hold a budget of epochs, not {self.budget}: with "
                "bhpt.tune(executor=bhpt.Ray()) deadlines and money are held too"
            )


class TrialStudy:
    """Chooses which trial trains next.

    Args:
        plan: What it is created with.
        first: The configuration of the first trial.
    """

    def __init__(self, plan: TrialPlan, first: Mapping[str, object]) -> None:
        self._plan = plan
        self._journal = _journal(plan, first)
        self._policy = make_policy(plan.policy) if isinstance(plan.policy, str) else plan.policy
        self._memory = Memory()
        self._zero = time.monotonic() - self.state.clock
        self._arm_of: dict[str, int] = {}
        self._trial_of: dict[int, str] = {}
        self._ended: set[str] = set()
        self._rerun: dict[int, int] = {}  # of units in flight, by attempt
        self._record(SessionStarted("", 0, plan.workers, self.state.clock))

    @property
    def state(self) -> State:
        """Everything that is known."""
        return self._journal.state

    @property
    def is_over(self) -> bool:
        """Whether the budget is spent and nothing is in flight."""
        return not self.state.open and not self.state.can_pay

    def add(self, trial: str, config: Mapping[str, object]) -> bool:
        """Take a trial in, new or restored; says whether it is one more configuration.

        One whose configuration another trial has already would teach nothing under a budget.

        Raises:
            Misuse: The configuration has no plain JSON form, or there are too many trials.
        """
        plain = plain_config(config)
        arms = self.state.arms
        arm = None if arms is None else arms.find(plain)
        if arm is None:
            arm = len(self.state.configs)
            if arm >= MOST_TRIALS:
                raise Misuse(f"more than {MOST_TRIALS} trials: give num_samples a number")
            self._record(ArmsAdded((plain,), "enqueued", self._now()))
        if arm in self._trial_of:
            return False
        self._arm_of[trial], self._trial_of[arm] = arm, trial
        return True

    def epochs_of(self, trial: str) -> int:
        """Epochs of a trial that are in the log."""
        return self.state.count(self._arm_of[trial])

    def granted(self) -> list[str]:
        """The trials with a unit in flight, in the order decided; decides on more if there may be.

        A trial that is not restored yet keeps its unit until it is.
        """
        while len(self.state.open) < self._plan.workers and self._decide() is not None:
            pass
        arms = (attempt.unit.arm for attempt in self.state.flying)
        return [self._trial_of[arm] for arm in arms if arm in self._trial_of]

    def epoch(self, trial: str, iteration: int, value: object, seconds: float) -> TrialVerdict:
        """Take one result of a running trial.

        Args:
            trial: Which one.
            iteration: Its epoch, from 1.
            value: The metric.
            seconds: How long it took.

        Raises:
            Misuse: The metric is no number, or epochs were left out.
        """
        arm = self._arm_of[trial]
        attempt = next((one for one in self.state.flying if one.unit.arm == arm), None)
        if attempt is None:
            return TrialVerdict.PAUSE
        if iteration <= attempt.done:
            return self._again(attempt.number, trial)
        if iteration > attempt.done + 1:
            raise Misuse(
                f"trial {trial} reported epoch {iteration} after epoch {attempt.done}: "
                "report every epoch once"
            )
        loss = self.state.plan.objective.to_loss(_number(value, self.state.plan.objective.metric))
        usage = Usage(seconds, rerun=self._rerun.pop(attempt.number, 0))
        result = UnitResult((loss,), usage=usage)
        _, event = report(self.state, attempt.number, result, self._now())
        if event is not None:
            self._record(event)
        return self._after(arm)

    def ended(self, trial: str) -> None:
        """A trial will never train again: it is done, or was stopped from outside."""
        arm = self._arm_of.get(trial)
        if arm is None or trial in self._ended:
            return
        self._ended.add(trial)
        lost = Failure(FailureKind.LOST, "its trial has ended")
        for attempt in self.state.flying:
            if attempt.unit.arm == arm:
                rerun = self._rerun.pop(attempt.number, 0)
                cost = self.state.ledger.budget.rules.charge(rerun, 0.0) if rerun else 0.0
                self._record(Failed.of(attempt.number, lost, cost, self._now()))
        if self.state.arm(arm).closed is None:
            self._record(ArmClosed(arm, "its trial has ended", self._now()))

    def failed(self, trial: str, message: str) -> None:
        """A trial has failed for good; its unit is charged."""
        arm = self._arm_of[trial]
        for attempt in self.state.flying:
            if attempt.unit.arm == arm:
                why = Failure(FailureKind.CRASHED, message)
                self._record(failure(self.state, attempt.number, why, self._now()))
        self.ended(trial)

    def close(self) -> None:
        """Let go of the log."""
        self._journal.close()

    def _again(self, number: int, trial: str) -> TrialVerdict:
        """An epoch was trained again: raise the reservation, or give the trial up."""
        self._rerun[number] = self._rerun.get(number, 0) + 1
        attempt = self.state.attempts[number]
        rules, ledger = self.state.ledger.budget.rules, self.state.ledger
        needed = rules.required(self._rerun[number] + attempt.unit.epochs)
        if needed - attempt.reserved > ledger.left:
            self.failed(trial, "what it would have to train again is not affordable any more")
            return TrialVerdict.STOP
        if needed > attempt.reserved:
            self._record(Extended(number, needed, self._now()))
        return TrialVerdict.CONTINUE

    def _after(self, arm: int) -> TrialVerdict:
        """What becomes of a trial whose unit has just ended."""
        decided = self._decide()
        if decided == arm:
            return TrialVerdict.CONTINUE
        finished = self.state.count(arm) >= self.state.plan.training.epochs
        return TrialVerdict.STOP if finished or self.is_over else TrialVerdict.PAUSE

    def _decide(self) -> int | None:
        """Decide on a unit and log it; its arm, or None if none can be started now."""
        found = next_unit(self.state, self._policy, self._now(), memory=self._memory)
        if found is None:
            return None
        self._record(*found.events)
        return found.decided.arm

    def _now(self) -> float:
        return time.monotonic() - self._zero

    def _record(self, *events: Event) -> None:
        self._journal.record(*events)
        if not self._journal.flush():
            raise Misuse("the study's store is locked by another program: try again later")


def _journal(plan: TrialPlan, first: Mapping[str, object]) -> Journal:
    """The log of a study: a new one, or the one that is there.

    Raises:
        Misuse: The one that is there has another metric or another budget.
    """
    events = first_events(
        [plain_config(first)],
        plan.budget,
        training=planned_training(plan.budget, 1, plan.max_epochs, space=None, fixed=None),
        seed=plan.seed,
        policy=policy_name(plan.policy),
        workers=plan.workers,
        objective=plan.objective,
    )
    if plan.file is None:
        return Journal(MemoryLog(events))
    if not plan.file.exists():
        plan.file.parent.mkdir(parents=True, exist_ok=True)
        return Journal(create_store(plan.file, events))
    journal = Journal(open_store(plan.file))
    there = journal.state
    if there.plan.objective != plan.objective or there.ledger.budget != plan.budget:
        raise Misuse(
            f"{plan.file} is a study of {there.plan.objective} with a budget of "
            f"{there.ledger.budget}: name another file"
        )
    return journal


def _number(value: object, metric: str) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # whatever was reported
    except (TypeError, ValueError, OverflowError):
        raise Misuse(f"{metric!r} was reported as {value!r:.60}, which is no number") from None
