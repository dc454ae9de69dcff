"""What the fault tests share: drivers as processes of their own, and the invariants after each."""

import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bhpt.executors.guard import TOKEN_VARIABLE, members
from bhpt.storage import read_store
from bhpt.study import State, fold
from bhpt.study.events import Event
from tests.tuning.cases import check_invariants

ROOT = Path(__file__).parents[2]


class Drivers:
    """Starts drivers and command lines; knows every process that any of them has started."""

    def __init__(self) -> None:
        self.token = f"faults{secrets.token_hex(6)}"

    def start(self, *command: str, cwd: Path | None = None) -> "subprocess.Popen[str]":
        """A process in a process group of its own, as a terminal would make it."""
        paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            [sys.executable, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=cwd,
            env={**os.environ, **threads, "PYTHONPATH": paths, TOKEN_VARIABLE: self.token},
            start_new_session=True,
        )

    def all_gone(self) -> bool:
        return not members(self.token)


def events_of(file: Path) -> list[Event]:
    """Reading runs the integrity check (e) and checks the digests of all events."""
    with read_store(file) as reader:
        return reader.read()


def sound(file: Path) -> State:
    """The state of a study for which (a), (b) and (e) hold."""
    state = fold(events_of(file))
    check_invariants(state)
    return state


def eventually(holds: Callable[[], bool], within: float = 90.0) -> None:
    until = time.monotonic() + within
    while not holds():
        assert time.monotonic() < until, "it never came true"
        time.sleep(0.05)


def has_reports(file: Path, wanted: int) -> Callable[[], bool]:
    return lambda: file.exists() and fold(events_of(file)).reports >= wanted
