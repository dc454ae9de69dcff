"""What people pass from Python, refused in one line where it is of the wrong type."""

import operator
from collections.abc import Iterable
from numbers import Real

from bhpt.domain.errors import Misuse


def whole_number(name: str, value: object) -> int:
    """The value as a plain whole number, also one of numpy's.

    Raises:
        Misuse: It is none.
    """
    try:
        return operator.index(value)  # type: ignore[arg-type]  # what has no index is refused
    except TypeError:
        raise Misuse(f"{name} is a whole number, not {value!r:.40}") from None


def number(name: str, value: object) -> float:
    """The value as a plain number, also one of numpy's.

    Raises:
        Misuse: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise Misuse(f"{name} is a number, not {value!r:.40}")
    return float(value)


def refuse_one_text(name: str, values: Iterable[object], example: str) -> None:
    """Refuse a text in place of a list of texts, whose letters would be taken one by one.

    Raises:
        Misuse: It is a text, or cannot be gone through.
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise Misuse(f"{name} is a list, such as {example}, not {values!r:.60}")
