"""`make soak`, second part: a study that is attacked at every step, and what must hold after each.

A step is one attack, drawn from a seed: a kill or a stop of the driver, a killed worker, Ctrl-C, a
damaged byte in the log, its write-ahead log, its lease, a checkpoint, a manifest or the folder's
mark, a full disk, a clock that jumps, a restarted database. Studies have 1 to 4 workers and lie in
a file or on PostgreSQL. After each step:

    (a) the ledger is the sum of all attempts and within the budget,
    (b) every report is there once,
    (d) no process is left,
    (e) the store passes its check,
    and everything that was acknowledged before is still there, word for word.

What is damaged beyond use must be refused without a change; then it is put back, as a person would
from a copy. `--seed` repeats the same attacks and `--first` begins with any of them; when a process
is hit is up to the machine.
"""

import argparse
import datetime
import os
import resource
import secrets
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.postgres_server import PostgresServer, Unavailable
from benchmarks.soak import CONFIGS, Broken, Curve, policy, require, require_sums, spawn, wait_for
from bhpt.domain import Misuse
from bhpt.executors.guard import TOKEN_VARIABLE, members
from bhpt.storage import Address, peek_store, read_store
from bhpt.study import State, fold
from bhpt.tuning import Options, resume, tune
from bhpt.tuning.folder import StudyFolder
from bhpt.tuning.folder_mark import FolderMark

_EPOCHS = 400  # that an arm may train: far more than it gets
_BUDGET = 80
_STUDIES = 1  # tells the draws of a study from those of a step
_GONE_S = 30.0
_END_S = 120.0
_LONGEST_LIFE_S = 20.0
_SMALL = 1 << 19  # bytes that a file may have while the disk is full


@dataclass
class Target:
    """A study under attack.

    Attributes:
        where: Its address.
        home: The working folder of its drivers.
        workers: Side by side.
        seed: Of the study.
        token: Marks all processes that its drivers start.
        server: Where it is kept, None for a file.
        known: Events that were acknowledged, as they are stored.
    """

    where: str
    home: Path
    workers: int
    seed: int
    token: str
    server: PostgresServer | None
    known: list[str] = field(default_factory=list)

    @property
    def file(self) -> Path | None:
        """The log, if it is a file."""
        return Address.parse(self.where).file

    def exists(self) -> bool:
        """Whether it was created, sound or not."""
        if self.file is not None:
            return os.path.lexists(self.file)
        try:
            peek_store(self.where).close()
        except Misuse as error:
            if "there is no study" not in str(error):
                raise
            return False
        return True

    def run(self, prepare: Callable[[], None] = lambda: None) -> None:
        """One life of a driver, in a process of its own."""
        os.chdir(self.home)
        options = Options(grace_s=1.0, patience_s=30.0)
        fresh = not self.exists()
        prepare()
        if fresh:
            tune(
                Curve,
                CONFIGS,
                f"{_BUDGET} epochs",
                self.workers,
                self.where,
                self.seed,
                max_epochs=_EPOCHS,
                policy=policy(),
                options=options,
            )
        else:
            resume(self.where, policy=policy(), options=options)

    def start(self, prepare: Callable[[], None] = lambda: None) -> int:
        """Start a driver; its process."""
        return spawn(lambda: self.run(prepare), self.home / "log")

    def folder(self) -> StudyFolder:
        """Its files."""
        with peek_store(self.where) as reader:
            found = StudyFolder.find(reader.address, reader.identity())
        return StudyFolder(self.home / found.root)

    def roots(self) -> list[Path]:
        """The same without a look at the store; none before it was made."""
        places = ("net.db.files/study.json", ".bhpt/*/study.json")
        return [path.parent for place in places for path in self.home.glob(place)]

    def said(self) -> str:
        """The last line of a driver that failed."""
        lines = (self.home / "log").read_text().splitlines()
        return lines[-1] if lines else "nothing was said"

    def check(self) -> State | None:
        """All invariants; the state of the study, None if it was not created yet."""
        until = time.monotonic() + _GONE_S
        while members(self.token):
            require(time.monotonic() < until, f"(d) processes are left: {members(self.token)}")
            time.sleep(0.02)
        if not self.exists():
            require(not self.known, "the study is gone")
            return None
        with read_store(self.where) as reader:  # (e)
            events = reader.read()
            bodies = [row.body for row in reader.rows()]
        require(bodies[: len(self.known)] == self.known, "acknowledged events are gone")
        mark = FolderMark.read(self.folder().root)
        require(mark is None or mark.position <= len(events), "the folder has seen more events")
        self.known = bodies
        state = fold(events)
        require_sums(state)
        return state


Rng = np.random.Generator


def kill(target: Target, rng: Rng) -> None:
    """SIGKILL at a random moment."""
    _end(target, target.start(), rng, signal.SIGKILL)


