"""Ask and tell: a study whose units the caller trains."""

import os
import socket
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bhpt.beliefs.earlier_studies import EarlierStudy
from bhpt.domain import (
    Failure,
    FailureKind,
    Memory,
    Misuse,
    Objective,
    Unit,
    UnitResult,
    Usage,
)
from bhpt.domain.arguments import (
    refuse_one_text,
    refuse_other_than,
    refuse_uncallable,
    seconds_taken,
    whole_number,
)
from bhpt.domain.budget import Budget
from bhpt.domain.closing import Closing
from bhpt.domain.objective import Direction
from bhpt.domain.reports import read_reports
from bhpt.policies.interface import Policy
from bhpt.spaces import Config
from bhpt.study.arm_list import space_of
from bhpt.study.attempts import Attempt
from bhpt.study.creation import (
    first_events,
    note_of_other_weights,
    planned_training,
    summarised,
    wanted_config,
)
from bhpt.study.deciding import next_unit
from bhpt.study.events import (
    ArmsAdded,
    BudgetAdded,
    Enqueued,
    Event,
    Failed,
    Restarted,
    SessionEnded,
    SessionStarted,
)
from bhpt.study.html_summary import summary_html
from bhpt.study.log import EventLog, Journal, Keep, MemoryLog
from bhpt.study.plan import Training
from bhpt.study.rising_curves import note_of_rising_curves
from bhpt.study.settling import Receipt, failure, report, started_over
from bhpt.study.state import State


@dataclass(frozen=True, slots=True)
class AskedUnit(Unit):
    """A unit to train, with all that training it takes.

    Attributes:
        attempt: Its identity; never given out twice.
        done: Epochs of the arm before it.
        config: The arm's configuration.
        why: Why this arm.
        rerun: Epochs that are trained again before its own, see `Study.start_over`.
    """

    attempt: int
    done: int
    config: Config
    why: str
    rerun: int = 0


