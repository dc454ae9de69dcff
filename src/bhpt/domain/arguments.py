"""What people pass from Python, refused in one line where it is of the wrong type."""

import math
import operator
from collections.abc import Iterable
from numbers import Real
from typing import SupportsIndex

from bhpt.domain.errors import Misuse


def whole_number(name: str, value: object) -> int:
    """The value as a plain whole number, also one of numpy's.

    Raises:
        Misuse: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise Misuse(f"{name} is a whole number, not {value!r:.40}")
    try:
        return operator.index(value)
    except TypeError:  # an array of several numbers has an index, too
        raise Misuse(f"{name} is a whole number, not {value!r:.40}") from None


def number(name: str, value: object) -> float:
    """The value as a plain number, also one of numpy's.

    Raises:
        Misuse: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise Misuse(f"{name} is a number, not {value!r:.40}")
    try:
        return float(value)
    except OverflowError:
        raise Misuse(f"{name} is a number below 1e308, not {value!r:.40}...") from None


def seconds_taken(value: object) -> float:
    """The value as a length of time that has passed.

    Raises:
        Misuse: It is none.
    """
    taken = number("seconds", value)
    if not 0 <= taken < math.inf:
        raise Misuse(f"seconds is how long the unit took, 0 or more, not {taken}")
    return taken


def refuse_other_than(name: str, value: object, kind: type, example: str) -> None:
    """Refuse a value that is not of a kind.

    Raises:
        Misuse: It is something else.
    """
    if not isinstance(value, kind):
        raise Misuse(f"{name} is something like {example}, not {value!r:.60}")


def refuse_uncallable(name: str, value: object, example: str) -> None:
    """Refuse a callback that cannot be called.

    Raises:
        Misuse: It cannot.
    """
    if not callable(value):
        raise Misuse(f"{name} is a function, such as {example}, not {value!r:.60}")


def refuse_one_text(name: str, values: Iterable[object], example: str) -> None:
    """Refuse a text in place of a list of texts, whose letters would be taken one by one.

    Raises:
        Misuse: It is a text, or cannot be gone through.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise Misuse(f"{name} is a list, such as {example}, not {values!r:.60}")
