"""Search spaces in short form, as dictionaries written by hand.

    {"lr": (1e-4, 1e-1, "log"),              # a range on a logarithmic scale
     "units": (16, 512),                     # whole numbers, because both ends are
     "dropout": {"min": 0.0, "max": 0.5},    # a range again, with "log": true or "type": "int"
     "act": ["relu", "tanh"],                # choices without an order
     "depth": {"ordered": [2, 4, 8]},        # choices with one
     "width": {"min": 64, "max": 256, "step": 64},               # a range in steps
     "momentum": {"min": 0.5, "max": 0.99, "when": {"act": "relu"}},  # only where act is relu
     "data": "digits"}                       # a constant

Tuples, lists and constants mean what they mean to ConfigSpace; the dictionaries are for JSON and
YAML files, which have no tuples.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import ConfigSpace
import numpy as np
from ConfigSpace.hyperparameters import Hyperparameter

from bhpt.domain import Misuse
from bhpt.spaces.configs import plain_config

_LOWER = ("min", "low", "lower")
_UPPER = ("max", "high", "upper")
_CHOICES = ("choices", "values", "categories")
_ROUNDING = 1e-9  # of a range divided by its step
_MOST_STEPS = 10_000
_LARGEST = 1 << 62  # numpy's whole numbers end a little above
_TYPES = {"int": True, "integer": True, "float": False}


def from_short_form(ranges: Mapping[str, object]) -> ConfigSpace.ConfigurationSpace:
    """Build a space from a dictionary of ranges.

    Raises:
        Misuse: For an empty or reversed range, an unknown type, or a value of no known form.
    """
    if not ranges:
        raise Misuse("the search space is empty: name at least one hyper-parameter")
    for name in ranges:
        if not isinstance(name, str) or not name:
            raise Misuse(f"hyper-parameter name {name!r} is not a text")
    space = ConfigSpace.ConfigurationSpace()
    try:
        parameters = {name: _parameter(name, _plain(value)) for name, value in ranges.items()}
        space.add(*parameters.values())
        space.add(*_conditions(ranges, parameters))
    except Misuse:
        raise
    except (ValueError, TypeError) as error:
        raise Misuse(f"the search space is not valid: {first_line(error)}") from None
    return space


def refuse_pairs(ranges: Mapping[str, object]) -> None:
    """Refuse a list in a file that may mean a range as well as choices.

    That is one of two numbers, also with a word behind them that is not "log".
    """
    for name, value in ranges.items():
        if not isinstance(value, list) or not all(map(_is_number, value[:2])):
            continue
        if len(value) == 3 and isinstance(value[2], str) and value[2] != "log":
            raise Misuse(
                f'hyper-parameter {name!r}: {value} is no range, which ends in "log"; '
                f'for choices write {{"choices": {json.dumps(value)}}}'
            )
        if len(value) == 2:
            raise Misuse(
                f"hyper-parameter {name!r}: {value} may be a range or two choices; write "
                f'{{"min": {value[0]}, "max": {value[1]}}} or {{"choices": {value}}}'
            )


def first_line(error: Exception) -> str:
    """The first line of another library's message."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _plain(value: object) -> object:
    """The same without numpy's types; an array becomes a list of choices."""
    if isinstance(value, np.generic | np.ndarray):
        plain: object = value.tolist()
        return plain
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, Mapping):
        return {word: _plain(one) for word, one in value.items()}
    return value


def _parameter(name: str, value: object) -> Hyperparameter[Any, Any]:
    """One hyper-parameter from any of its short forms."""
    if isinstance(value, Hyperparameter):
        return value
    if isinstance(value, tuple) or (isinstance(value, list) and value[-1:] == ["log"]):
        return _from_bounds(name, value)
    if isinstance(value, list):
        return _choice(name, value)
    if isinstance(value, Mapping):
        return _from_words(name, value)
    return _constant(name, value)


