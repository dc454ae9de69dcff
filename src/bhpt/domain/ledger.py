"""Reserve and settle: the arithmetic that keeps a budget hard.

Cost is reserved before a unit starts and settled when its report comes. Whether the budget is a
total, of which everything spent and reserved is gone, or a deadline that units side by side share,
is decided by its kind.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from bhpt.domain.budget import Budget
from bhpt.domain.errors import Misuse

_ROUNDING = 1e-9  # sums of floats: ten units of 0.1 must fit into 1


def _nothing_open() -> Mapping[int, float]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Ledger:
    """What has been spent, what is promised and what is free.

    Attributes:
        budget: The limit.
        spent: Sum of the settled cost of all attempts, failed ones included.
        clock: Seconds for which the study has been running, all sessions together.
        promised: Reserved cost of every attempt in flight.
    """

    budget: Budget
    spent: float = 0.0
    clock: float = 0.0
    promised: Mapping[int, float] = field(default_factory=_nothing_open)

    @cached_property
    def reserved(self) -> float:
        """The sum of what is promised to attempts in flight; asked for by each of them."""
        return math.fsum(self.promised.values())

    @property
    def used(self) -> float:
        """What is gone of the budget for good: time that passed, or what was spent."""
        return self.budget.rules.used(self.spent, self.clock)

    @property
    def held(self) -> float:
        """What reservations take away from further attempts."""
        return self.budget.rules.held(self.reserved)

    @cached_property
    def left(self) -> float:
        """What a further attempt may reserve, never negative."""
        return max(0.0, self.budget.amount - self.used - self.held)

    def fits(self, cost: float) -> bool:
        """Whether so much may be reserved now."""
        return cost <= self.left + _ROUNDING * max(1.0, self.budget.amount)

    def reserve(self, attempt: int, cost: float) -> "Ledger":
        """The ledger with `cost` promised to a new attempt.

        Raises:
            Misuse: If it does not fit, is no cost, or the attempt has a reservation already.
        """
        if attempt in self.promised:
            raise Misuse(f"attempt {attempt} has reserved its cost already")
        if not (math.isfinite(cost) and cost >= 0):
            raise Misuse(f"attempt {attempt}: {cost} is not a cost")
        if not self.fits(cost):
            raise Misuse(f"attempt {attempt} would cost {cost:g}, but only {self.left:g} is left")
        promised = MappingProxyType({**self.promised, attempt: cost})
        return Ledger(self.budget, self.spent, self.clock, promised)

    def extend(self, attempt: int, cost: float) -> "Ledger":
        """The ledger with the reservation of an attempt in flight raised to `cost`."""
        before = self._promise(attempt)
        if cost < before:
            raise Misuse(
                f"attempt {attempt}: a reservation of {before:g} cannot shrink to {cost:g}"
            )
        return self._without(attempt).reserve(attempt, cost)

    def can_extend(self, attempt: int, cost: float) -> bool:
        """Whether the reservation of an attempt in flight may be raised to `cost` now."""
        return self._without(attempt).fits(cost)

    def settle(self, attempt: int, cost: float) -> "Ledger":
        """The ledger with an attempt in flight paid at its true cost.

        The truth is recorded even if it is more than was reserved: whoever starts a unit must
        also stop it in time.
        """
        self._promise(attempt)
        if not (math.isfinite(cost) and cost >= 0):
            raise Misuse(f"attempt {attempt}: {cost} is not a cost")
        return Ledger(self.budget, self.spent + cost, self.clock, self._others(attempt))

    def at(self, clock: float) -> "Ledger":
        """The ledger at a later moment; a clock that went back is ignored."""
        if clock <= self.clock:
            return self
        return Ledger(self.budget, self.spent, clock, self.promised)

    def add(self, more: Budget) -> "Ledger":
        """The ledger with a larger budget."""
        return replace(self, budget=self.budget.plus(more))

    def _promise(self, attempt: int) -> float:
        if attempt not in self.promised:
            raise Misuse(f"attempt {attempt} is not in flight")
        return self.promised[attempt]

    def _without(self, attempt: int) -> "Ledger":
        """The ledger without the promise to one attempt."""
        return replace(self, promised=self._others(attempt))

    def _others(self, attempt: int) -> Mapping[int, float]:
        """What is promised to the other attempts."""
        return MappingProxyType(
            {other: cost for other, cost in self.promised.items() if other != attempt}
        )
