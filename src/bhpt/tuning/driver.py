"""One session of a study: decide, log, submit, take the report, keep the limits."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NoReturn

from bhpt.checkpoints import DiskFull, PlaceAway, UnsafeCheckpoint
from bhpt.domain import (
    Failure,
    FailureKind,
    FloatArray,
    Memory,
    Resume,
    UnitResult,
    Usage,
    View,
)
from bhpt.executors import Executor, Job, PlacingExecutor, Report, TrainerGone
from bhpt.policies.interface import Policy
from bhpt.policies.study_predictor import predictor_of
from bhpt.study import Busy, Journal, State
from bhpt.study.attempts import Attempt
from bhpt.study.deciding import next_unit
from bhpt.study.events import (
    CheckpointDropped,
    Event,
    Extended,
    Restarted,
    SessionEnded,
    SessionStarted,
)
from bhpt.study.rising_curves import note_of_rising_curves
from bhpt.study.settling import dearer, failure, hopeless, reconcile, report
from bhpt.study.threads import one_thread
from bhpt.tuning.checkpoint_session import CheckpointSession
from bhpt.tuning.errors import Paused, TrainerBroken
from bhpt.tuning.finished_units import FinishedUnit, OnUnit
from bhpt.tuning.interrupts import Interrupts
from bhpt.tuning.limits import Stop, hung_after, paid_s
from bhpt.tuning.options import Options
from bhpt.tuning.result import SessionStatus
from bhpt.tuning.resuming import Resumption
from bhpt.tuning.running_units import SHORTEST_WAIT_S, RunningUnits
from bhpt.views.live_view import Watch

Beat = Callable[[float], None]
"""Writes a sign of life with the study's clock; raises `Busy` if it cannot now."""


_CHEAP_S = 1.0  # a shorter unit's report may wait a moment, to be written with the next decision
_LOCKED_S = 0.05  # between two looks at a locked store
_OUT_OF_TURN = "the unit that it went on from failed"


@dataclass(frozen=True, slots=True)
class DriverParts:
    """What a driver works with.

    Attributes:
        journal: The study.
        policy: Chooses.
        executor: Trains.
        checkpoints: Keeps checkpoints.
        beat: Writes signs of life.
        watch: Shows progress.
        memory: What the policy prepares for the study.
        on_unit: Called with each unit that has ended; None for no call.
        note: Called with a line that the user should read.
        target: A loss that is good enough: once it is reached, nothing more is started.
        settled: Called with the study when further reports are in the log.
    """

    journal: Journal
    policy: Policy
    executor: Executor
    checkpoints: CheckpointSession
    beat: Beat = lambda _: None
    watch: Watch = lambda _state, _running: None
    memory: Memory = field(default_factory=Memory)
    on_unit: OnUnit | None = None
    note: Callable[[str], None] = lambda _: None
    target: float = float("-inf")
    settled: Callable[[State], None] = lambda _: None