def _from_bounds(name: str, value: Sequence[Any]) -> Hyperparameter[Any, Any]:
    """(lower, upper) or (lower, upper, "log")."""
    log = len(value) == 3 and value[2] == "log"
    if not log and len(value) != 2:
        raise Misuse(
            f'hyper-parameter {name!r}: a range is (lower, upper) or (lower, upper, "log"), '
            f"not {value!r:.60}"
        )
    return _range(name, value[0], value[1], log=log, whole=None)


def _from_words(name: str, words: Mapping[str, Any]) -> Hyperparameter[Any, Any]:
    """{"min": …, "max": …} and the other dictionaries."""
    known = {*_LOWER, *_UPPER, *_CHOICES, "log", "type", "ordered", "value", "step", "when"}
    strange = sorted(str(word) for word in set(words) - known)
    if strange:
        raise Misuse(
            f"hyper-parameter {name!r}: unknown word {strange[0]!r}; "
            "use min, max, step, log, type, choices, ordered, value or when"
        )
    if "step" in words:
        return _stepped(name, words)
    if any(word in words for word in (*_LOWER, *_UPPER)):
        return _range(
            name,
            _only(name, words, _LOWER),
            _only(name, words, _UPPER),
            log=_flag(name, words.get("log", False)),
            whole=_whole(name, words.get("type")),
        )
    if any(word in words for word in _CHOICES):
        return _choice(name, _only(name, words, _CHOICES))
    if "ordered" in words:
        return ConfigSpace.OrdinalHyperparameter(name, _listed(name, words["ordered"]))
    if "value" in words:
        return _constant(name, words["value"])
    raise Misuse(f"hyper-parameter {name!r}: give min and max, choices, ordered or value")


def _stepped(name: str, words: Mapping[str, Any]) -> Hyperparameter[Any, Any]:
    """{"min": …, "max": …, "step": …}: the numbers min, min + step, … up to max, in order."""
    if words.get("log"):
        raise Misuse(f"hyper-parameter {name!r}: a log range has no step; leave one of them out")
    step = words["step"]
    if not _is_number(step) or not step > 0:
        raise Misuse(f"hyper-parameter {name!r}: step is a number above 0, not {step!r:.40}")
    lower, upper = _only(name, words, _LOWER), _only(name, words, _UPPER)
    lower, upper = _checked_ends(name, lower, upper)
    count = math.floor((upper - lower) / step * (1 + _ROUNDING) + _ROUNDING) + 1
    if count > _MOST_STEPS:
        raise Misuse(f"hyper-parameter {name!r}: {count} steps are too many; use a range")
    whole = isinstance(lower, int) and isinstance(step, int)
    values = [
        lower + step * index if whole else _short(lower + step * index) for index in range(count)
    ]
    return ConfigSpace.OrdinalHyperparameter(name, values)


def _short(value: float) -> float:
    """A number without the noise of adding steps: 0.3 for 0.30000000000000004."""
    return float(f"{value:.12g}")


def _conditions(
    ranges: Mapping[str, object], parameters: Mapping[str, Hyperparameter[Any, Any]]
) -> list[Any]:
    """The condition of each hyper-parameter that has a `when`."""
    return [
        _condition(name, value["when"], parameters)
        for name, value in ranges.items()
        if isinstance(value, Mapping) and "when" in value
    ]


def _condition(name: str, when: object, parameters: Mapping[str, Hyperparameter[Any, Any]]) -> Any:  # noqa: ANN401  # any of ConfigSpace's conditions
    """{"optimizer": "sgd"}: a value or a list of them for each hyper-parameter, all at once."""
    if not isinstance(when, Mapping) or not when:
        raise Misuse(
            f'hyper-parameter {name!r}: when is a dictionary such as {{"optimizer": "sgd"}}'
        )
    parts = []
    for other, wanted in when.items():
        parent = parameters.get(other)
        if parent is None or other == name:
            raise Misuse(f"hyper-parameter {name!r}: when names {other!r:.40}, which is not there")
        values = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
        strange = [value for value in values if not parent.legal_value(value)]
        if strange or not values:
            raise Misuse(f"hyper-parameter {name!r}: {other!r} is never {wanted!r:.40}")
        parts.append(ConfigSpace.InCondition(parameters[name], parent, values))
    return parts[0] if len(parts) == 1 else ConfigSpace.AndConjunction(*parts)


