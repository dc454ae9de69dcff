"""Ends every process of an executor, also when the driver itself was killed or stopped.

Run as a script, this is the guard: a process of its own that ends a worker when its time is up,
and everything when the driver is gone. So limits hold although a driver may be stopped by Ctrl-Z
or a debugger. It imports nothing but the standard library, so it costs next to nothing.

The driver writes lines to it, times on the monotonic clock, which all processes share:

    limit TOKEN SESSION TIME    end that worker then
    lift TOKEN                  no longer
    quit                        nothing is left to guard

and reads `ended TOKEN TIME` for each worker that is ended.

Workers run in sessions of their own and carry a token in their environment, which their
descendants inherit. So a process belongs to a worker if it is in its session (even with a cleared
environment), carries its token (even after it moved to another session), or descends from one of
these: a worker is two processes that adopt the orphans below them, see `fork_worker`, so that one
of them is still there to be descended from when the other is killed.
"""

import ctypes
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
_LOOK_S = 1.0  # between two looks whether the driver still lives
_CHUNK = 1 << 16
_SET_CHILD_SUBREAPER = 36  # of prctl


def fork_worker(descriptor: int) -> None:
    """Split the first process of a worker in two; only the child returns, and does the work.

    The parent leads the session and waits. It is the parent of whatever user code leaves behind,
    even of a daemon that clears its environment and moves to another session, and ends all of it
    once the child is gone, also if that was killed from outside. Then it ends as the child did.

    Args:
        descriptor: The connection to the driver, which only the child may keep open.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, there would be nothing to wait for
    _adopt_orphans()
    child = os.fork()
    if child == 0:
        _adopt_orphans()  # not inherited
        os.setpgid(0, 0)  # a signal to one group does not reach both
        return
    for sign in (signal.SIGTERM, signal.SIGHUP):  # to the leader, it is meant for both
        signal.signal(sign, lambda number, _: os.kill(child, number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(descriptor)
    status = _wait_for(child)
    end_descendants()
    _end_like(status)


def _adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait_for(child: int) -> int:
    """The status of a child, once it has ended; adopted processes are buried meanwhile."""
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status)


def _end_like(code: int) -> None:
    """End with an exit code, or by the signal that a negative one names, without another core."""
    if code < 0:
        import resource  # only where there are signals to die of

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        sign = signal.Signals(-code)
        if sign not in {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(sign, signal.SIG_DFL)
        os.kill(os.getpid(), sign)
    os._exit(code)


def members(token: str, session: int | None = None) -> list[int]:
    """Living processes that belong to a token or a session, without this one, parents first."""
    found = _others()
    marked = {pid for pid in found if _carries(token, pid)}
    sessions = {found[pid][1] for pid in marked if found[pid][1] in marked}
    if session is not None:
        sessions.add(session)
    ours = marked | {pid for pid, (_, leader) in found.items() if leader in sessions}
    return _parents_first(ours | _descendants(ours, found), found)


def _parents_first(pids: set[int], found: dict[int, tuple[int, int]]) -> list[int]:
    """Processes in an order in which no child comes before its parent."""

    def depth(pid: int) -> int:
        above = 0
        while pid in pids and above < len(pids):  # numbers may be reused while they are read
            pid, above = found[pid][0], above + 1
        return above

    return sorted(pids, key=depth)


def end_descendants() -> None:
    """Kill whatever this process has started or adopted; what cannot die is left in the end."""
    for _ in range(_ROUNDS):
        found = _descendants({os.getpid()}, _others()) if _PROC.is_dir() else set()
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):  # gone in the meantime
                os.kill(pid, signal.SIGKILL)
        time.sleep(_PAUSE_S)


def _others() -> dict[int, tuple[int, int]]:
    """Parent and session of every living process but this one."""
    found: dict[int, tuple[int, int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            kin = _kin(folder)
            if kin is not None:
                found[int(folder.name)] = kin
    return found


def _descendants(ours: set[int], found: dict[int, tuple[int, int]]) -> set[int]:
    """Children of these processes, and theirs: a worker adopts the orphans below it."""
    children: dict[int, set[int]] = {}
    for pid, (parent, _) in found.items():
        children.setdefault(parent, set()).add(pid)
    reached: set[int] = set()
    todo = list(ours)
    while todo:
        added = children.get(todo.pop(), set()) - reached - ours
        reached |= added
        todo += added
    return reached


def send(sign: signal.Signals, token: str, session: int | None = None) -> set[int]:
    """Signal everything that belongs to a token or a session, and say what that was.

    Parents come before their children: a shell whose child is ended first would go on with its
    next line. The leader of the session comes last, once it is alone: it adopts what the others
    start in their last moment.
    """
    ordered = members(token, session) if _PROC.is_dir() else []  # while parents still live
    found = set(ordered)
    for pid in [pid for pid in ordered if pid != session] or ordered:
        with suppress(ProcessLookupError, PermissionError):  # gone in the meantime
            os.kill(pid, sign)
    if session is not None and found <= {session}:
        with suppress(ProcessLookupError, PermissionError):  # no members left, or only zombies
            os.killpg(session, sign)
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
    """Keep the limits until the driver says goodbye or is gone, and in that case clean up."""
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, signal.SIG_IGN)
    limits: dict[str, tuple[int, float]] = {}
    held = b""
    while os.getppid() == parent:
        wait = min((at - time.monotonic() for _, at in limits.values()), default=_LOOK_S)
        readable, _, _ = select.select([0], [], [], min(max(0.0, wait), _LOOK_S))
        if readable:
            chunk = os.read(0, _CHUNK)
            if not chunk:
                break
            *lines, held = (held + chunk).split(b"\n")
            if b"quit" in lines:
                return
            for line in lines:
                _note(limits, line.decode("ascii").split())
        _keep(limits)
    end(token, quiet_rounds=_QUIET_ROUNDS)


def _note(limits: dict[str, tuple[int, float]], words: list[str]) -> None:
    """Remember or forget the limit of a worker."""
    match words:
        case ["limit", token, session, at]:
            limits[token] = (int(session), float(at))
        case ["lift", token]:
            limits.pop(token, None)


def _keep(limits: dict[str, tuple[int, float]]) -> None:
    """End every worker whose time is up; a driver that finds it dead can read why."""
    now = time.monotonic()
    for token in [token for token, (_, at) in limits.items() if at <= now]:
        session, _ = limits.pop(token)
        with suppress(BrokenPipeError):  # the driver is gone: seen in a moment
            os.write(1, f"ended {token} {now!r}\n".encode("ascii"))
        end(token, session)


def _kin(folder: Path) -> tuple[int, int] | None:
    """Parent and session of a process; None if it is gone or a zombie."""
    try:
        stat = (folder / "stat").read_bytes()
    except OSError:
        return None
    state, parent, _, session = stat.rpartition(b")")[2].split()[:4]
    return None if state in {b"Z", b"X"} else (int(parent), int(session))


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
