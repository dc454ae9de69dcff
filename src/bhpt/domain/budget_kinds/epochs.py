"""Epochs: a total that is known before a unit runs, so it is spent exactly."""

import re
from dataclasses import dataclass
from typing import ClassVar

from bhpt.domain.arrays import FloatArray, IntArray
from bhpt.domain.budget_kinds.kind import BudgetKind, UnitCost
from bhpt.domain.budget_kinds.numbers import NUMBER
from bhpt.domain.words import counted

_WRITTEN = re.compile(rf"(?P<amount>{NUMBER})\s*epochs?", re.IGNORECASE)
_MOST = 1e15  # a number of floating point counts one by one up to here


@dataclass(frozen=True, slots=True)
class Epochs(BudgetKind):
    """Epochs trained by all arms, those trained again included."""

    name: ClassVar[str] = "epochs"
    example: ClassVar[str] = "200 epochs"
    by_time: ClassVar[bool] = False
    restarts: ClassVar[bool] = True

    @staticmethod
    def parse(text: str) -> float | None:
        """The amount of "200 epochs"."""
        found = _WRITTEN.fullmatch(text)
        return None if found is None else float(found["amount"])

    def text(self, amount: float) -> str:
        """Such as `90 epochs`."""
        return counted(round(amount), "epoch")

    def used_text(self, used: float) -> str:
        """Such as `12 of 90 epochs`."""
        return f"{used:.0f} of {self.text(self.amount)}"

    def problem(self) -> str | None:
        """Epochs cannot be divided, and each of them is counted."""
        if self.amount != int(self.amount):
            return f"a budget of epochs is a whole number, not {self.amount}"
        if self.amount > _MOST:
            return f"a budget of {self.amount:g} epochs cannot be counted: at most {_MOST:g}"
        return None

    def unit_costs(self, epochs: IntArray, seconds: FloatArray | None) -> FloatArray:
        """One for each epoch, [K]."""
        return epochs.astype(float)

    def reserve(self, cost: UnitCost, left: float, idle: int) -> float:
        """What it will cost."""
        return min(cost.typical, left)

    def required(self, epochs: int) -> float:
        """All of them."""
        return float(epochs)

    def charge(self, epochs: int, seconds: float) -> float:
        """One for each epoch."""
        return float(epochs)

    def charge_failed(self, reserved: float, seconds: float) -> float:
        """All that was reserved: how many epochs were trained is not known."""
        return reserved

    @property
    def epochs_bought(self) -> int | None:
        """The amount."""
        return int(self.amount)

    def worth_a_session(self, epochs: int) -> float:
        """One step of training."""
        return float(epochs)

    def rounded(self, amount: float, epochs: int) -> float:
        """A whole number of units, at least one."""
        return float(max(epochs, round(amount / epochs) * epochs))
