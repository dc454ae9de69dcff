"""What each hyper-parameter of a configuration says, as numbers: one token a hyper-parameter.

A token holds the value beside the study's own range and on absolute scales, the distance from the
default that the library documents, and the name as a bag of hashed letters. Nothing is looked up in
a list of names, so an unknown name is a token like any other, close to those that are
spelled alike.

Notation:
    K  configurations, N  hyper-parameters, F  numbers of a token.
"""

import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from bhpt.domain import FloatArray
from bhpt.spaces.documented import Documented, documented
from bhpt.spaces.ranges import NumberRange, Range, is_number
from bhpt.spaces.spelling import spelled

NAME_HASH = 48  # numbers that a name is hashed to
WORD_HASH = 8  # numbers that a word as a value is hashed to
VALUE_COLUMNS = (
    "present",  # 0 where the configuration lacks the hyper-parameter: all else is 0, too
    "number",
    "whole",
    "truth_value",
    "log_scale",
    "within_unit",  # the range lies in [0, 1]
    "from_middle",  # of the study's range, -1/2 .. 1/2
    "from_middle_squared",
    "magnitude",  # log10 of the absolute value, thirds
    "value",  # within -1 .. 1
    "below_one",  # log10 of the distance from one, thirds
    "decades",  # that the range spans, fifths
    "range_magnitude",  # log10 of the middle of the range, thirds
    "has_default",
    "from_default",  # in units of the range
    "from_default_squared",
    "log_choices",
)
"""What a token says of a value, before the hashes of words and names."""
TOKEN_NAMES = (
    *VALUE_COLUMNS,
    *(f"word_{at}" for at in range(WORD_HASH)),
    *(f"name_{at}" for at in range(NAME_HASH)),
)
"""What the numbers of a token are."""
COLUMNS = len(TOKEN_NAMES)
"""F."""
_AT = {name: at for at, name in enumerate(VALUE_COLUMNS)}
_FAR = 1.5  # beyond this many ranges, a default is as far as it gets


def column(name: str) -> int:
    """Where something that a token says is."""
    return _AT[name]


def encode_tokens(
    configs: Sequence[Mapping[str, object]], ranges: Mapping[str, Range]
) -> FloatArray:
    """One token for each hyper-parameter of each configuration, [K, N, F].

    Args:
        configs: K dictionaries.
        ranges: The range of each of the N hyper-parameters of the study. A row depends on its own
            configuration and on these alone.
    """
    found = np.zeros((len(configs), len(ranges), COLUMNS))
    defaults = documented(tuple(ranges))
    for at, (name, span) in enumerate(ranges.items()):
        rows = np.array([k for k, config in enumerate(configs) if name in config], np.int64)
        if len(rows):
            values = [configs[k][name] for k in rows]
            found[rows, at] = _tokens(name, values, span, defaults.get(name))
    return found


def _tokens(name: str, values: list[object], span: Range, default: Documented | None) -> FloatArray:
    made = np.zeros((len(values), COLUMNS))
    made[:, _AT["present"]] = 1.0
    made[:, COLUMNS - NAME_HASH :] = hashed_name(name)
    if isinstance(span, NumberRange):
        numbers = np.array([float(v) if is_number(v) else np.nan for v in values])  # type: ignore[arg-type]
        numbers = np.where(np.isfinite(numbers), numbers, span.low)
        for key, column_of in _number(numbers, span, default).items():
            made[:, _AT[key]] = column_of
    else:
        made[:, _AT["log_choices"]] = np.log2(max(span.count, 1)) / 3.0
        made[:, _AT["truth_value"]] = [isinstance(v, bool | np.bool_) for v in values]
        made[:, len(VALUE_COLUMNS) : len(VALUE_COLUMNS) + WORD_HASH] = [
            _hashed(spelled(str(value)), WORD_HASH) for value in values
        ]
        if default is not None and default.word:
            other = np.array([spelled(str(value)) != default.word for value in values], float)
            made[:, _AT["has_default"]] = 1.0
            made[:, _AT["from_default"]] = 0.5 * other
            made[:, _AT["from_default_squared"]] = 0.25 * other
    return made


def _number(
    values: FloatArray, span: NumberRange, default: Documented | None
) -> dict[str, FloatArray | float]:
    middle = np.clip(span.position(values), 0.0, 1.0) - 0.5
    low, high = _magnitude(np.array([span.low, span.high]))
    found: dict[str, FloatArray | float] = {
        "number": 1.0,
        "whole": float(span.whole),
        "log_scale": float(span.scale != "linear"),
        "within_unit": float(span.low >= 0.0 and span.high <= 1.0),
        "from_middle": middle,
        "from_middle_squared": 4.0 * middle**2,
        "magnitude": _magnitude(values),
        "value": np.clip(values, -1.0, 1.0),
        "below_one": np.log10(np.clip(1.0 - values, 1e-5, 1.0)) / 3.0,
        "decades": np.clip(3.0 * (high - low) / 5.0, 0.0, 2.0),
        "range_magnitude": 0.5 * (low + high),
    }
    if default is not None and len(default.numbers):
        at = np.clip(span.position(default.numbers), 0.5 - _FAR, 0.5 + _FAR)
        apart = middle[:, None] + 0.5 - at[None, :]
        found["has_default"] = 1.0
        # sums rather than products of matrices: a row must not depend on how many there are
        found["from_default"] = (apart * default.weights).sum(axis=1)
        found["from_default_squared"] = (apart**2 * default.weights).sum(axis=1)
    return found


def _magnitude(values: FloatArray) -> FloatArray:
    return np.asarray(np.log10(np.clip(np.abs(values), 1e-9, 1e9)) / 3.0)


@lru_cache(maxsize=4096)
def hashed_name(name: str) -> FloatArray:
    """A name as a bag of its words and of their letters in threes, hashed, length 1, [H]."""
    return _hashed(spelled(name), NAME_HASH)


def _hashed(text: str, size: int) -> FloatArray:
    """Words count twice; every part adds 1 or -1 at a place that its hash decides."""
    found = np.zeros(size)
    for word in text.split("_"):
        padded = f"<{word}>"
        parts = [(word, 2.0), *((padded[i : i + 3], 1.0) for i in range(len(padded) - 2))]
        for part, weight in parts:
            code = zlib.crc32(part.encode())
            found[code % size] += weight if code & (1 << 20) else -weight
    length = float(np.sqrt((found**2).sum()))
    return found / length if length > 0 else found
