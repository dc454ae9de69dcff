"""Budgets that time uses up: the cost of a unit is predicted before it runs, measured after."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from bhpt.domain.arrays import FloatArray, IntArray
from bhpt.domain.budget_kinds.kind import (
    STOPPING_S,
    BudgetKind,
    Enough,
    Extend,
    UnitCost,
    UnitUsage,
)

_UNKNOWN = 50  # units that a budget is taken to buy until the first has been timed
_MORE = 1.5  # a reservation that is used up grows by this factor
_WORTH = 0.02  # an extension by less than this part is not worth it
_KILL_S = STOPPING_S / 2  # busy time that a kill takes
_LATE_KILL_S = _KILL_S / 2  # the same for the guard, which comes after the driver


@dataclass(frozen=True, slots=True)
class Timed(BudgetKind):
    """A budget that busy seconds use up."""

    @abstractmethod
    def cost_of(self, seconds: float) -> float:
        """What one worker being busy for so long costs."""

    def unit_costs(self, epochs: IntArray, seconds: FloatArray | None) -> FloatArray:
        """Predicted seconds at their price, or a fixed part of the amount, [K]."""
        if seconds is None:
            return np.full(len(epochs), self.amount / _UNKNOWN)
        return seconds * self.cost_of(1.0)

    def required(self, epochs: int) -> float:
        """Nothing: what a unit costs is known when it ends."""
        return 0.0

    def charge(self, epochs: int, seconds: float) -> float:
        """The price of its busy time."""
        return self.cost_of(seconds)

    def charge_failed(self, reserved: float, seconds: float) -> float:
        """The price of its busy time."""
        return self.cost_of(seconds)


@dataclass(frozen=True, slots=True)
class Metered(Timed):
    """A total that every busy worker uses up at `price_per_hour`, such as money.

    It is never exceeded: a unit that runs longer than its reservation pays for gets more while
    there is some, and is stopped before the reservation is used up when there is not.
    """

    @property
    @abstractmethod
    def spent_message(self) -> str:
        """Why a unit is stopped when nothing is left, in one line for a person."""

    def cost_of(self, seconds: float) -> float:
        """So long at the price an hour; NaN without one, which `problem` refuses."""
        return float("nan") if self.price_per_hour is None else seconds / 3600 * self.price_per_hour

    def seconds_for(self, cost: float) -> float:
        """How long one worker may be busy for `cost`; NaN without a price."""
        return float("nan") if self.price_per_hour is None else cost / self.price_per_hour * 3600

    def reserve(self, cost: UnitCost, left: float, idle: int) -> float:
        """The safe prediction and its stop; a fair share of what is left before any is timed."""
        return min(left, cost.safe + cost.stopping) if cost.timed else left / idle

    @property
    def stopping(self) -> float:
        """The busy time in which a unit is stopped, at its price."""
        return self.cost_of(STOPPING_S)

    def verdict(self, usage: UnitUsage) -> Enough | Extend | None:
        """Raise the reservation before it is used up, or stop while it is not exceeded."""
        bought = self.seconds_for(usage.reserved)
        if usage.busy_s < min(0.9 * bought, bought - STOPPING_S):
            return None
        more = min(usage.left, (_MORE - 1) * usage.reserved)
        if more > _WORTH * usage.reserved:
            return Extend(usage.reserved + more)
        if usage.busy_s < bought - _KILL_S:
            return None
        return Enough(self.spent_message, at_once=True)

    def paid_s(self, usage: UnitUsage) -> float:
        """What the reservation pays for, less the time that the guard takes to kill."""
        bought = self.seconds_for(usage.reserved)
        return max(0.5 * bought, bought - _LATE_KILL_S)

    def start_limit_s(self, left: float, workers: int) -> float:
        """What is left pays for all of them."""
        return self.seconds_for(left) / workers

    def next_look(self, usage: UnitUsage) -> float:
        """Until the reservation is nearly used up, then until it is time to kill."""
        bought = self.seconds_for(usage.reserved)
        ends = (min(0.9 * bought, bought - STOPPING_S), bought - _KILL_S)
        looks = (end - usage.busy_s for end in ends)
        return min((look for look in looks if look > 0), default=0.0)
