"""What a study may cost: epochs, wall-clock time or money."""

import math
import re
from dataclasses import dataclass, replace
from typing import Literal, Self, get_args

from bhpt.domain.errors import Misuse

BudgetKind = Literal["epochs", "seconds", "dollars"]

_NUMBER = r"\d+(?:\.\d*)?|\.\d+"
_EPOCHS = re.compile(rf"(?P<amount>[+-]?(?:{_NUMBER}))\s*epochs?", re.IGNORECASE)
_DOLLARS = re.compile(rf"\$\s*(?P<amount>[+-]?(?:{_NUMBER}))")
_SPAN = re.compile(rf"(?P<amount>{_NUMBER})\s*(?P<unit>[a-z]+)\s*", re.IGNORECASE)
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_SPELLINGS = {
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
}
_HINT = 'write "200 epochs", "2h", "1h30m", "90s" or "$25"'


@dataclass(frozen=True, slots=True)
class Budget:
    """A hard limit.

    Attributes:
        amount: How much, in the units of `kind`.
        kind: Epochs trained, seconds of wall clock while the study runs, or dollars.
        price_per_hour: What one busy worker costs an hour; needed for dollars.
    """

    amount: float
    kind: BudgetKind = "epochs"
    price_per_hour: float | None = None

    def __post_init__(self) -> None:
        """Refuse a budget that could buy nothing or could not be counted."""
        if self.kind not in get_args(BudgetKind):
            raise Misuse(f"unknown kind of budget {self.kind!r}: use epochs, seconds or dollars")
        if not (_is_number(self.amount) and math.isfinite(self.amount) and self.amount > 0):
            raise Misuse(f"a budget must be more than 0, not {self.amount!r}; {_HINT}")
        if self.kind == "epochs" and self.amount != int(self.amount):
            raise Misuse(f"a budget of epochs is a whole number, not {self.amount}")
        if self.kind == "dollars" and self.price_per_hour is None:
            raise Misuse("a budget in dollars needs the price of a worker an hour: give the price")
        if self.price_per_hour is not None and not (
            _is_number(self.price_per_hour)
            and math.isfinite(self.price_per_hour)
            and self.price_per_hour > 0
        ):
            raise Misuse(f"the price an hour must be more than 0, not {self.price_per_hour!r}")

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
            raise Misuse(f"budget {text!r} does not say of what; {_HINT}")
        stripped = text.strip()
        if found := _EPOCHS.fullmatch(stripped):
            return cls(_positive(found["amount"], text), "epochs", price_per_hour)
        if found := _DOLLARS.fullmatch(stripped):
            return cls(_positive(found["amount"], text), "dollars", price_per_hour)
        return cls(_seconds(stripped, text), "seconds", price_per_hour)

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

    def charge(self, epochs: int, seconds: float) -> float:
        """What an attempt that trained so many epochs in so many busy seconds costs."""
        if self.kind == "epochs":
            return float(epochs)
        if self.kind == "seconds":
            return seconds
        return self.dollars(seconds)

    def dollars(self, seconds: float) -> float:
        """The price of one worker being busy for so long; NaN if nobody said the price."""
        return math.nan if self.price_per_hour is None else seconds / 3600 * self.price_per_hour

    def seconds_for(self, cost: float) -> float:
        """How long one worker may be busy for `cost`; infinite where epochs are counted."""
        if self.kind == "epochs":
            return math.inf
        if self.kind == "seconds" or self.price_per_hour is None:
            return cost
        return cost / self.price_per_hour * 3600

    def __str__(self) -> str:
        if self.kind == "epochs":
            return f"{self.amount:.0f} epochs"
        return f"{self.amount:g}s" if self.kind == "seconds" else f"${self.amount:.2f}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _positive(number: str, text: str) -> float:
    amount = float(number)
    if not amount > 0:
        raise Misuse(f"budget {text!r}: a budget must be more than 0; {_HINT}")
    return amount


def _seconds(stripped: str, text: str) -> float:
    """The length of "1h30m"; each unit at most once, the larger first."""
    total, place, last = 0.0, 0, math.inf
    while found := _SPAN.match(stripped, place):
        unit = _SPELLINGS.get(found["unit"].lower())
        size = math.nan if unit is None else _SECONDS[unit]
        if not size < last:
            raise Misuse(f"budget {text!r} has an unknown unit; {_HINT}")
        total, place, last = total + float(found["amount"]) * size, found.end(), size
    if place != len(stripped) or not total > 0:
        raise Misuse(f"budget {text!r} is not an amount that can be spent; {_HINT}")
    return total