def stop(target: Target, rng: Rng) -> None:
    """SIGSTOP for a while, SIGCONT, and a kill later."""
    pid = target.start()
    if _live(target, pid, rng) is None:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(rng.uniform(0.1, 1.5))
        os.kill(pid, signal.SIGCONT)
        _end(target, pid, rng, signal.SIGKILL)


def interrupt(target: Target, rng: Rng) -> None:
    """Ctrl-C, once or twice; it must end in good order."""
    pid = target.start()
    if _live(target, pid, rng) is not None:
        return
    for _ in range(int(rng.integers(1, 3))):
        os.kill(pid, signal.SIGINT)
        time.sleep(0.05)
    status = wait_for(pid, _END_S)
    require(status is not None, "Ctrl-C did not end the driver")


def terminate(target: Target, rng: Rng) -> None:
    """SIGTERM."""
    _end(target, target.start(), rng, signal.SIGTERM)


def worker(target: Target, rng: Rng) -> None:
    """One process that a driver has started is killed: a worker, or the guard."""
    pid = target.start()
    if _live(target, pid, rng) is None:
        others = sorted(one for one in members(target.token) if one != pid)
        if others:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(others[int(rng.integers(len(others)))], signal.SIGKILL)
        # before any worker has imported the trainer nobody knows whether it can be
        _end(target, pid, rng, signal.SIGKILL, may_say="while it imported")


def clock(target: Target, rng: Rng) -> None:
    """The wall clock is an hour off, or a day."""
    off = float(rng.choice([-86400.0, -3600.0, 3600.0]))

    def jump() -> None:
        real = time.time
        time.time = lambda: real() + off

    _end(target, target.start(jump), rng, signal.SIGKILL)


def disk(target: Target, rng: Rng) -> None:
    """No file may grow any more."""

    def full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        most = int(rng.integers(0, _SMALL))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    pid = target.start(full)
    if wait_for(pid, 8.0) is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def database(target: Target, rng: Rng) -> None:
    """The server is restarted; a driver must survive that."""
    pid = target.start()
    status = _live(target, pid, rng)
    if target.server is not None:
        target.server.stop()
        time.sleep(rng.uniform(0.0, 1.0))
        target.server.start()
    if status is None:  # one that finds no server when it begins says so, and ends
        _end(target, pid, rng, signal.SIGKILL, may_say="cannot be reached")


def log_file(target: Target, rng: Rng) -> None:
    """A byte of the main file or of its write-ahead log is damaged, or the end is missing."""
    file = target.file
    if file is None or not target.known:
        return
    kill(target, rng)
    target.check()
    log = file.with_name(f"{file.name}-wal")
    chosen = log if log.exists() and log.stat().st_size and rng.random() < 0.5 else file
    _damaged(target, chosen, rng)


def lease(target: Target, rng: Rng) -> None:
    """The lease holds nonsense."""
    file = target.file
    if file is None or not target.known:
        return
    whole = _log_files(file)
    connection = sqlite3.connect(file)
    with connection:
        connection.execute(
            "UPDATE bhpt_leases SET holder=?", (str(rng.choice(["{", "[]", "{}", "nobody"])),)
        )
    connection.close()
    require(_fails(target), "a damaged lease was taken")
    _put_back(file, whole)


def checkpoint(target: Target, rng: Rng) -> None:
    """A byte of a checkpoint, a manifest or the folder's mark is changed, and stays so."""
    if not target.known:
        return
    root = target.folder().root
    files = [
        path for path in sorted(root.rglob("*")) if path.is_file() and "logs" not in path.parts
    ]
    if files:
        _flip(files[int(rng.integers(len(files)))], rng)
    kill(target, rng)


ATTACKS: tuple[Callable[[Target, Rng], None], ...] = (
    *(kill, stop, interrupt, terminate, worker, clock),
    *(disk, database, log_file, lease, checkpoint),
)


def _live(target: Target, pid: int, rng: Rng) -> int | None:
    """Let a driver live until it has written some events, or for a moment only.

    Returns:
        Its exit status, None if it still runs.
    """
    if rng.random() < 0.25:
        return wait_for(pid, rng.uniform(0.0, 2.0))
    wanted = _position(target) + int(rng.integers(1, 40))
    until = time.monotonic() + _LONGEST_LIFE_S
    status = None
    while status is None and _position(target) < wanted and time.monotonic() < until:
        status = wait_for(pid, 0.02)
    return status if status is not None else wait_for(pid, rng.uniform(0.0, 0.2))


def _position(target: Target) -> int:
    """How far a study is, by the mark of its folder; 0 if there is none."""
    found = target.roots()
    mark = FolderMark.read(found[0]) if found else None
    return 0 if mark is None else mark.position


