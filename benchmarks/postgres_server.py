"""A PostgreSQL server of one's own in a temporary folder, which can be stopped and started."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from bhpt.executors.guard import TOKEN_VARIABLE


class Unavailable(RuntimeError):
    """The programs that are needed are not installed."""


class PostgresServer:
    """Made but not started; `remove` it in the end.

    Attributes:
        url: Its database.
        sockets: Where it listens: PGHOST.
        user: PGUSER.

    Raises:
        Unavailable: PostgreSQL, psycopg, or what is needed not to run it as root is missing.
    """

    def __init__(self) -> None:
        binaries = _binaries()
        if binaries is None or importlib.util.find_spec("psycopg") is None:
            raise Unavailable("needs the PostgreSQL server programs and psycopg")
        if os.geteuid() == 0 and shutil.which("setpriv") is None:
            raise Unavailable("needs setpriv to run PostgreSQL as another user than root")
        self._programs = binaries
        self._root = Path(tempfile.mkdtemp(prefix="bhpt-pg-"))  # sockets need a short path
        self._root.chmod(0o777)
        self._data = self._root / "data"
        self.sockets, self.user = self._root, "bhpt"
        self.url = f"postgresql://{self.user}@/postgres?host={self._root}"
        _call(binaries / "initdb", "-D", self._data, "-A", "trust", "-U", self.user, "--no-sync")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-k {self._root} -c listen_addresses='' -c fsync=off"
        self._control("-o", options, "-l", self._root / "log", "-w", "start")

    def stop(self) -> None:
        """Stop it at once, as a crash would."""
        self._control("-m", "immediate", "-w", "stop")

    def remove(self) -> None:
        """Remove its files, once it is stopped."""
        shutil.rmtree(self._root, ignore_errors=True)

    def _control(self, *words: str | Path) -> None:
        _call(self._programs / "pg_ctl", "-D", self._data, *words)


def _binaries() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if on_path is not None:
        found.append(Path(on_path))
    return found[-1].parent if found else None


def _call(*words: str | Path) -> None:
    """Run a program as another user than root, without the mark of what is being tested."""
    unprivileged: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        unprivileged = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    environment = {name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE}
    subprocess.run(
        [*unprivileged, *words], check=True, capture_output=True, cwd="/", env=environment
    )
