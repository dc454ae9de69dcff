"""A declared space as it is stored: its ranges and encoding, read from the text.

The text has ConfigSpace's form. ConfigSpace takes half a second to import, and whoever looks at a
study needs little of it: numbers with even ranges, categories, ranks and constants are read here.

Notation:
    K  configurations, D  columns.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bhpt.domain import FloatArray, Misuse
from bhpt.spaces.columns import NEUTRAL, indicator, join, one_hot, scatter
from bhpt.spaces.ranges import Choices, NumberRange, Range, RangeScale, infer_range, is_number

Described = Mapping[str, Any]
"""One hyper-parameter in ConfigSpace's JSON form."""

Unusual = Callable[[str, Any], FloatArray]
"""Encodes values of a number with an uneven distribution, by its name, to [0, 1]."""

_FORMAT = 0.4  # of the text, that is read here
_EVEN = ("uniform_float", "uniform_int")
_LISTED = ("categorical", "ordinal", "constant")
_NUMBERS = (*_EVEN, "normal_float", "normal_int", "beta_float", "beta_int")
_WITH_SCALE = (*_EVEN, "normal_float", "normal_int")  # may be declared logarithmic


@dataclass(frozen=True, eq=False)
class StoredSpace:
    """A declared space, read without ConfigSpace.

    Attributes:
        text: ConfigSpace's JSON form.
    """

    text: str

    @cached_property
    def _described(self) -> Mapping[str, Any]:
        described: Mapping[str, Any] = json.loads(self.text)
        return described

    @property
    def known(self) -> bool:
        """Whether the text has a form that is read here."""
        kinds = {one["type"] for one in self._parameters}
        same = self._described.get("format_version") == _FORMAT
        return same and kinds <= {*_NUMBERS, *_LISTED}

    @property
    def even(self) -> bool:
        """Whether its encoding is known here, too: no number has an uneven distribution."""
        return self.known and all(one["type"] in (*_EVEN, *_LISTED) for one in self._parameters)

    @property
    def _parameters(self) -> Sequence[Described]:
        parameters: Sequence[Described] = self._described["hyperparameters"]
        return parameters

    @cached_property
    def ranges(self) -> dict[str, Range]:
        """The declared range of each hyper-parameter, in the space's order."""
        return {one["name"]: _range(one) for one in self._parameters}

    @cached_property
    def conditions(self) -> dict[str, str]:
        """The condition of each conditional hyper-parameter, without the parameter's name."""
        by_name: dict[str, list[str]] = {}
        for condition in self._described["conditions"]:
            text = json.dumps(_without_child(condition), sort_keys=True)
            by_name.setdefault(condition["child"], []).append(text)
        return {name: " ".join(sorted(texts)) for name, texts in by_name.items()}

    def encode(
        self, configs: Sequence[Mapping[str, object]], unusual: Unusual | None = None
    ) -> FloatArray:
        """Encode configurations to numbers in [0, 1], whatever other configurations there are.

        Numbers and ranks take one column on their declared scale, categories are one-hot,
        constants take none. A conditional hyper-parameter has a neutral value where it is
        inactive; each condition has a further column that marks where it holds.

        Args:
            configs: K configurations.
            unusual: Encodes numbers with an uneven distribution; not needed where all are `even`.

        Returns:
            Finite numbers, [K, D], with D at least 1.
        """
        columns: list[FloatArray] = []
        marked: set[str] = set()
        for one in self._parameters:
            name = one["name"]
            active = np.array([name in config for config in configs], bool)
            values = [config[name] for config in configs if name in config]
            block, fill = _encode(one, values, unusual)
            columns.append(scatter(block, active, fill))
            condition = self.conditions.get(name)
            if condition is not None and condition not in marked:
                marked.add(condition)
                columns.append(indicator(active))
        return join(columns, len(configs))


def _encode(one: Described, values: list[Any], unusual: Unusual | None) -> tuple[FloatArray, float]:
    """Columns of one hyper-parameter where it is active, and the fill value elsewhere."""
    if one["type"] in _LISTED:
        return _encode_listed(one, values)
    if not values:
        return np.zeros((0, 1)), NEUTRAL
    if one["type"] in _EVEN:
        vector = _part_of_range(one, np.asarray(values))
    elif unusual is None:
        raise Misuse(f"hyper-parameter {one['name']!r} has an uneven distribution")
    else:
        vector = unusual(one["name"], np.asarray(values))
    return np.clip(vector, 0.0, 1.0)[:, None], NEUTRAL


def _encode_listed(one: Described, values: list[Any]) -> tuple[FloatArray, float]:
    """The same of categories, ranks and constants."""
    choices = _choices(one)
    if len(choices) == 1:
        return np.zeros((len(values), 0)), 0.0
    places = _places(one["name"], values, choices)
    if one["type"] == "categorical":
        return one_hot(places, len(choices)), 0.0
    return np.array(places)[:, None] / (len(choices) - 1), NEUTRAL


def _part_of_range(one: Described, values: Any) -> FloatArray:  # noqa: ANN401  # numbers of any type
    """Which part of an even range lies below each value, as ConfigSpace has it, [any]."""
    low, high = np.float64(one["lower"]), np.float64(one["upper"])
    if one["log"]:
        values, low, high = np.log(values), np.log(low), np.log(high)
    part: FloatArray = np.asarray((values - low) / (high - low), float)
    return part


def _range(one: Described) -> Range:
    """The range of one hyper-parameter; ranked numbers count as numbers."""
    if one["type"] in _LISTED:
        choices = _choices(one)
        ranked = one["type"] == "ordinal" and all(is_number(value) for value in choices)
        return infer_range(choices) if ranked else Choices(tuple(choices))
    log = one["type"] in _WITH_SCALE and one["log"]
    scale: RangeScale = "log" if log else "linear"
    whole = one["type"].endswith("_int")
    return NumberRange(float(one["lower"]), float(one["upper"]), scale, whole)


def _choices(one: Described) -> list[Any]:
    """The values that a category, a rank or a constant may have."""
    if one["type"] == "constant":
        return [one["value"]]
    return list(one["choices"] if one["type"] == "categorical" else one["sequence"])


def _without_child(condition: Any) -> Any:  # noqa: ANN401  # any JSON value
    """A condition in JSON form without the hyper-parameter that depends on it."""
    if isinstance(condition, dict):
        return {key: _without_child(value) for key, value in condition.items() if key != "child"}
    if isinstance(condition, list):
        return [_without_child(part) for part in condition]
    return condition


def _places(name: str, values: list[Any], choices: list[Any]) -> list[int]:
    """Index of each value among the choices.

    Raises:
        Misuse: If a value is not one of them.
    """
    place = {json.dumps(choice): number for number, choice in enumerate(choices)}
    try:
        return [place[json.dumps(_plain(value))] for value in values]
    except KeyError as missing:
        raise Misuse(f"hyper-parameter {name!r} has no choice {missing.args[0]}") from None


def _plain(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