def _end(
    target: Target, pid: int, rng: Rng, sign: signal.Signals, may_say: str | None = None
) -> None:
    """Let a driver live, and end it; one that ends by itself must have succeeded, or say why."""
    status = _live(target, pid, rng)
    if status is None:
        os.kill(pid, sign)
        status = wait_for(pid, _END_S)
        require(status is not None, f"{sign.name} did not end the driver")
        return
    explained = may_say is not None and may_say in target.said()
    require(status == 0 or explained, f"a driver ended with {status}: {target.said()}")


def _damaged(target: Target, file: Path, rng: Rng) -> None:
    """Damage a file of the log: it is refused, or nothing of what is known is missing."""
    log = target.file or file
    whole = _log_files(log)
    if rng.random() < 0.4:
        file.write_bytes(whole[file][: int(rng.integers(len(whole[file])))])
    else:
        _flip(file, rng)
    log.with_name(f"{log.name}-shm").unlink(missing_ok=True)
    if not _fails(target):
        with read_store(target.where) as reader:
            bodies = [row.body for row in reader.rows()]
        require(bodies[: len(target.known)] == target.known, "events were silently forgotten")
        return
    _put_back(log, whole)


def _log_files(file: Path) -> dict[Path, bytes]:
    """The main file and its write-ahead log, as they are now."""
    names = (file, file.with_name(f"{file.name}-wal"))
    return {path: path.read_bytes() for path in names if path.exists()}


def _fails(target: Target) -> bool:
    """Whether a driver refuses the study; one that has taken it is killed."""
    before = _position(target)
    pid = target.start()
    status, until = None, time.monotonic() + _END_S
    while status is None and _position(target) <= before:
        require(time.monotonic() < until, "a driver neither took nor refused the study")
        status = wait_for(pid, 0.02)
    if status is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return False
    if status == 0:
        return False
    require(
        any(kind in target.said() for kind in ("Damaged", "Misuse", "WrongFolder", "Newer")),
        f"it was not refused, it failed: {target.said()}",
    )
    return True


def _flip(file: Path, rng: Rng) -> None:
    content = bytearray(file.read_bytes())
    if content:
        content[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        file.write_bytes(content)


def _put_back(file: Path, whole: dict[Path, bytes]) -> None:
    """Restore the log as a person would from a copy."""
    for path in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        path.unlink(missing_ok=True)
    for path, content in whole.items():
        path.write_bytes(content)


def new_target(root: Path, seed: int, number: int, server: PostgresServer | None) -> Target:
    """Another study to attack."""
    rng = np.random.default_rng((seed, number, _STUDIES))
    home = root / f"study-{number}"
    home.mkdir()
    on_server = server is not None and rng.random() < 0.4
    where = str(home / "net.db")
    if server is not None and on_server:
        where = f"{server.url}&study=fuzz/{number}"
    token = f"fuzz{secrets.token_hex(6)}"
    workers = int(rng.integers(1, 5))
    return Target(
        where, home, workers, int(rng.integers(1000)), token, server if on_server else None
    )


def attack(root: Path, steps: range, seed: int, server: PostgresServer | None) -> Counter[str]:
    """Attack one study after another; how often each attack was made.

    What a step does follows from the seed and its number alone, so that any of them can be
    repeated without those before it.

    Raises:
        Broken: An invariant does not hold; the message says which, where and after what.
    """
    counts: Counter[str] = Counter()
    number = 0
    target = new_target(root, seed, number, server)
    for step in steps:
        rng = np.random.default_rng((seed, step))
        chosen = ATTACKS[int(rng.integers(len(ATTACKS)))]
        os.environ[TOKEN_VARIABLE] = target.token
        try:
            chosen(target, rng)
            state = target.check()
        except (Broken, Misuse) as error:
            raise Broken(
                f"step {step} ({chosen.__name__}) of --seed {seed} on {target.where} with "
                f"{target.workers} workers: {error}"
            ) from error
        counts[chosen.__name__] += 1
        if step % 10 == 9:
            done = 0 if state is None else state.reports
            print(f"{step + 1} steps, study {number} at {done} units", flush=True)
        if state is not None and not state.open and state.ledger.left < 1:
            number += 1
            target = new_target(root, seed, number, server)
    os.environ.pop(TOKEN_VARIABLE, None)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the step to begin with")
    parser.add_argument("--no-server", action="store_true", help="files only")
    asked = parser.parse_args(arguments)
    root = Path(tempfile.mkdtemp(prefix="bhpt-fuzz-"))
    started = datetime.datetime.now(datetime.UTC)
    server = None
    if not asked.no_server:
        try:
            server = PostgresServer()
            server.start()
        except Unavailable as error:
            print(f"files only: {error}")
    try:
        counts = attack(root, range(asked.first, asked.first + asked.steps), asked.seed, server)
    finally:
        if server is not None:
            server.stop()
            server.remove()
    shutil.rmtree(root)
    took = datetime.datetime.now(datetime.UTC) - started
    made = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{sum(counts.values())} steps ({made}) in {took.seconds} s: every invariant held")
    return 0


if __name__ == "__main__":
    sys.exit(main())
