"""The processes of a local executor, seen from the driver: workers and their guard.

A worker is a fresh interpreter, not a fork and not a `multiprocessing` child: a fork would copy
the driver's threads' locks and its open database, and `multiprocessing` would run the user's
script again, use pickle and start a helper of its own. This way a worker is one process with
one connection, in a session of its own, below one that ends what it leaves behind.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bhpt.executors import guard
from bhpt.executors.devices import VISIBLE
from bhpt.executors.logs import SlotLog
from bhpt.executors.messages import Order, Reply, decode_reply, encode
from bhpt.trainers.specs import TrainerSpec, spec_to_wire

_BOOT = (  # the guard is loaded by its path: the package would import numerical libraries
    "import json, runpy, sys; "
    f"runpy.run_path({guard.__file__!r})['fork_worker'](int(sys.argv[2])); "
    "sys.path[:] = json.loads(sys.argv[1]); "
    "from bhpt.executors.worker import main; main(int(sys.argv[2]))"
)
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_CHUNK = 1 << 16
_MOST_GUARDS_LOST = 5


def new_token() -> str:
    """A mark that no other executor has."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a worker finds around it.

    Attributes:
        slot: Which slot it is in.
        slots: How many there are.
        threads: Threads for numerical libraries, whatever the user has set; None for the
            worker's share of the cores where the user has set nothing.
        devices: The GPUs that it sees; None for all.
        variables: Further variables of its environment.
    """

    slot: int = 0
    slots: int = 1
    threads: int | None = None
    devices: tuple[str, ...] | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


def worker_environment(around: Surroundings, token: str) -> dict[str, str]:
    """The environment of a worker: ours, its mark, and its share of the cores for libraries.

    The share is only set where the user has not set it: as many workers as cores, each with as
    many threads as cores, are slower than one.
    """
    share = str(max(1, len(os.sched_getaffinity(0)) // around.slots))
    outer = os.environ.get(guard.TOKEN_VARIABLE, "")
    wanted = {} if around.threads is None else dict.fromkeys(_THREADS, str(around.threads))
    seen = {} if around.devices is None else {VISIBLE: ",".join(around.devices)}
    return {
        **dict.fromkeys(_THREADS, share),
        **os.environ,
        **wanted,
        **seen,
        **around.variables,
        guard.TOKEN_VARIABLE: f"{outer}/{token}" if outer else token,
        "BHPT_SLOT": str(around.slot),
    }


class WorkerProcess:
    """One worker: its messages, whether it lives, and how to end it with all that it started."""

    def __init__(
        self, process: subprocess.Popen[bytes], connection: socket.socket, token: str
    ) -> None:
        self.hung_up = False
        self.token = token
        self._process = process
        self._connection = connection
        self._held = b""

    @classmethod
    def start(
        cls, spec: TrainerSpec, log: SlotLog, token: str, around: Surroundings
    ) -> "WorkerProcess":
        """Start a worker, with everything it prints going to `log`."""
        ours, theirs = socket.socketpair()
        output = log.open()
        try:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-c", _BOOT, json.dumps([str(path) for path in sys.path])),
                    str(theirs.fileno()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=worker_environment(around, token),
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            os.close(output)
        with suppress(BrokenPipeError, ConnectionResetError):  # one that is gone is noticed later
            ours.sendall(json.dumps(spec_to_wire(spec)).encode("ascii") + b"\n")
        ours.setblocking(False)
        return cls(process, ours, token)

    @property
    def pid(self) -> int:
        """The process that leads its session; the one that trains is its child."""
        return self._process.pid

    def fileno(self) -> int:
        """For a selector: readable when it has sent something or closed the connection."""
        return self._connection.fileno()

    def send(self, order: Order) -> None:
        """Hand it an order; a worker that is gone is noticed elsewhere."""
        self._connection.setblocking(True)
        with suppress(BrokenPipeError, ConnectionResetError):
            self._connection.sendall(encode(order))
        self._connection.setblocking(False)

    def receive(self) -> list[Reply]:
        """Everything it has sent since the last call.

        Raises:
            ValueError: Something else than a reply came over the connection.
        """
        while not self.hung_up:
            try:
                chunk = self._connection.recv(_CHUNK)
            except BlockingIOError:
                break
            except ConnectionResetError:
                chunk = b""
            self.hung_up = chunk == b""
            self._held += chunk
        *lines, self._held = self._held.split(b"\n")
        return [decode_reply(line) for line in lines]

    def is_dead(self) -> bool:
        """Whether it has ended; it stays a zombie until `bury`, so its number is not reused."""
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self.pid, flags) is not None
        except ChildProcessError:  # the driver ignores SIGCHLD, so the kernel has reaped it
            return True

    def signal(self, sign: signal.Signals) -> None:
        """Signal it and everything that it started."""
        guard.send(sign, self.token, self.pid)

    def hang_up(self) -> None:
        """Close its connection: an idle worker then ends."""
        self._connection.close()

    def bury(self) -> int:
        """End what a dead worker left running and return its exit status."""
        guard.end(self.token, self.pid)
        self._connection.close()
        return self._process.wait()


class Guard:
    """The process that keeps limits and ends all workers if the driver dies.

    It is started anew if it is killed, and gets all limits again.
    """

    def __init__(self, token: str) -> None:
        self._token = token
        self._lost = 0
        self._limits: dict[str, str] = {}
        self._ended: dict[str, float] = {}
        self._held = b""
        self._process = self._start()

    def limit(self, worker: WorkerProcess, at: float) -> None:
        """End a worker at a time of the monotonic clock, whatever becomes of the driver."""
        line = f"limit {worker.token} {worker.pid} {at!r}\n"
        self._limits[worker.token] = line
        self._tell(line)

    def lift(self, worker: WorkerProcess) -> None:
        """The worker has no limit any more."""
        if self._limits.pop(worker.token, None) is not None:
            self._tell(f"lift {worker.token}\n")

    def ended_at(self, worker: WorkerProcess) -> float | None:
        """When the guard has ended a worker at its limit; None if it has not."""
        stream = self._process.stdout
        while stream is not None and (chunk := stream.read(_CHUNK)):
            self._held += chunk
        *lines, self._held = self._held.split(b"\n")
        for line in lines:
            _, token, at = line.decode("ascii").split()
            self._ended[token] = float(at)
        return self._ended.get(worker.token)

    def check(self) -> None:
        """Start another one if it is gone.

        Raises:
            RuntimeError: It keeps dying, so processes could be left behind.
        """
        if self._process.poll() is None:
            return
        self._release()
        self._lost += 1
        if self._lost > _MOST_GUARDS_LOST:
            raise RuntimeError(
                f"the process that guards the workers died {self._lost} times: "
                "find out what kills it before tuning on"
            )
        self._process = self._start()
        for line in self._limits.values():
            self._tell(line)

    def dismiss(self) -> None:
        """Let it go without doing anything."""
        self._tell("quit\n")
        self._process.wait()
        self._release()

    def _tell(self, line: str) -> None:
        """Write a line; a guard that is gone is started anew by `check`, with all limits."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.write(line.encode("ascii"))
                self._process.stdin.flush()

    def _release(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()

    def _start(self) -> subprocess.Popen[bytes]:
        script = str(Path(guard.__file__))
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", script, self._token, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            start_new_session=True,
        )
        if process.stdout is not None:
            os.set_blocking(process.stdout.fileno(), False)
        return process


def wait_until_dead(workers: list[WorkerProcess], seconds: float) -> list[WorkerProcess]:
    """Wait for workers to end, bury them, and return those that still live."""
    until = time.monotonic() + seconds
    while True:
        living = []
        for worker in workers:
            if worker.is_dead():
                worker.bury()
            else:
                living.append(worker)
        workers = living
        if not workers or time.monotonic() >= until:
            return workers
        time.sleep(0.005)
