"""The simulator's side of the protocol with a peer's process; `adapters/serve.py` is the other.

A process is started once and serves run after run, since importing some of the packages takes
seconds. It has a session of its own, so that an interrupt reaches only the benchmark, and
ends by itself when its input is closed, however the benchmark ends.
"""

import json
import os
import select
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bhpt.bench.workers import ONE_THREAD
from bhpt.domain import Misuse
from bhpt.domain.closing import Closing

PATIENCE_S = 900.0  # for one answer; the slowest peer takes seconds
_TAIL = 400  # characters of a crashed peer's last output in the error message


@dataclass(frozen=True)
class PeerRequest:
    """A peer requests that this arm is trained up to `to` units."""

    arm: int
    to: int


@dataclass(frozen=True, eq=False)
class PeerBegin:
    """The message that starts a run."""

    method: str
    points: list[list[float]]
    offsets: list[float]
    units: int
    budget: int
    seed: int


class PeerProcess(Closing):
    """A peer that is running, between two messages."""

    def __init__(self, name: str, command: list[str], patience_s: float = PATIENCE_S) -> None:
        """Start the process and wait until it has imported its package.

        Args:
            name: What a person calls the peer, for error messages.
            command: The interpreter, `serve.py` and the adapter.
            patience_s: Seconds to wait for an answer.

        Raises:
            Misuse: If it cannot be started.
        """
        self.name = name
        self._patience_s = patience_s
        self._folder = tempfile.TemporaryDirectory(prefix="bhpt-peer-")
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        self._run = 0
        self._buffer = b""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                cwd=self._folder.name,
                env=_environment(Path(self._folder.name)),
                start_new_session=True,
            )
        except OSError as error:
            self._folder.cleanup()
            self._stderr.close()
            raise Misuse(f"peer {name} cannot be started: {error.strerror}") from error
        try:
            self._receive()
        except Misuse:
            self.close()
            raise

    def begin(self, begin: PeerBegin) -> tuple[int, PeerRequest | None]:
        """Start a run; whatever run was going on is over.

        Returns:
            The number of the run, to be shown with every answer, and the first request.
        """
        self._run += 1
        self._send({"begin": begin.__dict__})
        return self._run, self._request()

    def answer(self, run: int, values: list[float]) -> PeerRequest | None:
        """Answer the last request; returns the next one, None when the peer is done."""
        if run != self._run:
            raise Misuse(f"peer {self.name}: this run is over, another has begun")
        self._send({"values": values})
        return self._request()

    def exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message of another protocol than that of runs on tables; returns the answer."""
        self._send(message)
        return self._receive()

    def close(self) -> None:
        """End the process and remove what it wrote."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # it is gone already
            self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._stderr.close()
        self._folder.cleanup()

    @property
    def alive(self) -> bool:
        """Whether the process can serve another run."""
        return self._process.poll() is None

    def _request(self) -> PeerRequest | None:
        message = self._receive()
        if "done" in message:
            return None
        return PeerRequest(int(message["train"]["arm"]), int(message["train"]["to"]))

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise Misuse(f"peer {self.name} has ended: {self._last_words()}") from error

    def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._line())
        if "failed" in message:
            raise Misuse(f"peer {self.name} failed: {message['failed']}")
        return message

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        deadline = time.monotonic() + self._patience_s
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self._process.stdout], [], [], max(left, 0.0))
            if not ready:
                self._process.kill()
                raise Misuse(f"peer {self.name} did not answer within {self._patience_s:g} s")
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            if not read:
                self._process.wait()
                raise Misuse(f"peer {self.name} has ended: {self._last_words()}")
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _last_words(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1][-_TAIL:] if lines else f"exit status {self._process.returncode}"


def _environment(folder: Path) -> dict[str, str]:
    """Environment variables of a peer: one thread, and none of this interpreter's own paths."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    fixed = {"PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1", "MPLCONFIGDIR": str(folder)}
    return kept | dict.fromkeys(ONE_THREAD, "1") | fixed
