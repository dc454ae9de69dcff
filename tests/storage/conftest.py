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


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    binaries = _postgres_bin()
    if binaries is None or importlib.util.find_spec("psycopg") is None:
        pytest.skip("needs the PostgreSQL server programs and psycopg")
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        pytest.skip("needs setpriv to run PostgreSQL as another user than root")
    root = Path(tempfile.mkdtemp(prefix="bhpt-pg-"))  # sockets need a short path
    root.chmod(0o777)
    data = root / "data"
    try:
        _call(binaries / "initdb", "-D", data, "-A", "trust", "-U", "bhpt", "--no-sync")
        options = f"-k {root} -c listen_addresses='' -c fsync=off"
        control = binaries / "pg_ctl"
        _call(control, "-D", data, "-o", options, "-l", root / "log", "-w", "start")
        try:
            yield f"postgresql://bhpt@/postgres?host={root}"
        finally:
            _call(control, "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _call(*words: str | Path) -> None:
    subprocess.run([*_unprivileged(), *words], check=True, capture_output=True, cwd="/")


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Where:
    """Makes addresses at which there is no study yet."""
    if request.param == "sqlite":
        return lambda: str(tmp_path / f"{uuid.uuid4().hex}.db")
    url = request.getfixturevalue("postgres_url")
    return lambda: f"{url}&study={uuid.uuid4().hex}"
