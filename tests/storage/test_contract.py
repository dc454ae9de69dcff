"""What every backend promises."""

import math
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from bhpt.domain import Misuse
from bhpt.storage import (
    Exists,
    Holder,
    InUse,
    Store,
    StoreFailed,
    create_store,
    open_store,
    read_store,
)
from bhpt.study import Fenced, MemoryLog
from bhpt.study.events import Event, Observed
from bhpt.testing import EventLogContract, LogPlace
from bhpt.testing.event_logs import FIRST, notes

Where = Callable[[], str]


class TestEventLog(EventLogContract):
    @pytest.fixture
    def place(self, where: Where) -> LogPlace:
        address = where()
        return LogPlace(partial(create_store, address), partial(open_store, address))


class TestMemoryLog(EventLogContract):
    @pytest.fixture
    def place(self) -> LogPlace:
        log = MemoryLog()

        def create(first: Sequence[Event]) -> MemoryLog:
            log.append(first, 0)
            return log

        return LogPlace(create, lambda: log)


def test_a_reader_sees_what_was_appended_and_when(where: Where) -> None:
    address = where()
    odd = Observed(0, (math.inf, 0.5), 1.0, 0.0, 0, 1.0, None, 2.0)
    with create_store(address, FIRST) as store:
        store.append([*notes("a", "b"), odd], 2)
    with read_store(address) as reader:
        assert reader.read(after=2) == [*notes("a", "b"), odd]
        assert [recorded[:2] for _, recorded in reader.read_recorded()] == ["20"] * 5


def test_the_same_append_again_is_no_error(where: Where) -> None:
    with create_store(where(), FIRST) as store:
        store.append(notes("a", "b"), 2)
        store.append(notes("a", "b"), 2)
        assert store.read(after=2) == notes("a", "b")


def test_a_study_is_not_created_twice(where: Where) -> None:
    address = where()
    with create_store(address, FIRST) as store:
        store.append(notes("a"), 2)
    with pytest.raises(Exists, match="resume"):
        create_store(address, FIRST)
    with open_store(address) as store:
        assert store.read(after=2) == notes("a")


def test_a_study_that_is_not_there_is_named(where: Where) -> None:
    address = where()
    for opened in (open_store, read_store):
        with pytest.raises(Misuse, match="no study"):
            opened(address)


def test_a_second_driver_is_told_who_holds_the_study(where: Where) -> None:
    address = where()
    with create_store(address, FIRST) as store:
        with pytest.raises(InUse, match=f"process {os.getpid()} on"):
            open_store(address)
        store.append(notes("still here"), 2)
        with read_store(address) as reader:
            assert reader.lease().holder == Holder.me()
    with open_store(address) as store:
        assert store.before.holder is None


def _hold(where: str, ready: "multiprocessing.connection.Connection") -> None:
    store = open_store(where)
    store.append(notes("from the child", clock=7.5), 2)
    ready.send("held")
    signal.pause()


def test_a_lease_that_could_not_be_released_is_not_held(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk keeps it in the store, and the same process wants to go on later."""
    address = where()
    store = create_store(address, FIRST)

    def full(_: Store) -> None:
        raise StoreFailed("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "release", full)
        store.close()
    with open_store(address) as again:
        assert again.before.holder is not None


def test_a_killed_driver_is_replaced_at_once(where: Where) -> None:
    address = where()
    create_store(address, FIRST).close()
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    child = spawn.Process(target=_hold, args=(address, there))
    child.start()
    assert here.poll(30)
    assert here.recv() == "held"
    with pytest.raises(InUse, match=f"process {child.pid} on"):
        open_store(address)
    child.kill()
    child.join()
    with open_store(address) as store:
        assert store.before.holder is not None
        assert store.before.holder.pid == child.pid
        assert store.before.clock == 7.5
        assert store.read(after=2) == notes("from the child", clock=7.5)


def _pretend_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bhpt.storage.holder._space", lambda: "another machine")


def test_a_stale_holder_is_fenced_out(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    address = where()
    old = create_store(address, FIRST)
    _pretend_elsewhere(monkeypatch)
    waits: list[float] = []
    new = open_store(address, stale_s=5.0, sleep=waits.append)
    assert waits == [5.0]
    new.append(notes("new"), 2)
    with pytest.raises(Fenced, match="taken over by process"):
        old.append(notes("old"), 3)
    with pytest.raises(Fenced):
        old.append(notes("old"), 2)
    with pytest.raises(Fenced):
        old.renew(9.0)
    old.close()  # must not let go of what it does not hold
    assert new.lease().holder is not None
    new.append(notes("newer"), 3)
    assert new.read(after=2) == notes("new", "newer")
    new.close()


def test_a_holder_elsewhere_that_gives_signs_of_life_keeps_the_study(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = where()
    old = create_store(address, FIRST)
    _pretend_elsewhere(monkeypatch)
    with pytest.raises(InUse):
        open_store(address, sleep=lambda _: old.renew(3.0))
    old.append(notes("mine"), 2)
    old.close()


def test_a_sign_of_life_carries_the_clock(where: Where) -> None:
    address = where()
    with create_store(address, FIRST) as store:
        store.renew(12.5)
        before = store.lease()
        store.renew(13.5)
        after = store.lease()
    assert (before.clock, after.clock) == (12.5, 13.5)
    assert after.beat > before.beat


def test_a_password_is_never_shown() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever the driver raises
        read_store("postgresql://user:hunter2@127.0.0.1:1/none?connect_timeout=1")
    assert "hunter2" not in str(caught.value)