class Study(Closing):
    """Chooses what to train next; the caller trains it.

    ```python
    study = Study({"lr": (1e-4, 1e-1, "log")}, "50 epochs")
    while (unit := study.ask()) is not None:
        study.tell(unit, train(unit.config, unit.done, unit.epochs))
    ```

    Args:
        space: A `ConfigurationSpace`, a dictionary of ranges or a list of configurations.
        budget: "200 epochs", "2h", "$25" or a `Budget`.
        unit: Epochs in one unit.
        max_epochs: How far an arm may train; None for half of a budget in epochs, 100 otherwise.
        seed: Of all randomness.
        policy: By name, or a policy object.
        workers: How many units may be asked for before one is told.
        untrained: The metric of an untrained model, if it is known.
        keep: Makes the log from the first events; `stored("runs/net.db")` for one that lasts.
        metric: The metric that decides what is best.
        mode: Whether it is minimised ("min") or maximised ("max").
        initial: Configurations to try first.
        fixed: Hyper-parameters that are not tuned but have these values.
        learn_from: Earlier studies, `Study` objects or what `earlier_study` read from a file; what
            they showed is one more expert, weighted by how well it predicts.
        price_per_hour: What one busy worker costs, for a budget in dollars.
    """

    def __init__(
        self,
        space: object,
        budget: str | Budget,
        *,
        unit: int = 1,
        max_epochs: int | None = None,
        seed: int = 0,
        policy: str | Policy = "default",
        workers: int = 1,
        untrained: float | None = None,
        keep: Keep = MemoryLog,
        metric: str = "loss",
        mode: Direction = "min",
        initial: Sequence[Mapping[str, object]] = (),
        fixed: Mapping[str, object] | None = None,
        learn_from: Sequence["Study | EarlierStudy"] = (),
        price_per_hour: float | None = None,
    ) -> None:
        parsed = Budget.parse(budget, price_per_hour)
        refuse_one_text("learn_from", learn_from, "[study]")
        refuse_uncallable("keep", keep, "bhpt.stored('runs/net.db')")
        first = first_events(
            space,
            parsed,
            training=planned_training(
                parsed, unit, max_epochs, space, fixed, Training(untrained=untrained)
            ),
            seed=whole_number("seed", seed),
            policy=policy_name(policy),
            workers=whole_number("workers", workers),
            objective=Objective(metric, mode),
            initial=initial,
            fixed=fixed,
            earlier=tuple(shown_by(one) for one in learn_from),
        )
        self._begin(Journal(keep(first)), policy, time.monotonic, restart=True)

    @classmethod
    def resume(
        cls,
        log: EventLog,
        policy: str | Policy | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        restart: bool = False,
    ) -> "Study":
        """Go on with the study in a log. Units that were asked for can still be told.

        Args:
            log: The study.
            policy: The one that the study remembers if None.
            clock: Seconds that go on.
            restart: Whether units that were asked for before and never told are given out again
                first, because their trainer is gone.

        Warns:
            UserWarning: Its policy has other weights by now than when it was created.
        """
        study = cls.__new__(cls)
        journal = Journal(log)
        note = note_of_other_weights(journal.state.plan) if policy is None else None
        if note is not None:
            warnings.warn(note, stacklevel=2)
        study._begin(journal, policy or journal.state.plan.policy, clock, restart=restart)
        return study

    def _begin(
        self,
        journal: Journal,
        policy: str | Policy,
        clock: Callable[[], float],
        *,
        restart: bool,
    ) -> None:
        """Start a session: its clock goes on where the last one stopped."""
        self._journal = journal
        self._policy = chosen_policy(policy)
        self._memory = Memory()
        self._clock = clock
        self._zero = clock() - journal.state.clock
        self._warned = False
        self._closed = False
        self._orphans = list(journal.state.open) if restart else []
        self._record(
            SessionStarted(
                host=socket.gethostname(),
                pid=os.getpid(),
                workers=journal.state.plan.workers,
                clock=journal.state.clock,
            )
        )

    @property
    def state(self) -> State:
        """Everything that is known."""
        return self._journal.state

    @property
    def best_loss(self) -> float:
        """The best value of the metric so far, the worst there is before there is one."""
        loss = float("inf") if self.state.best is None else self.state.best.loss
        return self.state.plan.objective.from_loss(loss)

    @property
    def best_config(self) -> Config | None:
        """The configuration that it was seen on."""
        return None if self.state.best is None else self.state.configs[self.state.best.arm]

    @property
    def in_flight(self) -> tuple[AskedUnit, ...]:
        """Units that were asked for and not told yet."""
        return tuple(asked(self.state, attempt) for attempt in self.state.flying)

    def __repr__(self) -> str:
        ledger, objective = self.state.ledger, self.state.plan.objective
        found = f"best {objective.metric} {self.best_loss:.5g}"
        best = found if self.state.best is not None else f"no {objective.metric} yet"
        return f"<Study: {ledger.budget.rules.used_text(ledger.used)} used, {best}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return summary_html(self.state)

    def ask(self) -> AskedUnit | None:
        """The next unit to train.

        Returns:
            None if no further unit can be started: the budget is spent, or one in flight must be
            told first, because there are as many as workers or the policy waits for it.
        """
        self._require_open()
        self._require_written()
        while self._orphans:
            number = self._orphans.pop(0)
            if number in self.state.open:
                self._record(Restarted(number, self._now()))
                return asked(self.state, self.state.attempts[number])
        found = next_unit(self.state, self._policy, self._now(), memory=self._memory)
        if found is None:
            return None
        self._record(*found.events)
        return asked(self.state, self.state.attempts[found.decided.attempt])

    def tell(
        self,
        unit: AskedUnit,
        losses: "float | Mapping[str, float] | Sequence[float | Mapping[str, float]]",
        seconds: float | None = None,
    ) -> Receipt:
        """Report the losses of a unit, one an epoch.

        Args:
            unit: What `ask` returned.
            losses: Values of the metric, or mappings of metrics that hold it; all are stored. NaN
                and infinity are kept and never the best.
            seconds: How long it took; measured since `ask` if None.

        Returns:
            "accepted", "ignored" for the same report again, or "rejected" for one that differs
            from what is known; that is logged.
        """
        took = self._took(unit) if seconds is None else seconds_taken(seconds)
        reports = read_reports(losses, self.state.plan.objective, "tell()")
        result = replace(UnitResult.of(reports), usage=Usage(took, rerun=unit.rerun))
        receipt, event = report(self.state, unit.attempt, result, self._now())
        if event is not None:
            self._record(event)
        if receipt == "accepted":
            self._warn_of_rising_curves()
        return receipt

    def fail(self, unit: AskedUnit, message: str, seconds: float | None = None) -> None:
        """Report that a unit has no losses; it is charged, and tried again a few times."""
        refuse_other_than("message", message, str, "'out of memory'")
        took = self._took(unit) if seconds is None else seconds_taken(seconds)
        why = Failure(FailureKind.CRASHED, message, usage=Usage(took))
        self._record(failure(self.state, unit.attempt, why, self._now()))

    def start_over(self, unit: AskedUnit) -> AskedUnit | None:
        """Say that what an arm has learned is lost: its unit trains from nothing.

        What it trains again is reserved now, time and money as predicted, and charged with its
        report or failure.

        Args:
            unit: What `ask` returned.

        Returns:
            The unit to train, from the arm's first epoch on, and to report: the losses of its own
            epochs only. None if what is left does not pay for that: the arm is given up.
        """
        self._require_open()
        attempt = self._attempt(unit)
        if attempt.number not in self.state.open:
            raise Misuse(f"attempt {attempt.number} has ended: it cannot start over")
        if attempt.done == 0:
            return unit
        changed = started_over(self.state, attempt, self._now())
        if isinstance(changed, Failed):  # the arm would only be chosen again
            self._record(replace(changed, final=True))
            return None
        if changed is not None:
            self._record(changed)
        return replace(unit, rerun=attempt.done)

    def enqueue(self, config: Mapping[str, object]) -> int:
        """Have a configuration tried before the policy chooses again; returns its arm.

        One that has been tried already is left to the policy.

        Raises:
            Misuse: It does not lie in the study's space.
        """
        text = self.state.plan.search.space
        whole = wanted_config([] if text is None else space_of(text), config)
        known = None if self.state.arms is None else self.state.arms.find(whole)
        arm = len(self.state.configs) if known is None else known
        added = (ArmsAdded((whole,), "enqueued", self._now()),) if known is None else ()
        self._record(*added, Enqueued((arm,), self._now()))
        return arm

    def add_budget(self, more: str | Budget) -> None:
        """Raise the limit by an amount of the same kind."""
        parsed = Budget.parse(more, self.state.ledger.budget.price_per_hour)
        self._record(BudgetAdded(parsed, self._now()))

    def close(self) -> None:
        """End the session and let go of the log; a study that is kept can be resumed."""
        if self._closed:
            return
        self._record(SessionEnded("closed", self._now()))
        self._closed = True
        self._journal.close()

    def _warn_of_rising_curves(self) -> None:
        note = None if self._warned else note_of_rising_curves(self.state)
        if note is not None:
            self._warned = True
            warnings.warn(note, stacklevel=3)

    def _now(self) -> float:
        """The study's clock: seconds for which it has been running."""
        return self._clock() - self._zero

    def _took(self, unit: AskedUnit) -> float:
        return max(0.0, self._now() - self._attempt(unit).started)

    def _attempt(self, unit: AskedUnit) -> Attempt:
        if not isinstance(unit, AskedUnit):
            raise Misuse(f"report a unit that ask() gave, not {unit!r:.40}")
        if not 0 <= unit.attempt < len(self.state.attempts):
            raise Misuse(f"this study has not asked for attempt {unit.attempt}")
        return self.state.attempts[unit.attempt]

    def _record(self, *events: Event) -> None:
        self._require_open()
        self._journal.record(*events)
        self._require_written()

    def _require_open(self) -> None:
        """Refuse to write to a log that this study has let go of: another may hold it by now."""
        if self._closed:
            raise Misuse(
                "the study is closed: open it again with bhpt.open_study(...) if it was kept"
            )

    def _require_written(self) -> None:
        if not self._journal.flush():
            raise Misuse("the study's store is locked by another program: try again later")


