"""What a study may cost: epochs, wall-clock time, money, or another kind that is registered."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Self

from bhpt.domain.budget_kinds import BudgetKind, examples, find_kind, parse_amount
from bhpt.domain.errors import Misuse


@dataclass(frozen=True)
class Budget:
    """A hard limit, as people give it and studies store it.

    Attributes:
        amount: How much, in the units of `kind`.
        kind: The name of what is counted: "epochs" trained, "seconds" of wall clock while the
            study runs, or "dollars".
        price_per_hour: What one busy worker costs an hour; needed for dollars.
    """

    amount: float
    kind: str = "epochs"
    price_per_hour: float | None = None

    def __post_init__(self) -> None:
        """Refuse a budget that could buy nothing or could not be counted."""
        find_kind(self.kind)
        if not _is_positive(self.amount):
            raise Misuse(
                f"a budget must be a number more than 0, not {self.amount!r:.40}; {examples()}"
            )
        object.__setattr__(self, "amount", float(self.amount))  # numpy's numbers are not stored
        price = self.price_per_hour
        if price is not None:
            if not _is_positive(price):
                raise Misuse(f"the price an hour must be a number more than 0, not {price!r:.40}")
            object.__setattr__(self, "price_per_hour", float(price))
        problem = self.rules.problem()
        if problem is not None:
            raise Misuse(problem)

    @classmethod
    def parse(cls, text: "str | Budget", price_per_hour: float | None = None) -> "Budget":
        """Read what a person writes.

        Args:
            text: "200 epochs", "2h", "1h30m", "90s" or "$25"; a Budget is returned as it is.
            price_per_hour: What one busy worker costs an hour.

        Raises:
            Misuse: If it is not a positive amount of something known.
        """
        if isinstance(text, Budget):
            return text
        if not isinstance(text, str):
            raise Misuse(f"budget {text!r} does not say of what; {examples()}")
        amount, kind = parse_amount(text.strip())
        return cls(amount, kind, price_per_hour)

    @cached_property
    def rules(self) -> BudgetKind:
        """Everything that depends on what is counted."""
        return find_kind(self.kind)(self.amount, self.price_per_hour)

    def plus(self, more: Self) -> "Budget":
        """This budget and `more` of the same kind, at the same price.

        Raises:
            Misuse: If the kinds or the prices differ.
        """
        if more.kind != self.kind:
            raise Misuse(f"this study counts {self.kind}: add {self.kind}, not {more.kind}")
        if more.price_per_hour not in (None, self.price_per_hour):
            raise Misuse(f"this study's price an hour is {self.price_per_hour} and cannot change")
        return replace(self, amount=self.amount + more.amount)

    def __str__(self) -> str:
        return self.rules.text(self.amount)


def _is_positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return 0 < float(value) < math.inf
    except OverflowError:
        return False
