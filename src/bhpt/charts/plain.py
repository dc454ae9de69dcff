"""Frozen values as JSON-ready ones."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_DIGITS = 6  # significant digits of a float: more than any screen shows


def plain(value: Any) -> Any:  # noqa: ANN401  # any value of a chart
    """A value of a chart as dictionaries, lists, text and finite numbers.

    A number that is not finite becomes None, and floats keep six significant digits: a large study
    is sent in half the bytes.
    """
    if isinstance(value, np.ndarray):
        return _numbers(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: plain(getattr(value, field.name)) for field in fields}
    return value


def _numbers(array: np.ndarray) -> list[Any]:
    """An array as nested lists."""
    if array.dtype.kind != "f":
        made: list[Any] = array.tolist()
        return made
    if array.ndim > 1:
        return [_numbers(row) for row in array]
    finite = np.isfinite(array)
    texts = [float(f"{number:.{_DIGITS}g}") for number in array[finite].tolist()]
    if finite.all():
        return texts
    found: list[Any] = [None] * len(array)
    for place, number in zip(np.flatnonzero(finite).tolist(), texts, strict=True):
        found[place] = number
    return found
