"""What every store promises, in a file and on a server; what an event log in memory does."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bhpt.domain.budget import Budget
from bhpt.storage import InUse, Store, StoreFailed, create_store, open_store, read_store
from bhpt.storage import store as store_module
from bhpt.study import Busy, MemoryLog, Training
from bhpt.study.creation import first_events
from bhpt.study.events import Event
from bhpt.testing import EventLogContract, LogPlace, StoreContract

Where = Callable[[], str]


def _created(address: str) -> Store:
    return create_store(address, first_events([{"x": 1}], Budget(5), training=Training(1, 5)))


class TestStore(StoreContract):
    @pytest.fixture
    def new_address(self, where: Where) -> Where:
        return where


class TestMemoryLog(EventLogContract):
    @pytest.fixture
    def place(self) -> LogPlace:
        log = MemoryLog()

        def create(first: Sequence[Event]) -> MemoryLog:
            log.append(first, 0)
            return log

        return LogPlace(create, lambda: log)


def test_of_two_drivers_that_find_a_study_free_one_gets_it(
    where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, found_free = where(), store_module._watch
    _created(address).close()
    faster: list[Store] = []

    def slow_watch(*given: Any) -> object:
        seen = found_free(*given)
        with monkeypatch.context() as patched:  # another driver comes between looking and taking
            patched.setattr(store_module, "_watch", found_free)
            faster.append(open_store(address))
        return seen

    monkeypatch.setattr(store_module, "_watch", slow_watch)
    with pytest.raises(InUse, match="was just taken"):
        open_store(address)
    faster[0].renew(1.0)
    faster[0].close()


@pytest.mark.parametrize("use", [_created, open_store, read_store])
def test_a_server_that_is_away_is_one_line_that_says_what_to_check(
    use: Callable[[str], object],
) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises((Busy, StoreFailed)) as caught:
        use("postgresql://user@127.0.0.1:1/none")
    said = str(caught.value)
    assert said.startswith("postgresql://user@127.0.0.1:1/none cannot be reached (")
    assert "see that the server runs, and that host, port, database, user and password" in said
    assert "\n" not in said


def test_a_password_is_never_shown() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever the driver raises
        read_store("postgresql://user:hunter2@127.0.0.1:1/none?connect_timeout=1")
    assert "hunter2" not in str(caught.value)
