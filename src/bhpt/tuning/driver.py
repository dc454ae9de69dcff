"""One session of a study: decide, log, submit, take the report, keep the limits."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from bhpt.checkpoints import DiskFull, UnsafeCheckpoint
from bhpt.domain.budget_kinds import Extend
from bhpt.executors import Executor, Failure, FailureKind, Report, Running
from bhpt.policies.interface import Explanation, Policy
from bhpt.study import Busy, Journal, State
from bhpt.study.deciding import next_unit
from bhpt.study.events import (
    CheckpointDropped,
    Event,
    Extended,
    Failed,
    Restarted,
    Saved,
    SessionEnded,
    SessionStarted,
)
from bhpt.study.settling import Run, dearer, failure, hopeless, reconcile, report
from bhpt.study.state import Attempt
from bhpt.tuning.checkpoint_session import Freezer
from bhpt.tuning.errors import Paused, TrainerBroken
from bhpt.tuning.interrupts import Interrupts
from bhpt.tuning.limits import Stop, hung_after, next_look, verdict
from bhpt.tuning.options import Options
from bhpt.tuning.result import Status

Watch = Callable[[State, tuple[Running, ...]], None]
"""Called now and then with the study and what runs, for a progress view."""

Beat = Callable[[float], None]
"""Writes a sign of life with the study's clock; raises `Busy` if it cannot now."""


_CHEAP_S = 1.0  # a shorter unit's report may wait a moment, to be written with the next decision
_LOCKED_S = 0.05  # between two looks at a locked store


@dataclass(frozen=True, slots=True)
class Rooms:
    """What a driver works with.

    Attributes:
        journal: The study.
        policy: Chooses.
        executor: Trains.
        freezer: Keeps checkpoints.
        beat: Writes signs of life.
        watch: Shows progress.
    """

    journal: Journal
    policy: Policy
    executor: Executor
    freezer: Freezer
    beat: Beat = lambda _: None
    watch: Watch = lambda _state, _running: None


