"""One session of a study: decide, log, submit, take the report, keep the limits."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

from bhpt.checkpoints import DiskFull, PlaceAway, UnsafeCheckpoint
from bhpt.domain import (
    Failure,
    FailureKind,
    Resume,
    UnitResult,
    Usage,
)
from bhpt.executors import Job, PlacingExecutor, Report, TrainerGone
from bhpt.study import Busy, State
from bhpt.study.attempts import Attempt
from bhpt.study.deciding import PlannedUnit, is_exhausted, next_unit
from bhpt.study.events import (
    Extended,
    Restarted,
    SessionEnded,
    SessionStarted,
)
from bhpt.study.rising_curves import note_of_rising_curves
from bhpt.study.settling import dearer, failure, hopeless, reconcile, report
from bhpt.study.state import BLAMELESS
from bhpt.tuning.driver_parts import DriverParts
from bhpt.tuning.errors import Paused, TrainerBroken
from bhpt.tuning.finished_units import FinishedUnit
from bhpt.tuning.interrupts import Interrupts
from bhpt.tuning.limits import Stop, hung_after, paid_s
from bhpt.tuning.options import Options
from bhpt.tuning.recording import Recorder
from bhpt.tuning.result import SessionStatus
from bhpt.tuning.resuming import Resumption
from bhpt.tuning.running_units import SHORTEST_WAIT_S, RunningUnits

_CHEAP_S = 1.0  # a shorter unit's report may wait to be written with the next decision
_MAY_WAIT = 1e-3  # so may any other, if a decision takes no longer than this part of the unit
_LOCKED_S = 0.05  # between two looks at a locked store
_OUT_OF_TURN = "the unit that it went on from failed"


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
        self._recorder = Recorder(parts, self.clock)
        self._running = RunningUnits(
            parts.journal, parts.executor, options, self.clock, self._recorder.record
        )
        self._last_beat = self._last_look = float("-inf")
        self._noted = False
        self._deciding_s = 0.0  # the latest decision

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
        self._recorder.record(session)
        self._recorder.drop(self._parts.checkpoints.missing(self.state, session.clock))
        resumes: dict[int, Resume] = {}
        for attempt in self.state.flying:
            resume, damaged = self._resumption.checked(attempt.unit.arm, session.clock)
            resumes[attempt.number] = resume
            self._recorder.drop(damaged)
        events = reconcile(self.state, resumes, session.clock, unseen_s)
        restarted = [event.attempt for event in events if isinstance(event, Restarted)]
        self._unsubmitted = {number: resumes[number] for number in restarted}
        self._recorder.record(*events)

    def start_units(self) -> None:
        """Submit what was decided, and decide on more while slots are free."""
        self._submit()
        while self._has_room() and not self._unsubmitted and self._recorder.writable():
            if self.reached:
                return
            found = self._next_unit()
            if found is None:
                return
            resume, damaged = self._resumption.checked(found.decided.arm, self.clock())
            if damaged:
                self._recorder.drop(damaged)
                continue
            self._recorder.view = found.view
            self._unsubmitted[found.decided.attempt] = resume
            self._recorder.record(
                *found.on_worker(self._worker_for(found.decided.arm, resume)).events
            )
            self._submit()

    def _next_unit(self) -> PlannedUnit | None:
        """The next unit to start; notes how long deciding on it took."""
        parts, began = self._parts, time.perf_counter()
        found = next_unit(
            self.state, parts.policy, self.clock(), self._resumption.rerun, parts.memory
        )
        self._deciding_s = time.perf_counter() - began
        return found

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
        return self.state.can_pay

    def _is_closing(self) -> bool:
        """Whether a unit that is started now would be asked to end at once."""
        rules = self.state.ledger.budget.rules
        return rules.is_closing(self.clock(), self._options.grace_s)

    def take(self, came: Report) -> None:
        """Log what came of a unit: report, checkpoint and settlement in one transaction."""
        attempt = self.state.attempts[came.attempt]
        ran = self._running.ended(came.attempt)
        if isinstance(came.outcome, Failure):
            self._take_failure(attempt, came.outcome, ran.stop)
            return
        rules, ended = self.state.ledger.budget.rules, ran.since + came.usage.seconds - self._zero
        if (late := rules.too_late(ended)) is not None:
            why = Failure(FailureKind.STOPPED, late, usage=came.usage)
            self._take_failure(attempt, why, ran.stop)
            return
        try:
            result = self._committed(attempt, came.outcome)
        except UnsafeCheckpoint as error:
            self._fail(attempt, Failure(FailureKind.BAD_REPORT, str(error), usage=came.usage))
            return
        except (DiskFull, PlaceAway) as error:
            self._pause(attempt, str(error), came.usage)
        read = self.clock()
        at = read if rules.too_late(read) is None else ended  # it was read late, not trained late
        _, event = report(self.state, came.attempt, result, at)
        if event is not None:
            self._parts.journal.hold(event)
        if not self._may_wait(came.usage.seconds):
            self._recorder.written()
        self._tell(came.attempt)

    def _may_wait(self, seconds: float) -> bool:
        """Whether a unit's report may be written with the next decision, in one transaction.

        A driver that is killed before that trains the unit again. So it may if little is lost with
        it, or if it waits so briefly that this hardly ever happens.
        """
        return seconds < _CHEAP_S or self._deciding_s <= _MAY_WAIT * seconds

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
        self._recorder.written()
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
            self._recorder.record(failure(self.state, attempt.number, why, self.clock()))

    def end(self, reason: str, sleep: Callable[[float], None]) -> None:
        """End the session in good order.

        Raises:
            Paused: The store stayed locked; what it has is sound.
        """
        self._recorder.record(SessionEnded(reason, self.clock()))
        waited = 0.0
        while not self._recorder.written():
            if waited >= self._options.patience_s:
                raise Paused("the study's store is locked by another program: resume later")
            sleep(self._options.tick_s)
            waited += self._options.tick_s
        self._parts.checkpoints.finish(self.state)

    def _committed(self, attempt: Attempt, result: UnitResult) -> UnitResult:
        """A result with its checkpoint under its final name, if the trainer made one."""
        if result.frozen:
            return replace(result, checkpoint=self._parts.checkpoints.commit(attempt))
        self._parts.checkpoints.discard(attempt)
        return result

    def _submit(self) -> None:
        """Submit what is decided and in the log, as long as slots are free."""
        while self._unsubmitted and self._parts.executor.free and self._recorder.written():
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
                self._recorder.record(changed)
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
        self._recorder.record(event)
        self._tell(attempt.number)
        known = hopeless(self.state)
        if known is not None or (event.final and why.kind is FailureKind.IMPORT_FAILED):
            # what was known of an earlier session may be mended by now
            reason = known if why.kind in BLAMELESS else why.message
            error = TrainerBroken(
                f"the trainer does not work: {reason}",
                can_resume=not is_exhausted(self.state),
            )
            error.add_note(why.tail)
            raise error

    def _pause(self, attempt: Attempt, message: str, usage: Usage) -> NoReturn:
        """Stop the session: the unit is trained on resume if the budget allows that, or charged."""
        if not self.state.ledger.budget.rules.restarts:
            why = Failure(FailureKind.STOPPED, message, usage=usage)
            self._recorder.record(failure(self.state, attempt.number, why, self.clock()))
        raise Paused(message)

    def _tell(self, number: int) -> None:
        """Call `on_unit` and `note` for a unit that has ended; it is in the log before."""
        note = None if self._noted else note_of_rising_curves(self.state)
        if note is not None:
            self._noted = True
            self._parts.note(note)
        if self._parts.on_unit is not None:
            self._recorder.written()
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
