"""Encode a list of configurations without declared ranges.

The scale of a number is inferred from its values (`ranges.range_of_numbers`): a learning rate that
spans decades is compared by its logarithm, a momentum close to one by the logarithm of its distance
from one.

Notation:
    K  configurations, D  columns.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np

from bhpt.domain import FloatArray, Misuse
from bhpt.spaces.columns import NEUTRAL, indicator, join, min_max, one_hot, scatter
from bhpt.spaces.ranges import is_number, range_of_numbers

_NAMES = 64  # above this many values, all distinct, a text identifies its arm: no categories
_CATEGORIES = 1024  # more columns than this for one hyper-parameter would not fit in memory


def encode_configs(configs: Sequence[Mapping[str, object]]) -> FloatArray:
    """Encode configurations to numbers in [0, 1], with scales inferred from their values.

    Numbers take one column on their scale; everything else is one-hot over its sorted distinct
    values. A key that some configurations lack is conditional:
    its column is neutral there, and a further column marks where it is present. Constants take no
    column, nor does a text that differs in each of very many configurations, as names do: all
    pairs would be equally far apart.

    Args:
        configs: K dictionaries.

    Returns:
        Finite numbers in [0, 1], [K, D], with D at least 1.

    Raises:
        Misuse: If there are no configurations or a value cannot be encoded.
    """
    if not configs:
        raise Misuse("no configurations: give at least one dictionary of hyper-parameters")
    for number, config in enumerate(configs):
        if not isinstance(config, Mapping):
            raise Misuse(f"configuration {number} is not a dictionary of hyper-parameters")
    names = sorted({str(name) for config in configs for name in config})
    columns: list[FloatArray] = []
    patterns: set[bytes] = set()
    for name in names:
        active = np.array([name in config for config in configs])
        values = [config[name] for config in configs if name in config]
        block, fill = _encode_values(name, values)
        columns.append(scatter(block, active, fill))
        if not active.all() and active.tobytes() not in patterns:
            patterns.add(active.tobytes())
            columns.append(indicator(active))
    return join(columns, len(configs))


def _encode_values(name: str, values: Sequence[object]) -> tuple[FloatArray, float]:
    """Columns of one hyper-parameter where it is present, and the fill value elsewhere."""
    if all(is_number(value) for value in values):
        numbers = np.array([float(value) for value in values])  # type: ignore[arg-type]
        if not np.isfinite(numbers).all():
            raise Misuse(f"hyper-parameter {name!r} has a value that is not finite")
        return min_max(range_of_numbers(numbers).straight(numbers)), NEUTRAL
    return _encode_categories(name, values), 0.0


def _encode_categories(name: str, values: Sequence[object]) -> FloatArray:
    """One-hot over the sorted distinct values, [K, C]."""
    words = [_word(name, value) for value in values]
    distinct = sorted(set(words))
    if len(distinct) == 1 or len(distinct) == len(words) > _NAMES:
        return np.zeros((len(words), 0))
    if len(distinct) > _CATEGORIES:
        raise Misuse(
            f"hyper-parameter {name!r} has {len(distinct)} distinct values that are not numbers; "
            f"at most {_CATEGORIES} can be encoded"
        )
    rank = {word: place for place, word in enumerate(distinct)}
    return one_hot([rank[word] for word in words], len(distinct))


def _word(name: str, value: object) -> str:
    """A value as canonical text, by which 1 and "1" differ and values are sorted."""
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        return json.dumps(plain, sort_keys=True)
    except (TypeError, ValueError):
        raise Misuse(
            f"hyper-parameter {name!r} has a value of type {type(value).__name__}; "
            "use numbers, text, true/false, None, or lists of them"
        ) from None
