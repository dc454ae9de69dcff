"""Trainers that behave, and trainers that do everything a trainer must not do."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SLEEP = "import time; time.sleep(600)"


class Net:
    """Its loss is rate / epoch; `mode` says how it misbehaves in `step`."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.epoch = 0

    def step(self) -> object:
        time.sleep(self.config.get("seconds", 0.0))
        misbehave(self.config.get("mode", "good"), self.config)
        self.epoch += 1
        if "give" in self.config:
            return self.config["give"]
        loss = self.config["rate"] / self.epoch
        return {"acc": loss, "size": 3} if self.config.get("metrics") else loss

    def save(self, folder: Path) -> None:
        (folder / "epoch").write_text(str(self.epoch))
        if self.config.get("mode") == "link":
            (folder / "link").symlink_to("/etc/passwd")
        if self.config.get("mode") == "full":
            with_small_files(folder)

    def load(self, folder: Path) -> None:
        print("thawed", flush=True)
        self.epoch = int((folder / "epoch").read_text())


def train(config: dict[str, Any]) -> Iterator[object]:
    epoch = 0
    print("begun", flush=True)
    while True:
        epoch += 1
        time.sleep(config.get("seconds", 0.0))
        misbehave(config.get("mode", "good"), config)
        yield config["rate"] / epoch


def with_small_files(folder: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        (folder / "big").write_bytes(b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def misbehave(mode: str, config: dict[str, Any]) -> None:  # noqa: C901  # a list of evils
    match mode:
        case "raise":
            raise RuntimeError("first line\nsecond line")
        case "sysexit":
            sys.exit("enough")
        case "exit":
            print("last words", file=sys.stderr)
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segfault":
            ctypes.string_at(0)
        case "hang":
            print("hanging", flush=True)
            time.sleep(600)
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        case "freeze":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "closefds":
            os.closerange(3, 64)
            time.sleep(600)
        case "chatty":
            for line in range(2000):
                print(f"\x1b[31mline {line}\x07", "x" * 100)
        case "children":
            leave_children(Path(config["pids"]))
            misbehave(config["then"], config)


def leave_children(pids: Path) -> None:
    """One in our session, one without our environment, one in a session of its own, a daemon."""
    command = [sys.executable, "-c", SLEEP]
    children = [
        subprocess.Popen(command),
        subprocess.Popen(command, env={}),
        subprocess.Popen(command, start_new_session=True),
    ]
    daemon = (
        "import os, subprocess, sys; os.setsid(); "
        "print(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid)"
    )
    made = subprocess.run(
        [sys.executable, "-c", daemon, *command], stdout=subprocess.PIPE, text=True, check=True
    )
    pids.write_text(" ".join([*(str(child.pid) for child in children), made.stdout.strip()]))