class Driver:
    """The steps of a session; `drive` says in which order.

    Nothing is submitted before its decision is in the log, and nothing new is decided while
    anything waits to be written.

    Args:
        parts: What it works with.
        options: How it runs.
        clock: The study's clock at the start of the session.
    """

    def __init__(self, parts: DriverParts, options: Options, clock: float) -> None:
        self._parts = parts
        self._options = options
        self._zero = parts.executor.now() - clock
        self._resumption = Resumption(parts.journal, parts.executor, parts.checkpoints)
        self._unsubmitted: dict[int, Resume] = {}
        self._running = RunningUnits(
            parts.journal, parts.executor, options, self.clock, self._record
        )
        self._drops: list[CheckpointDropped] = []
        self._view: View | None = None
        self._last_beat = self._last_look = float("-inf")
        self._noted = False
        self._settled = self.state.reports

    @property
    def state(self) -> State:
        """The study now."""
        return self._parts.journal.state

    @property
    def busy(self) -> bool:
        """Whether a unit runs."""
        return len(self._running) > 0

    @property
    def waiting(self) -> bool:
        """Whether something is not in the log yet."""
        return self._parts.journal.waiting > 0

    @property
    def spent(self) -> bool:
        """Whether nothing runs and nothing more was started although something could be."""
        return not (self.busy or self.waiting or self._unsubmitted or self._without_workers())

    @property
    def reached(self) -> bool:
        """Whether the best loss is as good as the target."""
        best = self.state.best
        return best is not None and best.loss <= self._parts.target

    def clock(self) -> float:
        """Seconds for which the study has been running."""
        return self._parts.executor.now() - self._zero

    def begin(self, session: SessionStarted, unseen_s: float) -> None:
        """Start the session: see what is left of the last one, and go on with its units."""
        self._record(session)
        self._drop(self._parts.checkpoints.missing(self.state, session.clock))
        resumes: dict[int, Resume] = {}
        for attempt in self.state.flying:
            resume, damaged = self._resumption.checked(attempt.unit.arm, session.clock)
            resumes[attempt.number] = resume
            self._drop(damaged)
        events = reconcile(self.state, resumes, session.clock, unseen_s)
        restarted = [event.attempt for event in events if isinstance(event, Restarted)]
        self._unsubmitted = {number: resumes[number] for number in restarted}
        self._record(*events)

    def start_units(self) -> None:
        """Submit what was decided, and decide on more while slots are free."""
        self._submit()
        while self._has_room() and not self._unsubmitted and self._writable():
            if self.reached:
                return
            found = next_unit(
                self.state,
                self._parts.policy,
                self.clock(),
                self._resumption.rerun,
                self._parts.memory,
            )
            if found is None:
                return
            resume, damaged = self._resumption.checked(found.decided.arm, self.clock())
            if damaged:
                self._drop(damaged)
                continue
            self._view = found.view
            self._unsubmitted[found.decided.attempt] = resume
            self._record(*found.on_worker(self._worker_for(found.decided.arm, resume)).events)
            self._submit()

    def _worker_for(self, arm: int, resume: Resume) -> int | None:
        """Which worker a unit is for, as far as the executor can say."""
        executor = self._parts.executor
        return executor.worker_for(arm, resume) if isinstance(executor, PlacingExecutor) else None

    def _has_room(self) -> bool:
        """Whether a slot is free, and a unit in it would not be asked to end at once."""
        return bool(self._parts.executor.free) and not self._is_closing()

    def _without_workers(self) -> bool:
        """Whether a unit could be paid for, but no worker is there: nodes of a cluster may go."""
        if self._parts.executor.free or self._is_closing() or self.reached:
            return False
        ledger = self.state.ledger
        return ledger.left >= ledger.budget.rules.worth_a_session(self.state.plan.training.step)

    def _is_closing(self) -> bool:
        """Whether a unit that is started now would be asked to end at once."""
        rules = self.state.ledger.budget.rules
        return rules.is_closing(self.clock(), self._options.grace_s)

    def take(self, came: Report) -> None:
        """Log what came of a unit: report, checkpoint and settlement in one transaction."""
        attempt = self.state.attempts[came.attempt]
        stop = self._running.ended(came.attempt)
        if isinstance(came.outcome, Failure):
            self._take_failure(attempt, came.outcome, stop)
            return
        try:
            result = self._committed(attempt, came.outcome)
        except UnsafeCheckpoint as error:
            self._fail(attempt, Failure(FailureKind.BAD_REPORT, str(error), usage=came.usage))
            return
        except (DiskFull, PlaceAway) as error:
            self._pause(attempt, str(error), came.usage)
        _, event = report(self.state, came.attempt, result, self.clock())
        if event is not None:
            self._parts.journal.hold(event)
        if came.usage.seconds >= _CHEAP_S:
            self._written()
        self._tell(came.attempt)

    def _is_out_of_turn(self, attempt: Attempt) -> bool:
        """Whether a unit was to go on from another one that failed.

        Stored studies of an earlier version, which decided ahead, may have such a unit in flight;
        this version makes none.
        """
        return attempt.done != self.state.count(attempt.unit.arm)

    def tend(self) -> None:
        """Write what waits, give signs of life, stop what has had enough, show progress."""
        now = self._parts.executor.now()
        if now - self._last_beat >= self._options.beat_s:
            self._last_beat = now
            self._beat()
        self._written()
        self._parts.checkpoints.sweep()
        self._running.keep_limits(now)
        if now - self._last_look >= self._options.look_s:
            self._last_look = now
            self._parts.watch(self.state, self._parts.executor.running())

    def poll(self) -> list[Report]:
        """Reports that have come, waiting as long as nothing else has to be done."""
        look = self._running.until_look(self._parts.executor.now())
        return self._parts.executor.poll(max(SHORTEST_WAIT_S, min(self._options.tick_s, look)))

    def bear(self, waited_s: float) -> None:
        """Refuse to wait for the store, or for a worker, longer than the session's patience.

        Raises:
            Paused: That long has passed.
        """
        if waited_s < self._options.patience_s:
            return
        if not self.waiting and self._without_workers():
            raise Paused(
                f"no worker was to be had for {waited_s:.0f} s: resume when the cluster has room"
            )
        raise Paused(
            f"the study's store was locked or away for {waited_s:.0f} s: what was acknowledged "
            "is safe, resume when it is back"
        )

    def abandon(self) -> None:
        """Stop now. What runs is trained on resume if the budget allows that, or charged."""
        now = self._parts.executor.now()
        self._parts.executor.close(0.0)
        if self.state.ledger.budget.rules.restarts:
            return
        for attempt in self.state.flying:
            busy = Usage(self._running.busy_s(attempt.number, now))
            why = Failure(FailureKind.STOPPED, "interrupted", usage=busy)
            self._record(failure(self.state, attempt.number, why, self.clock()))

    def end(self, reason: str, sleep: Callable[[float], None]) -> None:
        """End the session in good order.

        Raises:
            Paused: The store stayed locked; what it has is sound.
        """
        self._record(SessionEnded(reason, self.clock()))
        waited = 0.0
        while not self._written():
            if waited >= self._options.patience_s:
                raise Paused("the study's store is locked by another program: resume later")
            sleep(self._options.tick_s)
            waited += self._options.tick_s
        with suppress(DiskFull, PlaceAway):  # its arm still has it; the next session makes the copy
            self._parts.checkpoints.keep_best(self.state)
        with suppress(PlaceAway):  # what is still to be removed there goes with the next session
            self._parts.checkpoints.finish()

    def _record(self, *events: Event) -> None:
        """Log events, or let them wait while the store is locked."""
        if events:
            self._parts.journal.record(*events)
            self._written()

    def _written(self) -> bool:
        """Write what waits; once all is in the log, do on the disk what had to wait for it."""
        if not self._parts.journal.flush():
            return False
        if self.state.reports > self._settled:
            self._settled = self.state.reports
            self._parts.settled(self.state)
        checkpoints = self._parts.checkpoints
        checkpoints.settle(self.state)
        checkpoints.drop(self._drops)
        self._drops = checkpoints.excess(self.state, self._ends, self.clock())
        if self._drops and self._parts.journal.record(*self._drops):
            checkpoints.drop(self._drops)
            self._drops = []
        return not self._parts.journal.waiting

    def _ends(self) -> FloatArray | None:
        """Where arms are expected to end, by the study's predictor at the latest decision, [K]."""
        if self._view is None:
            return None
        with one_thread():
            return predictor_of(self._parts.policy).predict(self._view).mean()

    def _writable(self) -> bool:
        """Whether a decision could be logged now."""
        return self._written() if self._parts.journal.locked else True

    def _drop(self, dropped: list[CheckpointDropped]) -> None:
        """Log that checkpoints are gone, then remove what is left of them."""
        self._drops += dropped
        self._record(*dropped)

    def _committed(self, attempt: Attempt, result: UnitResult) -> UnitResult:
        """A result with its checkpoint under its final name, if the trainer made one."""
        if result.frozen:
            return replace(result, checkpoint=self._parts.checkpoints.commit(attempt))
        self._parts.checkpoints.discard(attempt)
        return result

    def _submit(self) -> None:
        """Submit what is decided and in the log, as long as slots are free."""
        while self._unsubmitted and self._parts.executor.free and self._written():
            number, checked = next(iter(self._unsubmitted.items()))
            attempt = self.state.attempts[number]
            if self._is_out_of_turn(attempt):
                del self._unsubmitted[number]
                self._fail(attempt, Failure(FailureKind.LOST, _OUT_OF_TURN))
                continue
            resume = self._resumption.at_start(attempt.unit.arm, checked)
            changed = dearer(self.state, attempt, resume, self.clock())
            if changed is None:
                try:
                    since = self._parts.executor.submit(self._job(attempt, resume))
                except TrainerGone:
                    continue  # it died just now: see where the arm goes on from instead
                except DiskFull as error:
                    self._pause(attempt, str(error), Usage())
                self._running.started(number, since)
            else:
                self._record(changed)
            if not isinstance(changed, Extended):
                del self._unsubmitted[number]

    def _job(self, attempt: Attempt, resume: Resume) -> Job:
        """The job of an attempt, with an empty folder for its checkpoint."""
        return Job(
            attempt=attempt.number,
            arm=attempt.unit.arm,
            config=self.state.configs[attempt.unit.arm],
            epochs=attempt.unit.epochs,
            done=attempt.done,
            freeze_to=self._parts.checkpoints.begin(attempt),
            resume=resume,
            limit_s=hung_after(self.state, attempt.expected_s),
            objective=self.state.plan.objective,
            paid_s=paid_s(self.state, attempt, 0.0, self.clock()),
            worker=attempt.worker,
        )

    def _take_failure(self, attempt: Attempt, why: Failure, stop: Stop | None) -> None:
        if why.kind is FailureKind.DISK_FULL:
            self._pause(attempt, why.message, why.usage)
        self._parts.checkpoints.discard(attempt)
        if why.kind is FailureKind.STOPPED and stop is not None:
            why = replace(why, kind=FailureKind(stop.kind), message=stop.message)
        self._fail(attempt, why)

    def _fail(self, attempt: Attempt, why: Failure) -> None:
        """Log a failed attempt; give up if it is the trainer and not the arm."""
        event = failure(self.state, attempt.number, why, self.clock())
        self._record(event)
        self._tell(attempt.number)
        reason = hopeless(self.state)
        if reason is not None or (event.final and why.kind is FailureKind.IMPORT_FAILED):
            error = TrainerBroken(f"the trainer does not work: {reason or why.message}")
            error.add_note(why.tail)
            raise error

    def _pause(self, attempt: Attempt, message: str, usage: Usage) -> NoReturn:
        """Stop the session: the unit is trained on resume if the budget allows that, or charged."""
        if not self.state.ledger.budget.rules.restarts:
            why = Failure(FailureKind.STOPPED, message, usage=usage)
            self._record(failure(self.state, attempt.number, why, self.clock()))
        raise Paused(message)

    def _tell(self, number: int) -> None:
        """Call `on_unit` and `note` for a unit that has ended; it is in the log before."""
        note = None if self._noted else note_of_rising_curves(self.state)
        if note is not None:
            self._noted = True
            self._parts.note(note)
        if self._parts.on_unit is not None:
            self._written()
            self._parts.on_unit(FinishedUnit.of(self.state, number))

    def _beat(self) -> None:
        try:
            self._parts.beat(self.clock())
        except Busy:
            return  # the next event or the next beat says it


def drive(
    driver: Driver, interrupts: Interrupts, sleep: Callable[[float], None] = time.sleep
) -> SessionStatus:
    """The loop: data goes round once a unit, until nothing more can be started.

    Raises:
        Paused: The store stayed locked or away for longer than the session's patience, while
            nothing else was to be done.
    """
    waited = 0.0
    while not interrupts.now:
        if not interrupts.finish:
            driver.start_units()
        driver.tend()
        if driver.spent and not interrupts.finish:
            return "done"
        if interrupts.finish and not driver.busy and not driver.waiting:
            return "interrupted"
        if driver.busy:
            waited = 0.0
        else:
            driver.bear(waited)
            sleep(_LOCKED_S)  # the store is locked: nothing can be started until it is not
            waited += _LOCKED_S
        for came in driver.poll():
            driver.take(came)
    driver.abandon()
    return "interrupted"
