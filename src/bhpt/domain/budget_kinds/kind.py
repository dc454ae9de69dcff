"""What every kind of budget answers: the seam between a study and what it counts.

A kind is bound to an amount and a price, and is pure. Everything that depends on what is counted
is asked of it: what a unit costs and reserves, when a running unit has had enough, what a lost
attempt costs, what is left, and how amounts are written.

Notation:
    K  arms.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from bhpt.domain.arrays import FloatArray, IntArray

STOPPING_S = 0.5
"""Busy time that a unit may need to be stopped when its budget is gone."""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class UnitCost:
    """What one unit is predicted to cost.

    Attributes:
        typical: In the middle.
        safe: Exceeded only rarely.
        timed: Whether any unit has been timed yet; a guess otherwise.
        stopping: What stopping it costs, 0 if it is never stopped.
    """

    typical: float
    safe: float
    timed: bool
    stopping: float


@dataclass(frozen=True, slots=True)
class UnitUsage:
    """What a budget is given of a running unit.

    Attributes:
        reserved: What is promised to it.
        busy_s: For how long it has been running.
        clock: Seconds for which the study has been running.
        left: By how much its reservation may be raised.
        grace_s: How long it may take to end after it was asked to, where there is time for that.
    """

    reserved: float
    busy_s: float
    clock: float
    left: float
    grace_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Enough:
    """A running unit must end.

    Attributes:
        message: One line for a person.
        at_once: Whether there is no time to end in good order.
    """

    message: str
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Extend:
    """A running unit may go on, at this reservation."""

    cost: float


@dataclass(frozen=True, slots=True)
class BudgetKind(ABC):
    """How one kind of budget counts.

    Attributes:
        amount: The limit.
        price_per_hour: What one busy worker uses up an hour, where that is needed.
        name: The kind's name in stored studies.
        example: An amount as people write it, for messages.
        by_time: Whether what a unit costs depends on how long it takes.
        shared: Whether units that run side by side use up the same budget, as they do of a
            deadline. Otherwise it is a total that they split.
        restarts: Whether a unit that ends with its driver has cost nothing so far: it keeps its
            reservation and is trained on resume.
    """

    name: ClassVar[str]
    example: ClassVar[str]
    by_time: ClassVar[bool] = True
    shared: ClassVar[bool] = False
    restarts: ClassVar[bool] = False

    amount: float
    price_per_hour: float | None = None

    # words

    @staticmethod
    @abstractmethod
    def parse(text: str) -> float | None:
        """The amount that a person wrote; None if the text is of another kind."""

    @abstractmethod
    def text(self, amount: float) -> str:
        """An amount in a form that `parse` reads."""

    @abstractmethod
    def used_text(self, used: float) -> str:
        """How much is used, such as `12 of 90 epochs`."""

    def problem(self) -> str | None:
        """Why a positive amount at this price cannot be counted, in one line; None if it can."""
        return None

    # what units cost

    @abstractmethod
    def unit_costs(self, epochs: IntArray, seconds: FloatArray | None) -> FloatArray:
        """What a unit of each arm would cost, [K].

        Args:
            epochs: That it trains, those trained again included, [K].
            seconds: How long it is predicted to take, [K]; None before anything was timed.
        """

    @abstractmethod
    def reserve(self, cost: UnitCost, left: float, idle: int) -> float:
        """What is set aside for a unit before it starts.

        Args:
            cost: What it is predicted to cost.
            left: What may be reserved.
            idle: Workers that have nothing to do yet, this unit's included.
        """

    @abstractmethod
    def required(self, epochs: int) -> float:
        """The least reservation under which a unit of so many epochs may start."""

    @abstractmethod
    def charge(self, epochs: int, seconds: float) -> float:
        """What an attempt that trained so many epochs in so many busy seconds costs."""

    @abstractmethod
    def charge_failed(self, reserved: float, seconds: float) -> float:
        """What an attempt costs that failed after so many busy seconds."""

    # when a running unit has had enough

    @property
    def stopping(self) -> float:
        """What must be left to stop a running unit."""
        return 0.0

    def verdict(self, usage: UnitUsage) -> Enough | Extend | None:
        """What to do about a running unit; None to let it run."""
        return None

    def next_look(self, usage: UnitUsage) -> float:
        """Seconds until `verdict` may change."""
        return float("inf")

    def paid_s(self, usage: UnitUsage) -> float:
        """Busy seconds after which a unit must be dead even if the driver is stopped."""
        return float("inf")

    def is_closing(self, clock: float, grace_s: float) -> bool:
        """Whether a unit that started now would be asked to end at once."""
        return False

    def too_late(self, ended: float) -> str | None:
        """Why the result of a unit that ended at this clock does not count; None if it does."""
        return None

    def start_limit_s(self, left: float, workers: int) -> float:
        """How long so many workers may take to start side by side, with so much left."""
        return float("inf")

    # what is left

    def used(self, spent: float, clock: float) -> float:
        """What is gone for good, of what attempts have cost and the time that has passed."""
        return spent

    def held(self, reserved: float) -> float:
        """What reservations take away from further units."""
        return reserved

    def is_exceeded(self, used: float, held: float) -> bool:
        """Whether more is used and held than there is, rounding aside."""
        return used + held > self.amount * (1 + _ROUNDING)

    def seconds_left(self, used: float, clock: float) -> float | None:
        """How long the study should still run, at the pace of so far; None if that is unknown."""
        if not used > 0 or not clock > 0:
            return None
        return max(0.0, self.amount - used) * clock / used

    # what amounts are worth

    @property
    def epochs_bought(self) -> int | None:
        """Epochs that the whole amount pays for; None if that depends on how long they take."""
        return None

    def worth_a_session(self, epochs: int) -> float:
        """The least amount left that is worth a resume, if `epochs` cannot be divided."""
        return 0.01 * self.amount

    def rounded(self, amount: float, epochs: int) -> float:
        """The nearest positive amount that whole units of so many epochs can use up."""
        return amount
