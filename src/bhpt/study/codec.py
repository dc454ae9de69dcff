"""Events as JSON text and back. No pickle: what is read can only be one of our values.

JSON has no NaN, so floats that are not finite are written as text. Every event is written with
the version of its form; an unknown event or field means that a newer version wrote it.
"""

import json
import math
import types
import zlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bhpt.domain import Misuse
from bhpt.study.events import Event

VERSION = 1
"""Of the form of events. Raise it when a field changes its meaning."""

_TYPES: dict[str, type] = {kind.__name__: kind for kind in get_args(Event)}


class NewerVersion(Misuse):
    """A study was written by a newer version of bhpt than this one."""


def encode_event(event: Event) -> str:
    """One line of JSON."""
    body = {"v": VERSION, "type": type(event).__name__, **_encode(event)}
    return json.dumps(body, separators=(",", ":"), allow_nan=False)


def decode_event(text: str) -> Event:
    """The event of a line.

    Raises:
        NewerVersion: If a newer version of bhpt wrote it.
        Misuse: If it is not an event.
    """
    try:
        body = json.loads(text)
        version, name = body.pop("v"), body.pop("type")
        if type(version) is not int or not isinstance(name, str):
            raise TypeError("a version is a number, a type a name")
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise Misuse(f"the study is damaged: {text!r:.60} is not an event") from None
    if version > VERSION or name not in _TYPES:
        raise NewerVersion(
            f"the study holds {name!r:.40} events of version {version}, which this version of bhpt "
            "does not know: use a newer bhpt"
        )
    try:
        event: Event = _decoder(_TYPES[name])(body)
    except (KeyError, TypeError, ValueError) as error:
        said = " ".join(str(error).split())
        raise Misuse(f"the study is damaged: a {name} event cannot be read ({said})") from None
    return event


def to_plain(value: Any) -> Any:  # noqa: ANN401  # any of the values that events are made of
    """A value as what JSON can hold."""
    return _encode(value)


def from_plain(kind: Any, plain: Any) -> Any:  # noqa: ANN401  # a type, or what typing makes of it
    """A value of this type from what `to_plain` made of one.

    Raises:
        KeyError: A part of it is missing.
        TypeError: It is something else.
        ValueError: Likewise.
    """
    return _decoder(kind)(plain)


def compressed(plain: Any) -> bytes:  # noqa: ANN401  # what JSON can hold
    """What JSON can hold as compressed bytes."""
    text = json.dumps(plain, separators=(",", ":"), allow_nan=False)
    return zlib.compress(text.encode(), _LEVEL)


def decompressed(data: bytes) -> Any:  # noqa: ANN401  # what JSON can hold
    """What `compressed` made bytes of.

    Raises:
        ValueError: The bytes are something else.
    """
    try:
        return json.loads(zlib.decompress(data))
    except zlib.error as error:
        raise ValueError(str(error)) from error


_LEVEL = 1  # of compression: higher ones take several times as long
_AS_IT_IS = frozenset({int, str, bool, type(None)})


def _encode(value: Any) -> Any:  # noqa: ANN401  # any of the values that events are made of
    kind: Any = type(value)
    if kind in _AS_IT_IS:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, tuple | list):
        return [_encode(part) for part in value]
    if isinstance(value, dict):
        return {name: _encode(part) for name, part in value.items()}
    if is_dataclass(value):
        return {name: _encode(getattr(value, name)) for name in _names(kind)}
    return _encode_number(value)


def _encode_number(value: object) -> int | float | str:
    """A number of another library, such as numpy's.

    Raises:
        Misuse: It is none.
    """
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        plain = float(value)
        return plain if math.isfinite(plain) else str(plain)
    raise Misuse(f"{value!r:.60} cannot be stored: a log holds texts and numbers")


@cache
def _names(kind: type) -> tuple[str, ...]:
    """The fields of a dataclass; cached, since reading a log needs them for every event."""
    return tuple(part.name for part in fields(kind))


@cache
def _decoder(kind: Any) -> Callable[[Any], Any]:  # noqa: ANN401  # a type, or what typing makes of it
    """What turns JSON back into a value of this type."""
    if is_dataclass(kind):
        return _dataclass_decoder(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        inner = _decoder(next(part for part in parts if part is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        inner = _decoder(parts[0])
        wanted = parts[0]
        return lambda value: tuple(
            [part if type(part) is wanted else inner(part) for part in value]
        )
    if origin is dict and parts[1] is float:
        return lambda value: {name: _float(part) for name, part in _dictionary(value).items()}
    if origin is dict:
        return _dictionary
    if origin is Literal:
        return lambda value: value
    return _plain_decoder(kind)


def _float(value: Any) -> float:  # noqa: ANN401  # a number, or a text such as "nan"
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{value!r:.40} is too large a number") from None


def _dictionary(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"expected a dictionary, found {value!r:.40}")
    return value


def _dataclass_decoder(kind: Any) -> Callable[[Any], Any]:  # noqa: ANN401  # a dataclass
    """Reads a dictionary of fields; a value that has its field's type already is taken as it is."""
    hints = get_type_hints(kind)
    parts = [(name, hints[name], _decoder(hints[name])) for name in _names(kind)]

    def decode(body: dict[str, Any]) -> Any:  # noqa: ANN401  # of that kind
        for name, wanted, decoder in parts:
            if name in body and type(body[name]) is not wanted:
                body[name] = decoder(body[name])
        return kind(**body)

    return decode


def _plain_decoder(kind: type) -> Callable[[Any], Any]:
    def plain(value: Any) -> Any:  # noqa: ANN401  # checked here
        if kind is float and isinstance(value, int | float | str) and not isinstance(value, bool):
            return _float(value)
        if type(value) is not kind:
            raise TypeError(f"expected {kind.__name__}, found {value!r:.40}")
        return value

    return plain
