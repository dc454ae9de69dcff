"""Money: busy time of all workers at a price."""

import math
import re
from dataclasses import dataclass
from typing import ClassVar

from bhpt.domain.budget_kinds.numbers import NUMBER
from bhpt.domain.budget_kinds.timed import Metered

_WRITTEN = re.compile(rf"\$\s*(?P<amount>{NUMBER})", re.IGNORECASE)

_CENTS = 2  # digits behind the point


@dataclass(frozen=True, slots=True)
class Dollars(Metered):
    """Dollars, at what one busy worker costs an hour."""

    name: ClassVar[str] = "dollars"
    example: ClassVar[str] = "$25"

    @staticmethod
    def parse(text: str) -> float | None:
        """The amount of "$25"."""
        found = _WRITTEN.fullmatch(text)
        return None if found is None else float(found["amount"])

    def text(self, amount: float) -> str:
        """Such as `$2.50`; of less than a dollar, a hundredth of the whole is always to be seen."""
        places = max(_CENTS, _CENTS - math.floor(math.log10(self.amount)))
        whole, _, part = f"{amount:.{places}f}".partition(".")
        return f"${whole}.{part[:_CENTS]}{part[_CENTS:].rstrip('0')}"

    def used_text(self, used: float) -> str:
        """Such as `$1.20 of $5.00`."""
        return f"{self.text(used)} of {self.text(self.amount)}"

    def problem(self) -> str | None:
        """Money needs a price."""
        if self.price_per_hour is not None:
            return None
        return (
            "a budget in dollars needs the price of a busy worker an hour: give price_per_hour "
            "(--price-per-hour), or bhpt.Budget(25, 'dollars', price_per_hour=2.5)"
        )

    @property
    def spent_message(self) -> str:
        """Why a unit is stopped."""
        return "the money ran out"