class Driver:
    """The steps of a session; `drive` says in which order.

    Nothing is submitted before its decision is in the log, and nothing new is decided while
    anything waits to be written.

    Args:
        rooms: What it works with.
        options: How it runs.
        clock: The study's clock at the start of the session.
    """

    def __init__(self, rooms: Rooms, options: Options, clock: float) -> None:
        self._rooms = rooms
        self._options = options
        self._zero = rooms.executor.now() - clock
        self._unsubmitted: list[int] = []
        self._started: dict[int, float] = {}
        self._stops: dict[int, Stop] = {}
        self._drops: list[CheckpointDropped] = []
        self._explanation: Explanation | None = None
        self._last_beat = self._last_look = float("-inf")

    @property
    def state(self) -> State:
        """The study now."""
        return self._rooms.journal.state

    @property
    def busy(self) -> bool:
        """Whether a unit runs."""
        return bool(self._started)

    @property
    def waiting(self) -> bool:
        """Whether something is not in the log yet."""
        return self._rooms.journal.waiting > 0

    @property
    def spent(self) -> bool:
        """Whether nothing runs and nothing more was started."""
        return not (self.busy or self.waiting or self._unsubmitted)

    def clock(self) -> float:
        """Seconds for which the study has been running."""
        return self._rooms.executor.now() - self._zero

    def begin(self, session: SessionStarted, unseen_s: float) -> None:
        """Start the session: see what is left of the last one, and go on with its units."""
        self._record(session)
        self._drop(self._rooms.freezer.missing(self.state, session.clock))
        for attempt in self.state.flying:
            self._drop(self._rooms.freezer.check(attempt.unit.arm, session.clock))
        events = reconcile(self.state, self._reruns_of, session.clock, unseen_s)
        self._unsubmitted += [event.attempt for event in events if isinstance(event, Restarted)]
        self._record(*events)

    def start_units(self) -> None:
        """Submit what was decided, and decide on more while slots are free."""
        self._submit()
        while self._rooms.executor.free and not self._unsubmitted and self._writable():
            found = next_unit(self.state, self._rooms.policy, self.clock(), self._reruns)
            if found is None:
                return
            damaged = self._damaged(found.decided.arm)
            if damaged:
                self._drop(damaged)
                continue
            self._explanation = found.explanation
            self._unsubmitted.append(found.decided.attempt)
            self._record(*found.events)
            self._submit()

    def take(self, came: Report) -> None:
        """Log what came of a unit: report, checkpoint and settlement in one transaction."""
        attempt = self.state.attempts[came.attempt]
        self._started.pop(came.attempt, None)
        stop = self._stops.pop(came.attempt, None)
        if came.failure is not None:
            self._take_failure(attempt, came.failure, stop, came.seconds)
            return
        try:
            saved = self._saved(attempt, came)
        except UnsafeCheckpoint as error:
            self._fail(attempt, FailureKind.BAD_REPORT, str(error), "", came.seconds)
            return
        except DiskFull as error:
            self._pause(attempt, str(error), came.seconds)
        run = Run(came.seconds, came.setup_s, came.rerun, saved)
        _, event = report(self.state, came.attempt, came.losses, run, self.clock())
        if event is not None:
            self._rooms.journal.hold(event)
        if came.seconds >= _CHEAP_S:
            self._written()

    def tend(self) -> None:
        """Write what waits, give signs of life, stop what has had enough, show progress."""
        now = self._rooms.executor.now()
        if now - self._last_beat >= self._options.beat_s:
            self._last_beat = now
            self._beat()
        self._written()
        self._rooms.freezer.sweep()
        for number in tuple(self._started):
            self._limit(self.state.attempts[number], now)
        if now - self._last_look >= self._options.look_s:
            self._last_look = now
            self._rooms.watch(self.state, self._rooms.executor.running())

    def poll(self) -> list[Report]:
        """Reports that have come, waiting as long as nothing else has to be done."""
        now, clock = self._rooms.executor.now(), self.clock()
        looks = [
            next_look(self.state, self.state.attempts[number], now - started, clock)
            for number, started in self._started.items()
            if number not in self._stops
        ]
        wait = min(self._options.tick_s, *looks) if looks else self._options.tick_s
        return self._rooms.executor.poll(max(0.001, wait))

    def abandon(self) -> None:
        """Stop now. What runs is trained on resume if the budget allows that, or charged."""
        now = self._rooms.executor.now()
        self._rooms.executor.close(0.0)
        if self.state.ledger.budget.rules.restarts:
            return
        for attempt in self.state.flying:
            busy = now - self._started.get(attempt.number, now)
            self._record(self._failed(attempt, FailureKind.STOPPED, "interrupted", "", busy))

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
        self._rooms.freezer.keep_best(self.state)
        self._rooms.freezer.finish()

    def _record(self, *events: Event) -> None:
        """Log events, or let them wait while the store is locked."""
        if events:
            self._rooms.journal.record(*events)
            self._written()

    def _written(self) -> bool:
        """Write what waits; once all is in the log, do on the disk what had to wait for it."""
        if not self._rooms.journal.flush():
            return False
        freezer = self._rooms.freezer
        freezer.settle(self.state)
        freezer.drop(self._drops)
        self._drops = freezer.excess(self.state, self._explanation, self.clock())
        if self._drops and self._rooms.journal.record(*self._drops):
            freezer.drop(self._drops)
            self._drops = []
        return not self._rooms.journal.waiting

    def _writable(self) -> bool:
        """Whether a decision could be logged now."""
        return self._written() if self._rooms.journal.locked else True

    def _drop(self, dropped: list[CheckpointDropped]) -> None:
        """Log that checkpoints are gone, then remove what is left of them."""
        self._drops += dropped
        self._record(*dropped)

    def _damaged(self, arm: int) -> list[CheckpointDropped]:
        """Checkpoints of an arm that turn out to be damaged when they are needed."""
        if self._is_alive(arm):
            self._rooms.freezer.trust(arm)
            return []
        return self._rooms.freezer.check(arm, self.clock())

    def _is_alive(self, arm: int) -> bool:
        """Whether an arm can go on in its worker without being thawed."""
        if not self.state.count(arm):
            return False
        return self._rooms.executor.reruns(self._rooms.freezer.bare(self.state, arm)) == 0

    def _saved(self, attempt: Attempt, came: Report) -> Saved | None:
        """The checkpoint of a report under its final name; None if the trainer makes none."""
        if came.frozen:
            return self._rooms.freezer.commit(attempt)
        self._rooms.freezer.discard(attempt)
        return None

    def _submit(self) -> None:
        """Submit what is decided and in the log, as long as slots are free."""
        while self._unsubmitted and self._rooms.executor.free and self._written():
            attempt = self.state.attempts[self._unsubmitted[0]]
            try:
                job = self._rooms.freezer.job(
                    self.state, attempt, hung_after(self.state, attempt.expected_s)
                )
                changed = dearer(
                    self.state, attempt, self._rooms.executor.reruns(job), self.clock()
                )
                if changed is None:
                    self._rooms.executor.submit(job)
            except DiskFull as error:
                self._pause(attempt, str(error), 0.0)
            if changed is None:
                self._started[attempt.number] = self._rooms.executor.now()
            else:
                self._record(changed)
            if not isinstance(changed, Extended):
                del self._unsubmitted[0]

    def _take_failure(
        self, attempt: Attempt, failed: Failure, stop: Stop | None, seconds: float
    ) -> None:
        if failed.kind is FailureKind.DISK_FULL:
            self._pause(attempt, failed.message, seconds)
        self._rooms.freezer.discard(attempt)
        kind, message = str(failed.kind), failed.message
        if failed.kind is FailureKind.STOPPED and stop is not None:
            kind, message = stop.kind, stop.message
        self._fail(attempt, kind, message, failed.tail, seconds)

    def _fail(self, attempt: Attempt, kind: str, message: str, tail: str, seconds: float) -> None:
        """Log a failed attempt; give up if it is the trainer and not the arm."""
        event = self._failed(attempt, kind, message, tail, seconds)
        self._record(event)
        why = hopeless(self.state)
        if why is not None or (event.final and kind == FailureKind.IMPORT_FAILED):
            error = TrainerBroken(f"the trainer does not work: {why or message}")
            error.add_note(tail)
            raise error

    def _failed(
        self, attempt: Attempt, kind: str, message: str, tail: str, seconds: float
    ) -> Failed:
        return failure(self.state, attempt.number, str(kind), message, tail, seconds, self.clock())

    def _pause(self, attempt: Attempt, message: str, seconds: float) -> NoReturn:
        """Stop the session: the unit is trained on resume if the budget allows that, or charged."""
        if not self.state.ledger.budget.rules.restarts:
            self._record(self._failed(attempt, FailureKind.STOPPED, message, "", seconds))
        raise Paused(message)

    def _beat(self) -> None:
        try:
            self._rooms.beat(self.clock())
        except Busy:
            return  # the next event or the next beat says it

    def _limit(self, attempt: Attempt, now: float) -> None:
        """Stop a running unit that has had enough, or raise its reservation."""
        if attempt.number in self._stops:
            return
        busy = now - self._started[attempt.number]
        said = verdict(self.state, attempt, busy, self.clock()) or self._overdue(attempt, busy)
        if isinstance(said, Extend):
            self._record(Extended(attempt.number, said.cost, self.clock()))
        elif said is not None:
            self._stops[attempt.number] = said
            grace = 0.0 if said.at_once else self._options.grace_s
            self._rooms.executor.stop(attempt.number, grace)

    def _overdue(self, attempt: Attempt, busy: float) -> Stop | None:
        """A unit that hangs although no limit was known when it was submitted."""
        if attempt.expected_s is not None:
            return None  # the executor has its limit
        limit = hung_after(self.state, self.state.longest_s)
        if limit is None or busy <= limit:
            return None
        return Stop("timed-out", f"it ran past its limit of {limit:.0f} s")

    def _reruns(self, arm: int) -> int:
        """Epochs that an arm would have to train again: the log knows, or the executor does."""
        known, done = self.state.arm(arm), self.state.count(arm)
        if known.saved or not done:
            return done - known.ready
        return self._rooms.executor.reruns(self._rooms.freezer.probe(self.state, arm))

    def _reruns_of(self, attempt: Attempt) -> int:
        return self._rooms.executor.reruns(self._rooms.freezer.probe(self.state, attempt.unit.arm))


def drive(
    driver: Driver, interrupts: Interrupts, sleep: Callable[[float], None] = time.sleep
) -> Status:
    """The loop: data goes round once a unit, until nothing more can be started."""
    while not interrupts.now:
        if not interrupts.finish:
            driver.start_units()
        driver.tend()
        if driver.spent and not interrupts.finish:
            return "done"
        if interrupts.finish and not driver.busy and not driver.waiting:
            return "interrupted"
        if not driver.busy:
            sleep(_LOCKED_S)  # the store is locked: nothing can be started until it is not
        for came in driver.poll():
            driver.take(came)
    driver.abandon()
    return "interrupted"
