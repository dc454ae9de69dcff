"""`make bench-cluster`: what a driver of 256 workers, 10,000 arms and 100,000 units needs.

Nothing is trained: losses come from a formula, and the clock of the simulated workers is a number.
The driver is the real one, with its store, its checkpoints and its policy; what the stand-in for
the workers uses is told apart. A unit takes a minute on average, the longest seven times the
shortest. The driver may use 5% of the time for which the workers are busy: 11.7 ms for a unit.

    python -m benchmarks.cluster            some units of studies of 5,000, 20,000, 100,000 units
    python -m benchmarks.cluster --whole    a study of 100,000 units from its first to its last
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from benchmarks.scale import TRAINER, events_of, loss_at, random_configs, record_events
from bhpt.checkpoints import seal
from bhpt.domain import View
from bhpt.domain.budget import Budget
from bhpt.executors import Job, Report, Running
from bhpt.executors.simulated import SimulatedExecutor
from bhpt.policies.interface import Decision, Policy
from bhpt.policies.registry import make_policy
from bhpt.spaces import Config
from bhpt.storage import create_store
from bhpt.study import Training
from bhpt.study.creation import first_events
from bhpt.study.events import Decided, Event, Observed
from bhpt.tuning import resume

_WORKERS, _ARMS, _UNITS, _EPOCHS = 256, 10_000, 100_000, 100
_UNIT_S = 60.0  # on the virtual clock, on average
_WARM = 300  # units before anything is measured: then all workers are busy
_STEPS = 20  # lines about a whole study

T = TypeVar("T")


class Cluster(SimulatedExecutor):
    """256 workers whose units take unequally long, and what it costs to play them.

    Checkpoints are sealed here, as workers do, and any is gone on from: those of a study that was
    made are all alike.

    Args:
        configs: Of all arms.

    Attributes:
        cpu_s: CPU seconds that playing the workers has taken.
    """

    def __init__(self, configs: Sequence[Config]) -> None:
        super().__init__(
            lambda arm, epoch: loss_at(configs[arm], epoch),
            lambda arm, _epoch: _UNIT_S * (0.25 + 1.5 * (arm % 101) / 100),
            slots=_WORKERS,
        )
        self.cpu_s = 0.0
        self._folders: dict[int, Path] = {}

    def submit(self, job: Job) -> float:
        """As of the simulated workers."""
        self._folders[job.attempt] = job.freeze_to
        return self._timed(lambda: super(Cluster, self).submit(job))

    def poll(self, timeout: float | None = None) -> list[Report]:
        """As of the simulated workers; checkpoints are sealed."""
        return self._timed(lambda: self._sealed(super(Cluster, self).poll(timeout)))

    def running(self) -> tuple[Running, ...]:
        """As of the simulated workers."""
        return self._timed(super().running)

    def _sealed(self, reports: list[Report]) -> list[Report]:
        for report in reports:
            seal(self._folders.pop(report.attempt))
        return reports

    def _timed(self, call: Callable[[], T]) -> T:
        began = time.process_time()
        try:
            return call()
        finally:
            self.cpu_s += time.process_time() - began

    def _check_resume(self, job: Job) -> None:
        pass


@dataclass
class Metered:
    """A policy that notes what its driver has used whenever it is asked.

    Args:
        policy: Decides.
        cluster: Whose CPU time is not the driver's.
        limit: Units to decide on.
        every: Units between two notes.
    """

    policy: Policy
    cluster: Cluster
    limit: int
    every: int
    asked: int = 0
    refused: bool = False
    notes: list["Note"] = field(default_factory=list)
    heard: Callable[["Note"], None] = lambda _: None

    def decide(self, view: View) -> Decision | None:
        """As the policy does, up to the limit."""
        if self.refused:
            return None
        self.refused = self.asked == self.limit
        if self.refused or self.asked % self.every == 0:
            self.note()
        if self.refused:
            return None
        self.asked += 1
        return self.policy.decide(view)

    def note(self) -> None:
        """Note what was used so far."""
        cpu = time.process_time() - self.cluster.cpu_s
        note = Note(self.asked, cpu, self.cluster.cpu_s, self.cluster.now(), memory_mb("VmRSS"))
        self.notes.append(note)
        self.heard(note)


@dataclass(frozen=True)
class Note:
    """What a driver has used.

    Attributes:
        units: Decided so far.
        cpu_s: CPU seconds of the driver.
        played_s: CPU seconds of the stand-in for its workers.
        clock_s: The workers' clock.
        memory_mb: Memory in use.
    """

    units: int
    cpu_s: float
    played_s: float
    clock_s: float
    memory_mb: float

    def each_ms(self, since: "Note") -> float:
        """CPU milliseconds of the driver for a unit since an earlier note."""
        return 1e3 * (self.cpu_s - since.cpu_s) / max(self.units - since.units, 1)


def memory_mb(what: str) -> float:
    """Memory of this process: `VmRSS` now, `VmHWM` at most; both begin with this program."""
    line = next(row for row in Path("/proc/self/status").read_text().splitlines() if what in row)
    return float(line.split()[1]) / 1024


def make_study(units: int, policy: str, folder: Path) -> None:
    """A study that has so many units behind it, with a store, stored states and checkpoints."""
    files = folder / "one" / "files"
    files.mkdir(parents=True)
    (files / "weights").write_bytes(b"0" * 1000)
    events = events_of(units, _ARMS, policy, TRAINER, seal(files), _UNIT_S)
    record_events(folder / "study.db", events)
    _write_checkpoints(files.parent, events, folder / "study.db.files" / "checkpoints")


def _write_checkpoints(one: Path, events: Sequence[Event], root: Path) -> None:
    """The newest two checkpoints of every arm, all alike: names for the same few bytes."""
    arm_of = {event.attempt: event.arm for event in events if isinstance(event, Decided)}
    newest: dict[int, int] = {}
    for event in events:
        if isinstance(event, Observed):
            newest[arm_of[event.attempt]] = newest.get(arm_of[event.attempt], 0) + 1
    for arm, count in newest.items():
        for generation in range(max(1, count - 1), count + 1):
            target = root / f"arm-{arm:06d}" / f"gen-{generation:06d}"
            (target / "files").mkdir(parents=True)
            for name in ("manifest.json", "files/weights"):
                os.link(one / name, target / name)


def go_on(policy: str, more: int, folder: Path) -> None:
    """Go on with a study that was made; the last line of the output is read by `sample`."""
    cluster = Cluster(random_configs(_ARMS, 0))
    metered = Metered(make_policy(policy), cluster, _WARM + more, every=_WARM)
    before = memory_mb("VmRSS")
    resume(folder / "study.db", workers=_WORKERS, policy=metered,
           executor=lambda *_: cluster, trust=True)  # fmt: skip
    first, last = metered.notes[1], metered.notes[-1]
    played = 1e3 * (last.played_s - first.played_s) / more
    most = max(memory_mb("VmHWM"), last.memory_mb)  # the kernel's counts lag a little
    memory = last.memory_mb - before, most - before
    say(" ".join(map(str, (last.each_ms(first), played, *memory))))


def sample(sizes: Sequence[int], more: int, policy: str) -> None:
    """What a unit costs a driver, and its memory, by how long its study is already."""
    say(f"{policy}, {_WORKERS} workers, {_ARMS} arms, {more} units of {_UNIT_S:.0f} s at each:")
    for units in sizes:
        with tempfile.TemporaryDirectory(prefix="bhpt-cluster-", dir="runs") as folder:
            words = ("--policy", policy, "--units", str(more), "--folder", folder)
            _child("--make", str(units), *words)
            each, played, now, most = map(float, _child("--go-on", *words).split())
        line = f"  at {units:6} units: driver {each:5.2f} ms CPU a unit, {share(each):4.2f}% of "
        say(f"{line}the run (simulated workers {played:.2f} ms), {now:.0f} MB, at most {most:.0f}")


def _child(*words: str) -> str:
    """The last line of a process of its own: memory of one study does not count for the next."""
    command = [sys.executable, "-m", "benchmarks.cluster", *words]
    child = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return child.stdout.strip().rpartition("\n")[2]


def share(each_ms: float) -> float:
    """Per cent of a run that so many milliseconds a unit are, while all workers are busy."""
    return 100 * each_ms / 1e3 * _WORKERS / _UNIT_S


def whole_study(units: int, policy: str, folder: Path) -> None:
    """A study from its first unit to its last."""
    file, configs = folder / "whole.db", random_configs(_ARMS, 0)
    training = Training(1, _EPOCHS)
    create_store(
        file,
        first_events(configs, Budget(units), training=training, policy=policy, workers=_WORKERS,
                     trainer={"name": TRAINER}),
    ).close()  # fmt: skip
    cluster = Cluster(configs)
    metered = Metered(make_policy(policy), cluster, units, max(units // _STEPS, 1))
    before = memory_mb("VmRSS")

    def heard(note: Note) -> None:
        if note.units:
            begun, last = metered.notes[0], metered.notes[-2]
            used = 100 * (note.cpu_s - begun.cpu_s) / max(note.clock_s, _UNIT_S)
            say(f"  {note.units:6} units: the last {note.each_ms(last):5.2f} ms CPU each, "
                f"{used:4.2f}% of {note.clock_s / 3600:.1f} h so far, "
                f"{note.memory_mb - before:4.0f} MB")  # fmt: skip

    metered.heard = heard
    say(f"{policy}, {_WORKERS} workers, {_ARMS} arms, {units} units of {_UNIT_S:.0f} s:")
    found = resume(file, workers=_WORKERS, policy=metered,
                   executor=lambda *_: cluster, trust=True)  # fmt: skip
    _sum_up(metered, before)
    say(f"  {found.status}: {file.stat().st_size / 1e6:.0f} MB of log")


def _sum_up(metered: Metered, before: float) -> None:
    """The whole run: CPU for a unit, share of the run, memory and how it grows."""
    first, last = metered.notes[0], metered.notes[-1]
    late = [note for note in metered.notes if 2 * note.units >= last.units]
    grows = np.polyfit([note.units for note in late], [note.memory_mb for note in late], 1)[0]
    used = 100 * (last.cpu_s - first.cpu_s) / last.clock_s
    played = 1e3 * last.played_s / max(last.units, 1)
    say(f"  in all {last.each_ms(first):5.2f} ms CPU a unit, {used:4.2f}% of the run (simulated "
        f"workers {played:4.2f} ms); at most {memory_mb('VmHWM') - before:.0f} MB, "
        f"{grows * 2**20:.0f} bytes more with each unit of the second half")  # fmt: skip


def say(text: str) -> None:
    print(text, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="cluster", description=__doc__)
    parser.add_argument("--policy", default="default")
    parser.add_argument("--sizes", nargs="*", type=int, default=[5000, 20_000, _UNITS])
    parser.add_argument("--units", type=int, default=1000, help="units that are measured in each")
    parser.add_argument("--whole", nargs="?", type=int, const=_UNITS, help="units of one study")
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--go-on", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    Path("runs").mkdir(exist_ok=True)
    if asked.make:
        make_study(asked.make, asked.policy, asked.folder)
    elif asked.go_on:
        go_on(asked.policy, asked.units, asked.folder)
    elif asked.whole:
        with tempfile.TemporaryDirectory(prefix="bhpt-cluster-", dir="runs") as folder:
            whole_study(asked.whole, asked.policy, Path(folder))
    else:
        sample(asked.sizes, asked.units, asked.policy)


if __name__ == "__main__":
    main()