def shown_by(given: "Study | EarlierStudy") -> EarlierStudy:
    """What an earlier study showed, of those that `learn_from` may list.

    Raises:
        Misuse: It is neither.
    """
    if isinstance(given, Study):
        return summarised(given.state)
    refuse_other_than("learn_from", given, EarlierStudy, "[bhpt.earlier_study('runs/net.db')]")
    return given


def asked(state: State, attempt: Attempt) -> AskedUnit:
    """An attempt as it is handed out."""
    return AskedUnit(
        arm=attempt.unit.arm,
        index=attempt.unit.index,
        epochs=attempt.unit.epochs,
        attempt=attempt.number,
        done=attempt.done,
        config=state.configs[attempt.unit.arm],
        why=attempt.why,
    )


def named_policy(name: str) -> Policy:
    """A fresh policy by its name; imports what policies need, which reading a study does not."""
    from bhpt.policies.registry import make_policy

    return make_policy(name)


def chosen_policy(policy: str | Policy) -> Policy:
    """A fresh policy by its name, or the one that is handed over.

    Raises:
        Misuse: There is none of that name, or the object is none.
    """
    if isinstance(policy, str):
        return named_policy(policy)
    if isinstance(policy, type) or not callable(getattr(policy, "decide", None)):
        raise Misuse(
            f"{policy!r:.60} is no policy: give a name of `bhpt policies`, or an object with "
            "decide(view)"
        )
    return policy


def policy_name(policy: str | Policy) -> str:
    """What a study remembers of its policy."""
    return policy if isinstance(policy, str) else type(policy).__name__
