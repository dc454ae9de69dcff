"""Sequences that only grow, as values: a longer one shares what the shorter ones hold.

`plus` returns a longer value and never changes a shorter one. The longest value writes behind
its own end, so adding costs O(added) amortised; adding to a value that has been added to before
copies it first, unless it is the same that is added.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import is_
from typing import Generic, TypeVar, overload

import numpy as np

from bhpt.domain.arrays import FloatArray

T = TypeVar("T")


class GrowingList(Sequence[T], Generic[T]):
    """A tuple to which items can be added without a copy.

    Args:
        items: What it begins with.
    """

    __slots__ = ("_items", "_length")

    def __init__(self, items: Sequence[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def plus(self, added: Sequence[T]) -> "GrowingList[T]":
        """A list with more items; adding the very items that were added before shares them."""
        made = GrowingList[T]()
        made._length = self._length + len(added)
        follows = self._items[self._length : made._length]
        if not follows:
            self._items.extend(added)
        if not follows or (len(follows) == len(added) and all(map(is_, follows, added))):
            made._items = self._items
        else:
            made._items = [*self, *added]
        return made

    def shares(self, other: "GrowingList[T]") -> bool:
        """Whether one of the two was made from the other without a copy."""
        return self._items is other._items

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...

    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return [self._items[one] for one in range(*place.indices(self._length))]
        return self._items[range(self._length)[place]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # what it holds need not have one

    def __repr__(self) -> str:
        return f"GrowingList({list(self)!r})"


class _RowRoom:
    """Rows with room for more; the first `used` are taken."""

    def __init__(self, rows: FloatArray) -> None:
        self.data = np.empty((2 * len(rows), *rows.shape[1:]))
        self.data[: len(rows)] = rows
        self.used = len(rows)

    def add(self, rows: FloatArray) -> None:
        """Write rows behind those that are there."""
        total = self.used + len(rows)
        if total > len(self.data):
            larger = np.empty((2 * total, *self.data.shape[1:]))
            larger[: self.used] = self.data[: self.used]
            self.data = larger
        self.data[self.used : total] = rows
        self.used = total


@dataclass(frozen=True, eq=False)
class GrowingRows:
    """A matrix to which rows can be added without a copy.

    Attributes:
        room: Shared with all that were made from each other by `plus`.
        length: K, the rows of this one.
    """

    room: _RowRoom
    length: int

    @classmethod
    def of(cls, rows: FloatArray) -> "GrowingRows":
        """A copy of some rows, [K, D]."""
        return cls(_RowRoom(rows), len(rows))

    @cached_property
    def array(self) -> FloatArray:
        """The rows, [K, D], read-only."""
        view = self.room.data[: self.length].view()
        view.flags.writeable = False
        return view

    def plus(self, rows: FloatArray) -> "GrowingRows":
        """The matrix with rows added below."""
        room = self.room if self.room.used == self.length else _RowRoom(self.array)
        room.add(rows)
        return GrowingRows(room, room.used)
