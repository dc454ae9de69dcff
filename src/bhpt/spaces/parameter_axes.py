"""Hyper-parameters as charts show them: positions on an axis and the values at positions.

The declared space is read from its JSON text: drawing a study does not need ConfigSpace.

Notation:
    V  configurations, D  hyper-parameters.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bhpt.domain import FloatArray
from bhpt.spaces.ranges import Choices, infer_range


@dataclass(frozen=True, slots=True)
class ParameterAxis:
    """A hyper-parameter.

    Attributes:
        name: Its name.
        choices: Its values, if it is a choice; empty for a number.
        low: The lower end of a number's range.
        high: The upper end.
        log: Whether the range is logarithmic.
        whole: Whether only whole numbers are allowed.
        declared: Whether the range was declared, or only seen in a list of configurations.
    """

    name: str
    choices: tuple[object, ...] = ()
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    whole: bool = False
    declared: bool = True

    def position(self, value: object) -> float:
        """Where a value lies between the ends of the range, or among the choices; NaN if nowhere.

        Returns:
            A number in [0, 1]: numbers on the declared scale, choices in equal steps.
        """
        if self.choices:
            words = [_word(choice) for choice in self.choices]
            word = _word(value)
            return words.index(word) / max(len(words) - 1, 1) if word in words else math.nan
        if isinstance(value, bool) or not isinstance(value, int | float):
            return math.nan
        low, high = self._scaled(self.low), self._scaled(self.high)
        return min(max((self._scaled(float(value)) - low) / (high - low or 1.0), 0.0), 1.0)

    def value_at(self, position: float) -> float:
        """The number at a position; below 0 and above 1 are outside of the range."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        scaled = low + position * (high - low)
        return math.exp(scaled) if self.log else scaled

    def _scaled(self, value: float) -> float:
        return math.log(max(value, 1e-300)) if self.log else value


def describe(
    space: str | None, configs: Sequence[Mapping[str, object]]
) -> tuple[ParameterAxis, ...]:
    """The hyper-parameters of a study, without those that never change.

    Args:
        space: The declared space's text; None if configurations were listed.
        configs: The configurations.
    """
    if space is None:
        names = dict.fromkeys(name for config in configs for name in config)
        found = (_seen(name, [one[name] for one in configs if name in one]) for name in names)
    else:
        found = (_declared(one) for one in json.loads(space)["hyperparameters"])
    return tuple(one for one in found if one is not None)


def positions(
    described: Sequence[ParameterAxis], configs: Sequence[Mapping[str, object]]
) -> FloatArray:
    """Where each configuration lies on each hyper-parameter, NaN where it has none, [D, V]."""
    rows = [
        [one.position(config[one.name]) if one.name in config else math.nan for config in configs]
        for one in described
    ]
    return np.array(rows, float).reshape(len(described), len(configs))


def _declared(parameter: Mapping[str, Any]) -> ParameterAxis | None:
    """A hyper-parameter from ConfigSpace's JSON form; None if it is a constant."""
    name = str(parameter["name"])
    choices = parameter.get("choices", parameter.get("sequence"))
    if choices is not None:
        return ParameterAxis(name, tuple(choices)) if len(choices) > 1 else None
    low, high = parameter.get("lower"), parameter.get("upper")
    if low is None or high is None:
        return None
    return ParameterAxis(
        name,
        low=float(low),
        high=float(high),
        log=bool(parameter.get("log", False)),
        whole=str(parameter["type"]).endswith("int"),
    )


def _seen(name: str, values: Sequence[object]) -> ParameterAxis | None:
    """A hyper-parameter from the values that were listed; None if there is only one."""
    words = {_word(value): value for value in values}
    if len(words) < 2:
        return None
    span = infer_range(values)
    if isinstance(span, Choices):
        return ParameterAxis(name, tuple(words[word] for word in sorted(words)), declared=False)
    log = span.scale == "log"
    return ParameterAxis(name, (), span.low, span.high, log, span.whole, declared=False)


def _word(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)
