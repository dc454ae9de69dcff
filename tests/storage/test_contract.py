"""What every store promises, in a file and on a server; what an event log in memory does."""

from collections.abc import Callable, Sequence

import pytest

from bhpt.storage import read_store
from bhpt.study import MemoryLog
from bhpt.study.events import Event
from bhpt.testing import EventLogContract, LogPlace, StoreContract

Where = Callable[[], str]


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


def test_a_password_is_never_shown() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever the driver raises
        read_store("postgresql://user:hunter2@127.0.0.1:1/none?connect_timeout=1")
    assert "hunter2" not in str(caught.value)
