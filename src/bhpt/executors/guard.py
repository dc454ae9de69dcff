"""Ends every process of an executor, also when the driver itself was killed.

Run as a script, this is the guard: a process of its own that waits until the driver is gone and
then kills what is left. It imports nothing but the standard library, so it costs next to nothing.

Workers lead sessions of their own and carry a token in their environment, which their
descendants inherit. So a process belongs to a worker if it is in its session (even with a cleared
environment) or carries its token (even after it moved to another session).
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

TOKEN_VARIABLE = "BHPT_WORKER"  # a name, not a secret
_PROC = Path("/proc")
_ROUNDS = 200
_PAUSE_S = 0.01
_QUIET_ROUNDS = 3


def members(token: str, session: int | None = None) -> set[int]:
    """Living processes that belong to a token or a session, without this one."""
    found = {}
    sessions = set() if session is None else {session}
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            found[int(folder.name)] = _session(folder)
    marked = {pid for pid, leader in found.items() if leader and _carries(token, pid)}
    sessions |= {found[pid] for pid in marked if found[pid] in marked}
    return marked | {pid for pid, leader in found.items() if leader in sessions}


def send(sign: signal.Signals, token: str, session: int | None = None) -> set[int]:
    """Signal everything that belongs to a token or a session, and say what that was."""
    if session is not None:
        with suppress(ProcessLookupError, PermissionError):  # no members left, or only zombies
            os.killpg(session, sign)
    if not _PROC.is_dir():
        return set()
    found = members(token, session)
    for pid in found:
        with suppress(ProcessLookupError, PermissionError):  # gone in the meantime
            os.kill(pid, sign)
    return found


def end(token: str, session: int | None = None, quiet_rounds: int = 1) -> None:
    """Kill until nothing is left that could start another; what cannot die is left in the end."""
    quiet = 0
    for _ in range(_ROUNDS):
        quiet = 0 if send(signal.SIGKILL, token, session) else quiet + 1
        if quiet >= quiet_rounds:
            return
        time.sleep(_PAUSE_S)


def watch(token: str, parent: int) -> None:
    """Wait for the driver to say goodbye (one byte) or to be gone, and in that case clean up."""
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, signal.SIG_IGN)
    while os.getppid() == parent:
        readable, _, _ = select.select([0], [], [], 1.0)
        if readable:
            if os.read(0, 1):
                return
            break
    end(token, quiet_rounds=_QUIET_ROUNDS)


def _session(folder: Path) -> int:
    """The session of a process, 0 if it is gone or a zombie."""
    try:
        stat = (folder / "stat").read_bytes()
    except OSError:
        return 0
    state, _, _, session = stat.rpartition(b")")[2].split()[:4]
    return 0 if state in {b"Z", b"X"} else int(session)


def _carries(token: str, pid: int) -> bool:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False  # gone, or of another user
    return any(
        token.encode() in variable
        for variable in environment.split(b"\0")
        if variable.startswith(TOKEN_VARIABLE.encode() + b"=")
    )


if __name__ == "__main__":
    watch(sys.argv[1], int(sys.argv[2]))
