"""The range and scale of each hyper-parameter of a study, declared or inferred from its values."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bhpt.domain import FloatArray

_FLOOR = 1e-7  # smaller distances from one count as this one
_LOG_ABOVE = 15.0  # max/min above which a positive number is compared by its logarithm
_NEAR_ONE = 0.95  # median above which a number in [0, 1] is compared by its distance from one

RangeScale = Literal["linear", "log", "from one"]


@dataclass(frozen=True)
class NumberRange:
    """A range of numbers.

    Attributes:
        low: The least value.
        high: The largest value.
        scale: On which equal steps matter equally.
        whole: Whether all values are whole numbers.
    """

    low: float
    high: float
    scale: RangeScale = "linear"
    whole: bool = False

    def straight(self, values: FloatArray) -> FloatArray:
        """Values on the scale; those at or beyond its end count as the least that is possible."""
        if self.scale == "log":
            return np.asarray(np.log(np.maximum(values, min(self.low, self.high) * 1e-3)))
        if self.scale == "from one":
            return np.asarray(-np.log(np.maximum(1.0 - values, _FLOOR)))
        return values

    def position(self, values: FloatArray) -> FloatArray:
        """Where values lie on the scale, 0 at the low end and 1 at the high one; 1/2 if alike."""
        low, high = self.straight(np.array([self.low, self.high]))
        if not high > low:
            return np.full(np.shape(values), 0.5)
        return np.asarray((self.straight(values) - low) / (high - low))


@dataclass(frozen=True)
class Choices:
    """Unordered values; a constant is one.

    Attributes:
        values: Each of them once.
    """

    values: tuple[Any, ...]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.values)


Range = NumberRange | Choices


def infer_ranges(configs: Sequence[Mapping[str, object]]) -> dict[str, Range]:
    """The range of each hyper-parameter, in order of appearance, from the values that occur."""
    return {name: infer_range(found) for name, found in values_by_name(configs).items()}


def values_by_name(configs: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The values of each hyper-parameter that occur, in order of appearance."""
    values: dict[str, list[Any]] = {}
    for config in configs:
        for name, value in config.items():
            values.setdefault(str(name), []).append(value)
    return values


def infer_range(values: Sequence[object]) -> Range:
    """The range of values that occur, numbers on the scale that their range suggests."""
    if not all(is_number(value) for value in values):
        return Choices(tuple({str(value): value for value in values}.values()))
    numbers = np.array(values, float)
    numbers = numbers[np.isfinite(numbers)]
    return range_of_numbers(numbers) if numbers.size else Choices((values[0],))


def range_of_numbers(numbers: FloatArray) -> NumberRange:
    """The range of finite numbers, on the scale that they suggest.

    The scale is logarithmic if all are positive and span more than a factor of 15, by the distance
    from one if all lie in [0, 1] and most are above 0.95, else linear. This is the one rule for
    values without a declared scale.
    """
    low, high = float(numbers.min()), float(numbers.max())
    scale: RangeScale = "linear"
    if low > 0 and high / low > _LOG_ABOVE:
        scale = "log"
    elif low >= 0 and high <= 1 and float(np.median(numbers)) > _NEAR_ONE:
        scale = "from one"
    return NumberRange(low, high, scale, bool((numbers == np.rint(numbers)).all()))


def is_number(value: object) -> bool:
    """Whether a value counts as a number; true and false are words."""
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, int | float | np.integer | np.floating)
