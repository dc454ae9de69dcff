"""A PostgreSQL server that is restarted, or stays away, while a study runs; its credentials."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.postgres_server import PostgresServer

from bhpt.storage import Address, StoreFailed, open_store, read_store
from bhpt.study import fold
from bhpt.tuning import resume
from tests.faults.cases import Drivers, eventually
from tests.storage.conftest import made_server
from tests.study.cases import Greedy
from tests.tuning.cases import check_invariants

_RUN = """
import sys
from bhpt.tuning import Options, tune
from tests.study.cases import Greedy
from tests.tuning.trainers import Net
arms = [{'x': 0.2, 'sleep': 0.2}, {'x': 0.4, 'sleep': 0.2}]
tune(Net, arms, "30 epochs", 2, sys.argv[1], max_epochs=40, policy=Greedy(),
     options=Options(patience_s=float(sys.argv[2])))
"""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    made = made_server()
    made.start()
    try:
        yield made
    finally:
        made.stop()
        made.remove()


def _reports(where: str) -> int:
    try:
        with read_store(where) as reader:
            return fold(reader.read()).reports
    except Exception:  # noqa: BLE001  # not created yet, or the server is away
        return 0


def test_a_restarted_server_is_found_again(tmp_path: Path, server: PostgresServer) -> None:
    drivers, where = Drivers(), f"{server.url}&study=net"
    driver = drivers.start("-c", f"import os; os.chdir({str(tmp_path)!r})\n{_RUN}", where, "60")
    eventually(lambda: _reports(where) >= 4)
    for _ in range(2):
        server.stop()
        server.start()
    said, _ = driver.communicate(timeout=120)
    assert driver.returncode == 0, said
    eventually(drivers.all_gone)
    with read_store(where) as reader:
        state = fold(reader.read())
    check_invariants(state)
    assert state.reports == 30


def test_a_server_that_stays_away_pauses_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: PostgresServer
) -> None:
    drivers, where = Drivers(), f"{server.url}&study=net"
    driver = drivers.start("-c", f"import os; os.chdir({str(tmp_path)!r})\n{_RUN}", where, "2")
    eventually(lambda: _reports(where) >= 4)
    server.stop()
    said, _ = driver.communicate(timeout=120)
    assert "Paused" in said, said
    assert "resume when it is back" in said
    eventually(drivers.all_gone)
    with pytest.raises(StoreFailed, match="cannot be reached"):
        open_store(where)
    server.start()
    monkeypatch.chdir(tmp_path)
    result = resume(where, policy=Greedy())
    check_invariants(result.state)
    assert result.state.reports == 30


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s3cret@host/db",
        "postgresql://me@host/db?password=s3cret",
        "postgresql://host/db?user=me&password=s3cret&study=x",
        "postgresql://me:s3cret@host/db?sslpassword=s3cret&oauth_client_secret=s3cret",
    ],
)
def test_no_form_of_a_credential_is_shown(address: str) -> None:
    parsed = Address.parse(address)
    assert "s3cret" not in str(parsed)
    assert "*" not in str(parsed)
    again = Address.parse(str(parsed))
    assert (again.study, again.url.host, again.url.database) == (parsed.study, "host", "db")
    assert "s3cret" not in parsed.without_secrets("FATAL: password s3cret is wrong")


def test_an_address_that_cannot_be_read_is_not_repeated() -> None:
    for bad in ("postgresql://me:s3cret@host:port/db", "nonsense://u:s3cret@h/x?password=s3cret"):
        with pytest.raises(Exception) as caught:  # noqa: PT011  # whichever it is
            Address.parse(bad)
        assert "s3cret" not in str(caught.value)
