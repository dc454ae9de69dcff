"""What a store behind `bhpt tune` promises: a log that one driver at a time writes to."""

import math
import multiprocessing
import os
import signal
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection

import pytest

from bhpt.domain import Misuse
from bhpt.storage import (
    Address,
    Exists,
    Holder,
    InUse,
    Store,
    StoreFailed,
    create_store,
    open_store,
    read_store,
)
from bhpt.storage.catalogue import find_studies
from bhpt.study import Fenced
from bhpt.study.events import Observed
from bhpt.testing.event_logs import FIRST, EventLogContract, LogPlace, notes

NewAddress = Callable[[], str]


class StoreContract(EventLogContract):
    """Tests of a place for studies that an address names. Override the fixture `new_address`."""

    @pytest.fixture
    def new_address(self) -> NewAddress:
        """Makes addresses, each of a study that is not there yet."""
        raise NotImplementedError("override the fixture `new_address`")

    @pytest.fixture
    def place(self, new_address: NewAddress) -> LogPlace:
        """A store as an event log."""
        address = new_address()
        return LogPlace(partial(create_store, address), partial(open_store, address))

    def test_a_reader_sees_what_was_appended_and_when(self, new_address: NewAddress) -> None:
        """Readers need no lease, and get the time of each event."""
        address = new_address()
        odd = Observed(0, (math.inf, 0.5), 1.0, 0.0, 0, 1.0, None, 2.0)
        with create_store(address, FIRST) as store:
            store.append([*notes("a", "b"), odd], 2)
        with read_store(address) as reader:
            assert reader.read(after=2) == [*notes("a", "b"), odd]
            assert [recorded[:2] for _, recorded in reader.stream()] == ["20"] * 5

    def test_the_same_append_again_is_no_error(self, new_address: NewAddress) -> None:
        """The answer to the first try may have been lost."""
        with create_store(new_address(), FIRST) as store:
            store.append(notes("a", "b"), 2)
            store.append(notes("a", "b"), 2)
            assert store.read(after=2) == notes("a", "b")

    def test_a_study_is_not_created_twice(self, new_address: NewAddress) -> None:
        """The first one is left as it is."""
        address = new_address()
        with create_store(address, FIRST) as store:
            store.append(notes("a"), 2)
        with pytest.raises(Exists, match="resume"):
            create_store(address, FIRST)
        with open_store(address) as store:
            assert store.read(after=2) == notes("a")

    def test_a_study_that_is_not_there_is_named(self, new_address: NewAddress) -> None:
        """It is not created by looking at it."""
        address = new_address()
        for opened in (open_store, read_store):
            with pytest.raises(Misuse, match="no study"):
                opened(address)

    def test_a_second_driver_is_told_who_holds_the_study(self, new_address: NewAddress) -> None:
        """Until the first has let go."""
        address = new_address()
        with create_store(address, FIRST) as store:
            with pytest.raises(InUse, match=f"process {os.getpid()} on .*, this very one"):
                open_store(address)
            store.append(notes("still here"), 2)
            with read_store(address) as reader:
                assert reader.lease().holder == Holder.me()
        with open_store(address) as store:
            assert store.before.holder is None

    def test_a_lease_that_could_not_be_released_is_not_held(
        self, new_address: NewAddress, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A full disk keeps it in the store, and the same process wants to go on later."""
        address = new_address()
        store = create_store(address, FIRST)

        def full(_: Store) -> None:
            raise StoreFailed("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(Store, "release", full)
            store.close()
        with open_store(address) as again:
            assert again.before.holder is not None

    def test_a_killed_driver_is_replaced_at_once(self, new_address: NewAddress) -> None:
        """Nobody waits for a process that is seen to be gone."""
        address = new_address()
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

    def test_a_stale_holder_is_fenced_out(
        self, new_address: NewAddress, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One that was taken for dead can never write again."""
        address = new_address()
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

    def test_a_stale_holder_that_knows_the_last_event_is_fenced_out(
        self, new_address: NewAddress, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also before the one that took over has written anything."""
        address = new_address()
        old = create_store(address, FIRST)
        old.append(notes("old"), 2)
        _pretend_elsewhere(monkeypatch)
        with open_store(address, sleep=lambda _: None) as new:
            with pytest.raises(Fenced):
                old.append(notes("late"), 3)
            assert new.read(after=2) == notes("old")
            new.append(notes("new"), 3)
            assert new.read(after=2) == notes("old", "new")
        old.close()

    def test_a_holder_elsewhere_that_gives_signs_of_life_keeps_the_study(
        self, new_address: NewAddress, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its lease changes while the other one waits."""
        address = new_address()
        old = create_store(address, FIRST)
        _pretend_elsewhere(monkeypatch)
        with pytest.raises(InUse):
            open_store(address, sleep=lambda _: old.renew(3.0))
        old.append(notes("mine"), 2)
        old.close()

    def test_a_sign_of_life_carries_the_clock(self, new_address: NewAddress) -> None:
        """A resumed study goes on from there."""
        address = new_address()
        with create_store(address, FIRST) as store:
            store.renew(12.5)
            before = store.lease()
            store.renew(13.5)
            after = store.lease()
        assert (before.clock, after.clock) == (12.5, 13.5)
        assert after.beat > before.beat

    def test_a_long_event_is_kept_whole(self, new_address: NewAddress) -> None:
        """A list of many configurations is one event."""
        with create_store(new_address(), FIRST) as store:
            store.append(notes("x" * 300_000), 2)
            assert store.read(after=2) == notes("x" * 300_000)

    def test_studies_that_are_there_are_found(self, new_address: NewAddress) -> None:
        """And no others."""
        address, other = new_address(), new_address()
        create_store(address, FIRST).close()
        names = [str(one) for one in find_studies(address)]
        assert str(Address.parse(address)) in names
        assert str(Address.parse(other)) not in names

    def test_an_erased_study_is_gone_and_another_can_take_its_place(
        self, new_address: NewAddress
    ) -> None:
        """Others in the same place are left alone."""
        address, other = new_address(), new_address()
        create_store(other, FIRST).close()
        with create_store(address, FIRST) as store:
            with pytest.raises(InUse):
                open_store(address)
            store.erase()
        with pytest.raises(Misuse, match="there is no study"):
            read_store(address)
        create_store(address, FIRST).close()
        with read_store(other) as reader:
            assert len(reader.read()) == len(FIRST)


def _hold(where: str, ready: Connection) -> None:
    store = open_store(where)
    store.append(notes("from the child", clock=7.5), 2)
    ready.send("held")
    signal.pause()


def _pretend_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bhpt.storage.holder._space", lambda: "another machine")