def _only(name: str, words: Mapping[str, Any], spellings: Sequence[str]) -> object:
    """The value of the one key among `spellings` that is present."""
    found = [words[word] for word in spellings if word in words]
    if len(found) != 1:
        raise Misuse(f"hyper-parameter {name!r}: give {spellings[0]!r} exactly once")
    value: object = found[0]
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise Misuse(f"hyper-parameter {name!r}: log is true or false, not {value!r:.40}")
    return value


def _whole(name: str, kind: object) -> bool | None:
    """Whether `type` means whole numbers; None if it is missing and the bounds decide."""
    if kind is None:
        return None
    if not isinstance(kind, str) or kind not in _TYPES:
        raise Misuse(f"hyper-parameter {name!r}: unknown type {kind!r:.40}; use int or float")
    return _TYPES[kind]


def _range(
    name: str, lower: object, upper: object, *, log: bool, whole: bool | None
) -> Hyperparameter[Any, Any]:
    """A range of numbers."""
    lower, upper = _checked_ends(name, lower, upper)
    if log and lower <= 0:
        raise Misuse(f"hyper-parameter {name!r}: a log range must start above 0, not at {lower}")
    if whole is None:
        whole = isinstance(lower, int) and isinstance(upper, int)
    if not whole:
        return ConfigSpace.UniformFloatHyperparameter(name, float(lower), float(upper), log=log)
    if int(lower) != lower or int(upper) != upper:
        raise Misuse(f"hyper-parameter {name!r}: an int range needs whole ends")
    if max(abs(lower), abs(upper)) > _LARGEST:
        raise Misuse(
            f"hyper-parameter {name!r}: whole numbers end at {_LARGEST}; write floats, "
            f"such as {float(lower)} and {float(upper):g}"
        )
    return ConfigSpace.UniformIntegerHyperparameter(name, int(lower), int(upper), log=log)


def _checked_ends(name: str, lower: object, upper: object) -> tuple[int | float, int | float]:
    """The ends of a range, checked here because ConfigSpace does not say what is wrong."""
    if not (_is_number(lower) and _is_number(upper)):
        wrong = upper if _is_number(lower) else lower
        raise Misuse(
            f"hyper-parameter {name!r}: the ends of a range are numbers, not {wrong!r:.40}"
        )
    if not (math.isfinite(lower) and math.isfinite(upper)):
        raise Misuse(f"hyper-parameter {name!r}: the ends of a range must be finite")
    if lower >= upper:
        raise Misuse(
            f"hyper-parameter {name!r}: the range from {lower} to {upper} is empty or reversed"
        )
    return lower, upper


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _listed(name: str, values: object) -> list[Any]:
    """Choices as a list of plain values."""
    if not isinstance(values, list | tuple) or not values:
        raise Misuse(f"hyper-parameter {name!r}: give at least one choice, as a list")
    listed: list[Any] = plain_config({name: list(values)})[name]
    return listed


def _choice(name: str, values: object) -> Hyperparameter[Any, Any]:
    listed = _listed(name, values)
    if len(listed) == 1:
        return ConfigSpace.Constant(name, listed[0])
    return ConfigSpace.CategoricalHyperparameter(name, listed)


def _constant(name: str, value: object) -> Hyperparameter[Any, Any]:
    if not isinstance(value, str | int | float | bool | None):
        raise Misuse(
            f"hyper-parameter {name!r}: unknown type {type(value).__name__}; give a tuple "
            "(lower, upper), a list of choices, a dictionary with min and max, or a constant"
        )
    return ConfigSpace.Constant(name, plain_config({name: value})[name])
