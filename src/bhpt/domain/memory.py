"""What is prepared once a study and used at every decision, held by whoever makes the views.

A predictor or a policy is a pure function of a view. Some of what it computes is the same at
every decision of a study (distances between configurations, a fitted model), so it is kept in the
`Memory` that comes with the view. Every entry is kept beside the inputs that it was computed from
and is used only for the same inputs: a fresh memory, or that of another study, costs time and
changes nothing.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T")

_SMALL = 8192  # bytes of an array that is compared as such


@dataclass(frozen=True)
class Slot(Generic[T]):
    """A place in a memory for one value of type T.

    Attributes:
        name: What is kept there.
        owner: Whose it is, by value: two predictors with the same parameters share their slots.
        room: How many values are kept, those used last: two networks that look at different arms
            of one study do not make each other forget theirs.
        whole: Whether it is about the whole study, whichever arms are looked at or may start: then
            a memory within another one has it from there.
    """

    name: str
    owner: Hashable = None
    room: int = 1
    whole: bool = False
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Work out the hash once: slots are looked up at every decision."""
        known = hash((self.name, self.owner, self.room, self.whole))
        object.__setattr__(self, "_hash", known)

    def __hash__(self) -> int:
        """By value."""
        return self._hash


class Memory:
    """The last values of each slot, each with the inputs that it follows from.

    Args:
        study: The memory of the whole study, if this one is for a part of its arms.
    """

    def __init__(self, study: "Memory | None" = None) -> None:
        self._study = study
        self._kept: dict[Slot[Any], list[tuple[tuple[object, ...], Any]]] = {}

    def within(self, name: str) -> "Memory":
        """A memory within this one, the same for a name.

        It is for views that show the study otherwise, such as with some arms alone: what is
        prepared for the study as it is is not lost to what is prepared for these.
        """
        slot: Slot[Memory] = Slot(f"memory of {name}")
        return self.recall(slot, (), lambda: Memory(self))

    def recall(self, slot: Slot[T], inputs: tuple[object, ...], make: Callable[[], T]) -> T:
        """A value in a slot if it was made from the same inputs, else a new one that is kept.

        Args:
            slot: Where it is kept.
            inputs: Everything that the value depends on. Arrays are compared by their numbers,
                unless they are the same object or views of the same memory: arrays of a view
                never change.
            make: Makes the value.
        """
        if slot.whole and self._study is not None:
            return self._study.recall(slot, inputs, make)
        kept = self._kept.setdefault(slot, [])
        for at, (made_from, value) in enumerate(kept):
            if all_same(made_from, inputs):
                if at:
                    kept.insert(0, kept.pop(at))
                found: T = value
                return found
        made = make()
        kept.insert(0, (inputs, made))
        del kept[slot.room :]
        return made


def all_same(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    """Whether two lists of inputs are the same, arrays by their numbers."""
    return len(left) == len(right) and all(map(_same, left, right))


def _same(left: object, right: object) -> bool:
    if left is right:
        return True
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        if left.dtype != right.dtype or left.shape != right.shape:
            return False
        if left.nbytes <= _SMALL:  # the same bytes are the same numbers; NumPy takes longer to ask
            return left.tobytes() == right.tobytes()
        if _share_memory(left, right):
            return True
        return bool(np.array_equal(left, right, equal_nan=left.dtype.kind == "f"))
    return type(left) is type(right) and bool(left == right)


def _share_memory(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays of one shape are the same numbers in memory.

    The rows of a list that grows are such arrays, new ones for every list: comparing all their
    numbers would cost as much as there are arms.
    """
    mine, other = left.__array_interface__["data"], right.__array_interface__["data"]
    return bool(mine[0] == other[0] and left.strides == right.strides)
