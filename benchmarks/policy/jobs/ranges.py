"""Hyper-parameters as the users of a library write them, and the ranges that a table searches.

A hyper-parameter has a sensible interval and an outer one. People's ranges are narrow, wide or
badly centred; a table draws one breadth for all of its ranges and a shift for each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Config = dict[str, Any]

BREADTHS = (0.15, 0.4, 0.7, 1.0)
OFF_CENTRE = 0.3  # how often one end of a range lies far out while the other does not


@dataclass(frozen=True)
class Axis:
    """A hyper-parameter.

    Attributes:
        name: How users of the library write it.
        good: Interval in which trainings usually go well.
        outer: Interval that a wide search may reach.
        log: Whether it is drawn on a logarithmic scale.
        whole: Whether it is a whole number.
        values: Its values, if it is a choice.
        always: Whether every table tunes it.
        also: Other names that people write for it.
        mirrored: Whether one minus it is drawn, and its intervals are those of one minus it, as
            for a momentum near 1.
    """

    name: str
    good: tuple[float, float] = (0.0, 0.0)
    outer: tuple[float, float] = (0.0, 0.0)
    log: bool = False
    whole: bool = False
    values: tuple[Any, ...] = ()
    always: bool = False
    also: tuple[str, ...] = ()
    mirrored: bool = False


@dataclass(frozen=True)
class Range:
    """Values of one hyper-parameter in one table; `values` if it is a choice.

    If it is `mirrored` the ends are those of one minus it.
    """

    name: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    values: tuple[Any, ...] = ()
    mirrored: bool = False

    def at(self, part: float) -> Any:  # noqa: ANN401  # a number or a word
        """The value at this part of the range, 0 to 1."""
        if self.values:
            return self.values[min(int(part * len(self.values)), len(self.values) - 1)]
        if self.log:
            value = float(np.exp(np.log(self.low) * (1 - part) + np.log(self.high) * part))
        else:
            value = self.low * (1 - part) + self.high * part
        value = 1 - value if self.mirrored else value
        return round(value) if self.whole else float(f"{value:.6g}")


def draw_ranges(rng: np.random.Generator, axes: Sequence[Axis]) -> list[Range]:
    """The hyper-parameters that a table tunes, and their ranges."""
    breadth = float(rng.choice(BREADTHS))
    optional = [axis for axis in axes if not axis.always]
    count = int(rng.integers(1, len(optional) + 1)) if optional else 0
    chosen = {optional[i].name for i in rng.permutation(len(optional))[:count]}
    return [_range(rng, axis, breadth) for axis in axes if axis.always or axis.name in chosen]


def _range(rng: np.random.Generator, axis: Axis, breadth: float) -> Range:
    if axis.values:
        return Range(axis.name, values=axis.values)
    ends = []
    off = rng.random() < OFF_CENTRE
    far = int(rng.integers(2))
    for side in (0, 1):
        reach = breadth * rng.uniform(0.3, 1.0)
        if off:
            reach = 1.0 if side == far else -0.3
        good, outer = axis.good[side], axis.outer[side]
        if axis.log:
            ends.append(float(np.exp(np.log(good) + reach * (np.log(outer) - np.log(good)))))
        else:
            ends.append(good + reach * (outer - good))
        if not min(axis.outer) <= ends[-1] <= max(axis.outer) and reach < 0:
            ends[-1] = sum(axis.good) / 2  # an inner end may not leave on the other side
    low, high = min(ends), max(ends)
    if axis.whole:
        low, high = round(low), max(round(high), round(low) + 1)
    return Range(axis.name, low, high, axis.log, axis.whole, mirrored=axis.mirrored)


def draw_configs(rng: np.random.Generator, ranges: Sequence[Range], arms: int) -> list[Config]:
    """Up to `arms` different configurations, random or on a grid of few values a range."""
    grid = rng.random() < 0.2
    seen: dict[tuple[Any, ...], Config] = {}
    for _ in range(20 * arms):
        parts = rng.random(len(ranges))
        if grid:
            parts = (np.floor(parts * 4) + 0.001) / 3.001
        config = {one.name: one.at(float(p)) for one, p in zip(ranges, parts, strict=True)}
        seen.setdefault(tuple(config.values()), config)
        if len(seen) == arms:
            break
    return list(seen.values())


def draw_names(rng: np.random.Generator, axes: Sequence[Axis]) -> dict[str, str]:
    """The name that a table writes for each hyper-parameter, by its own: half keep their own."""
    return {
        axis.name: axis.name if rng.random() < 0.5 else str(rng.choice(axis.also))
        for axis in axes
        if axis.also
    }


def renamed(configs: Sequence[Config], names: Mapping[str, str]) -> list[Config]:
    """Configurations under the names that a table writes."""
    return [{names.get(name, name): value for name, value in c.items()} for c in configs]
