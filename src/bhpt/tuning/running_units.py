"""The units that run now: since when, and the limits that end them.

Whether a unit must end, or may go on at a higher reservation, is decided by the pure functions of
`limits`; here that is asked for at the right times, logged and carried out.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bhpt.domain.budget_kinds import Extend
from bhpt.executors import Executor
from bhpt.study import Journal
from bhpt.study.attempts import Attempt
from bhpt.study.events import Extended
from bhpt.tuning.limits import Stop, hung_after, next_look, paid_s, verdict
from bhpt.tuning.options import Options

SHORTEST_WAIT_S = 0.001
"""Between two looks at running units, at least."""

_ROUNDING_S = 0.01  # a smaller raise of what is paid for is none


@dataclass(slots=True)
class _RunningUnit:
    """A unit that the executor has.

    Attributes:
        since: Since when its time is counted, on the executor's clock.
        submitted: When it was submitted.
        paid_s: `Job.paid_s` as the executor has it.
        look_at: When its limits are checked next.
        stop: Why it was asked to end, None if it was not.
    """

    since: float
    submitted: float
    paid_s: float = float("-inf")
    look_at: float = float("-inf")
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class EndedUnit:
    """A unit that the executor had.

    Attributes:
        since: Since when its time is counted, on the executor's clock.
        stop: Why it was asked to end, None if it was not.
    """

    since: float
    stop: Stop | None


class RunningUnits:
    """Keeps the limits of the units that run.

    Args:
        journal: The study.
        executor: Runs them.
        options: How often they are looked at, and how long they may take to end.
        clock: The study's clock.
        record: Logs an event, or lets it wait while the store is locked.
    """

    def __init__(
        self,
        journal: Journal,
        executor: Executor,
        options: Options,
        clock: Callable[[], float],
        record: Callable[[Extended], None],
    ) -> None:
        self._journal = journal
        self._executor = executor
        self._options = options
        self._clock = clock
        self._record = record
        self._units: dict[int, _RunningUnit] = {}

    def __len__(self) -> int:
        return len(self._units)

    def started(self, number: int, since: float) -> None:
        """An attempt runs; its time is counted since a moment of the executor's clock."""
        self._units[number] = _RunningUnit(since, self._executor.now())

    def ended(self, number: int) -> EndedUnit:
        """An attempt that was started has ended."""
        unit = self._units.pop(number)
        return EndedUnit(unit.since, unit.stop)

    def busy_s(self, number: int, now: float) -> float:
        """How long an attempt has been running; 0 if it does not run."""
        return now - self._units[number].since if number in self._units else 0.0

    def until_look(self, now: float) -> float:
        """Seconds until `keep_limits` has something to do; infinite if nothing has limits."""
        return min((unit.look_at for unit in self._units.values()), default=float("inf")) - now

    def keep_limits(self, now: float) -> None:
        """Stop units that have had enough, and raise reservations, where it is time to look."""
        for number in [one for one, unit in self._units.items() if unit.look_at <= now]:
            attempt, unit = self._journal.state.attempts[number], self._units[number]
            if unit.stop is None:
                self._limit(attempt, unit, now)
            unit.look_at = now + self._until_next(attempt, unit, now)

    def _until_next(self, attempt: Attempt, unit: _RunningUnit, now: float) -> float:
        """Seconds until a running unit has to be looked at: the next tick, or as its budget says.

        With hundreds of workers, looking at all of them after each report would be most of what
        the driver does; so ticks are the same for all, and a unit that its budget never stops and
        whose limit the executor has is not looked at.
        """
        tick = self._options.tick_s
        until_tick = tick - now % tick
        if unit.stop is not None:
            return until_tick
        state, grace = self._journal.state, self._options.grace_s
        look = next_look(state, attempt, now - unit.since, self._clock(), grace)
        if look == float("inf") and attempt.expected_s is not None:
            return look
        return max(SHORTEST_WAIT_S, min(until_tick, look))

    def _limit(self, attempt: Attempt, unit: _RunningUnit, now: float) -> None:
        """Stop a running unit that has had enough, or raise its reservation."""
        state, busy = self._journal.state, now - unit.since
        clock, grace = self._clock(), self._options.grace_s
        found = verdict(state, attempt, busy, clock, grace) or self._overdue(attempt, unit, now)
        if isinstance(found, Extend):
            self._record(Extended(attempt.number, found.cost, clock))
        elif found is not None:
            unit.stop = found
            paid = paid_s(state, attempt, busy, clock)
            left = grace if paid is None else min(grace, paid - busy)
            self._executor.stop(attempt.number, 0.0 if found.at_once else max(0.0, left))
        self._extend_paid(attempt.number, unit, busy)

    def _extend_paid(self, number: int, unit: _RunningUnit, busy: float) -> None:
        """Let a unit go on under a raised reservation, once that is in the log."""
        state = self._journal.state
        paid = paid_s(state, state.attempts[number], busy, self._clock())
        if paid is None or self._journal.waiting or paid <= unit.paid_s + _ROUNDING_S:
            return
        unit.paid_s = paid
        self._executor.extend(number, paid)

    def _overdue(self, attempt: Attempt, unit: _RunningUnit, now: float) -> Stop | None:
        """A unit that hangs although no limit was known when it was submitted.

        The start of its worker is charged, but a unit does not hang because of it.
        """
        if attempt.expected_s is not None:
            return None  # the executor has its limit
        limit = hung_after(self._journal.state, self._journal.state.longest_s)
        if limit is None or now - unit.submitted <= limit:
            return None
        return Stop("timed-out", f"it ran past its limit of {limit:.0f} s")
