"""A memory: a value is used again for the same inputs, and for no others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bhpt.domain import Memory, Slot

SLOT: Slot[int] = Slot("number")


class Counter:
    """Makes 1, 2, 3, .. and so tells how often it was asked."""

    def __init__(self) -> None:
        self.made = 0

    def __call__(self) -> int:
        self.made += 1
        return self.made


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12))
def test_only_the_same_inputs_are_recalled(asked: list[int]) -> None:
    memory, count = Memory(), Counter()
    latest = None
    for one in asked:
        before = count.made
        memory.recall(SLOT, (one, np.array([one, np.nan])), count)
        assert count.made == before + (one != latest)
        latest = one


def test_arrays_are_compared_by_their_numbers() -> None:
    memory, count = Memory(), Counter()
    array = np.array([1.0, np.nan])
    for same in (array, array, array.copy()):
        assert memory.recall(SLOT, (same,), count) == 1
    assert memory.recall(SLOT, (np.array([1.0, 2.0]),), count) == 2
    assert memory.recall(SLOT, (np.array([[1.0, 2.0]]),), count) == 3
    assert memory.recall(SLOT, (np.array([[1, 2]]),), count) == 4
    assert memory.recall(SLOT, (None,), count) == 5
    assert memory.recall(SLOT, (None, None), count) == 6
    assert memory.recall(SLOT, (np.array(["a"]),), count) == 7
    assert memory.recall(SLOT, (np.array(["a"]),), count) == 7


def test_slots_are_told_apart_by_name_and_owner() -> None:
    memory, count = Memory(), Counter()
    other: Slot[int] = Slot("number", "owner")
    assert memory.recall(SLOT, (), count) == 1
    assert memory.recall(other, (), count) == 2
    assert memory.recall(Slot("number", "owner"), (), count) == 2
    assert memory.recall(SLOT, (), count) == 1


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.integers(1, 3))
def test_a_slot_keeps_as_many_values_as_it_has_room_for(asked: list[int], room: int) -> None:
    memory, count = Memory(), Counter()
    slot: Slot[int] = Slot("number", room=room)
    used: list[int] = []  # the last one first
    for one in asked:
        before = count.made
        memory.recall(slot, (one,), count)
        assert count.made == before + (one not in used[:room])
        used = [one, *(other for other in used if other != one)]


def test_what_is_about_the_whole_study_is_kept_once() -> None:
    study, count = Memory(), Counter()
    part = Memory(study)
    whole: Slot[int] = Slot("number", whole=True)
    assert part.recall(whole, (0,), count) == study.recall(whole, (0,), count) == 1
    assert study.recall(SLOT, (0,), count) == 2
    assert part.recall(SLOT, (0,), count) == 3


def test_a_memory_within_another_is_the_same_for_a_name() -> None:
    study = Memory()
    part = study.within("some arms")
    part.recall(Slot[int]("mine"), (), lambda: 1)
    assert study.within("some arms") is part
    assert study.within("others").recall(Slot[int]("mine"), (), lambda: 2) == 2
    assert study.recall(Slot[int]("mine"), (), lambda: 3) == 3
    assert part.recall(Slot[int]("mine"), (), lambda: 4) == 1
