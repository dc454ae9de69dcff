"""Backends for the contract: a file, and a real PostgreSQL server in a temporary folder."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Where = Callable[[], str]


def _postgres_bin() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if on_path is not None:
        found.append(Path(on_path))
    return found[-1].parent if found else None


def _unprivileged() -> list[str]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class PostgresServer:
    """A server of its own in a temporary folder, which can be stopped and started."""

    def __init__(self) -> None:
        binaries = _postgres_bin()
        if binaries is None or importlib.util.find_spec("psycopg") is None:
            pytest.skip("needs the PostgreSQL server programs and psycopg")
        if os.geteuid() == 0 and shutil.which("setpriv") is None:
            pytest.skip("needs setpriv to run PostgreSQL as another user than root")
        self._binaries = binaries
        self.root = Path(tempfile.mkdtemp(prefix="bhpt-pg-"))  # sockets need a short path
        self.root.chmod(0o777)
        self._data = self.root / "data"
        self.url = f"postgresql://bhpt@/postgres?host={self.root}"
        _call(binaries / "initdb", "-D", self._data, "-A", "trust", "-U", "bhpt", "--no-sync")

    def start(self) -> None:
        options = f"-k {self.root} -c listen_addresses='' -c fsync=off"
        log = self.root / "log"
        self._control("-o", options, "-l", log, "-w", "start")

    def stop(self) -> None:
        self._control("-m", "immediate", "-w", "stop")

    def _control(self, *words: str | Path) -> None:
        _call(self._binaries / "pg_ctl", "-D", self._data, *words)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    server = PostgresServer()
    try:
        server.start()
        try:
            yield server.url
        finally:
            server.stop()
    finally:
        shutil.rmtree(server.root, ignore_errors=True)


def _call(*words: str | Path) -> None:
    subprocess.run([*_unprivileged(), *words], check=True, capture_output=True, cwd="/")


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Where:
    """Makes addresses at which there is no study yet."""
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"{uuid.uuid4().hex}.db")
    url = request.getfixturevalue("postgres_url")
    return lambda: f"{url}&study={uuid.uuid4().hex}"
