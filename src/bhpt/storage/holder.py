"""Who holds a study, and whether that driver is still alive."""

import json
import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Holder:
    """A driver process.

    Attributes:
        host: Where it runs.
        pid: Its process.
        space: Boot and process-id namespace: a pid means something only within it.
        born: When the process started, in the kernel's ticks: a pid may be used again.
    """

    host: str
    pid: int
    space: str
    born: int

    @classmethod
    def me(cls) -> "Holder":
        """This process."""
        pid = os.getpid()
        return cls(socket.gethostname(), pid, _space(), _born(pid))

    @classmethod
    def from_text(cls, text: str) -> "Holder":
        """Parse what `to_text` wrote.

        Raises:
            ValueError: It is something else.
        """
        try:
            holder = cls(**json.loads(text))
        except (TypeError, RecursionError) as error:
            raise ValueError(str(error)) from None
        kinds = {"host": str, "pid": int, "space": str, "born": int}
        if any(type(getattr(holder, name)) is not kind for name, kind in kinds.items()):
            raise ValueError("a field has another type")
        return holder

    def to_text(self) -> str:
        """JSON text for the lease table."""
        return json.dumps(asdict(self))

    def is_alive(self) -> bool | None:
        """Whether it still runs; None if that cannot be seen from here."""
        if not self.space or self.space != _space():
            return None
        return self.born == _born(self.pid) != 0

    def __str__(self) -> str:
        host = "".join(char if char.isprintable() else " " for char in self.host)
        return f"process {self.pid} on {host}"


def _space() -> str:
    """This boot and process-id namespace; empty where the system does not expose them."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115  # not a path to follow
    except OSError:
        return ""


def _born(pid: int) -> int:
    """Start of a process in ticks since boot; 0 if it does not exist or is a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in {"Z", "X"} else int(fields[19])
