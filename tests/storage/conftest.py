"""Backends for the contract: a file, and a real PostgreSQL server in a temporary folder."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benchmarks.postgres_server import PostgresServer, Unavailable

Where = Callable[[], str]


def made_server() -> PostgresServer:
    """A server that is not started yet; the test is skipped where there can be none."""
    try:
        return PostgresServer()
    except Unavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    server = made_server()
    try:
        server.start()
        try:
            yield server.url
        finally:
            server.stop()
    finally:
        server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Where:
    """Makes addresses at which there is no study yet."""
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"{uuid.uuid4().hex}.db")
    url = request.getfixturevalue("postgres_url")
    return lambda: f"{url}&study={uuid.uuid4().hex}"
