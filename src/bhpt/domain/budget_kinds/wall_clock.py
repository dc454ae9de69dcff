"""Wall-clock time: a deadline that all workers share."""

from dataclasses import dataclass
from typing import ClassVar

from bhpt.domain.budget_kinds.kind import Enough, UnitCost, UnitUsage
from bhpt.domain.budget_kinds.timed import Timed
from bhpt.domain.durations import duration, parse_span, span_text

_NOTICE = 0.02  # of a deadline, at most, goes into ending in good order
_LATE = "the deadline came first"
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class WallClock(Timed):
    """Seconds for which the study runs, all sessions together."""

    name: ClassVar[str] = "seconds"
    example: ClassVar[str] = "1h30m"
    shared: ClassVar[bool] = True

    @staticmethod
    def parse(text: str) -> float | None:
        """The seconds of "1h30m"."""
        return parse_span(text)

    def text(self, amount: float) -> str:
        """Such as `1h30m`."""
        return span_text(amount)

    def used_text(self, used: float) -> str:
        """Such as `0:42 of 2:00`."""
        return f"{duration(used)} of {duration(self.amount)}"

    def cost_of(self, seconds: float) -> float:
        """The seconds themselves."""
        return seconds

    def reserve(self, cost: UnitCost, left: float, idle: int) -> float:
        """The typical time: nothing is taken away from the others."""
        return min(cost.typical, left)

    def verdict(self, usage: UnitUsage) -> Enough | None:
        """Ask to stop in time before the deadline."""
        late = self.is_closing(usage.clock, usage.grace_s)
        return Enough(_LATE) if late else None

    def next_look(self, usage: UnitUsage) -> float:
        """Until it is asked to stop."""
        return max(0.0, self.amount - self._notice(usage.grace_s) - usage.clock)

    def paid_s(self, usage: UnitUsage) -> float:
        """Until the deadline."""
        return usage.busy_s + max(0.0, self.amount - usage.clock)

    def start_limit_s(self, left: float, workers: int) -> float:
        """Until the deadline."""
        return left

    def is_closing(self, clock: float, grace_s: float) -> bool:
        """Whether only the time to end in good order is left."""
        return clock >= self.amount - self._notice(grace_s)

    def too_late(self, ended: float) -> str | None:
        """The deadline is exact: what ends after it does not count."""
        return _LATE if ended > self.amount * (1 + _ROUNDING) else None

    def _notice(self, grace_s: float) -> float:
        """How long before the deadline a unit is asked to end: the grace is inside the budget."""
        return min(grace_s, _NOTICE * self.amount)

    def used(self, spent: float, clock: float) -> float:
        """The time that has passed."""
        return clock

    def held(self, reserved: float) -> float:
        """Nothing: units side by side use the same seconds."""
        return 0.0

    def is_exceeded(self, used: float, held: float) -> bool:
        """Never: a stop at the deadline takes its time."""
        return False

    def seconds_left(self, used: float, clock: float) -> float | None:
        """Until the deadline."""
        return max(0.0, self.amount - clock)
