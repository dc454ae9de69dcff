"""`make bench-scale`: what a unit costs the driver in a short study and in a long one.

Nothing is trained: losses come from a formula, the simulated executor's clock is a number, so all
time that passes is the driver's. A study of n units is made from events (half of the units go to
a new arm, half to one of the best), written to a log, and gone on with; what is measured is the
time from one decision to the next. Compare the lines of one run, not of two runs.

    python -m benchmarks.scale            1,000 and 20,000 units
    python -m benchmarks.scale --quick    1,000 and 4,000 units, fewer repetitions
"""

import argparse
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks import overhead
from bhpt.checkpoints import Seal
from bhpt.domain import Saved, View
from bhpt.domain.budget import Budget
from bhpt.executors import Executor
from bhpt.executors.simulated import SimulatedExecutor
from bhpt.policies.interface import Decision, Policy
from bhpt.policies.registry import make_policy
from bhpt.spaces import Config
from bhpt.storage import create_store
from bhpt.study import Journal, MemoryLog, Study, Training
from bhpt.study.candidates import fresh_arms
from bhpt.study.creation import first_events
from bhpt.study.events import ArmsAdded, Decided, Event, Observed, Outlook
from bhpt.study.folding import apply, fold
from bhpt.study.state import State
from bhpt.tuning import open_study, resume, tune

_EPOCHS = 100
_RANGES = {
    "lr": (1e-5, 1e-1, "log"),
    "batch_size": (16, 512, "log"),
    "momentum": (0.0, 0.99),
    "dropout": (0.0, 0.6),
}
_AT_ONCE = 500  # events of a study that is made, in one transaction
TRAINER = "benchmarks.scale:curve"
_BHPT = str(Path(sys.executable).with_name("bhpt"))


def curve(config: Config) -> Iterator[float]:
    """A trainer that trains for no time."""
    epoch = 0
    while True:
        epoch += 1
        yield loss_at(config, epoch)


def loss_at(config: Config, epoch: int) -> float:
    """A curve that falls towards an end that depends on the configuration."""
    off = abs(math.log10(config["lr"]) + 2.5) / 3 + abs(config["momentum"] - 0.9) / 2
    fall = math.exp(-epoch * (0.05 + float(config["dropout"]) / 10))
    return 0.1 + 0.3 * float(off) + 2.0 * fall


def random_configs(count: int, seed: int) -> list[Config]:
    """Different configurations from the whole space."""
    rng = np.random.default_rng(seed)
    return [
        {
            "lr": float(10 ** rng.uniform(-5, -1)),
            "batch_size": int(2 ** rng.uniform(4, 9)),
            "momentum": float(rng.uniform(0, 0.99)),
            "dropout": float(rng.uniform(0, 0.6)),
        }
        for _ in range(count)
    ]


def events_of(
    units: int,
    arms: int | None,
    policy: str,
    trainer: object = None,
    sealed: Seal | None = None,
    unit_s: float = 1.0,
) -> list[Event]:
    """The log of a study with so many reported units, and budget for as many again.

    Args:
        units: Reported units.
        arms: How many configurations are listed; None for a space that grows, as it does when
            somebody tunes it.
        policy: What the study remembers of its policy.
        trainer: What the study remembers of its trainer.
        sealed: What every checkpoint holds; None for a trainer that makes none.
        unit_s: How long a unit took, about.
    """
    space = _RANGES if arms is None else random_configs(arms, 0)
    budget = Budget.parse(f"{2 * units + 1000} epochs")
    training = Training(1, _EPOCHS)
    spec = None if trainer is None else {"name": trainer}
    log: list[Event] = list(
        first_events(space, budget, training=training, policy=policy, trainer=spec)
    )
    state = fold(log)
    rng = np.random.default_rng(1)
    fresh = rng.permutation(len(state.configs)).tolist()
    good: list[tuple[float, int]] = []
    outlook = tuple(Outlook(k, 0.3, 0.1, 0.2) for k in range(5)) if policy == "default" else ()
    for number in range(units):
        added = fresh_arms(state)
        if added is not None:
            fresh += range(len(state.configs), len(state.configs) + len(added.configs))
            state = _logged(log, state, added)
        arm = _next_arm(rng, fresh, good)
        done, clock = state.count(arm), number + 1.0
        state = _logged(
            log,
            state,
            Decided(number, arm, done, 1, done, 1.0, 1.0, "a benchmark", outlook, clock),
        )
        loss = loss_at(state.configs[arm], done + 1)
        saved = Saved(done + 1, done + 1, sealed.digest, sealed.bytes) if sealed else None
        seconds = unit_s * (1 + arm % 7 / 50)
        told = Observed(number, (loss,), seconds, 0.0, 0, 1.0, saved, clock)
        state = _logged(log, state, told)
        if done + 1 < _EPOCHS:
            insort(good, (loss, arm))
    return log


def _logged(log: list[Event], state: State, event: Event) -> State:
    """The state after one more event, which is logged."""
    log.append(event)
    return apply(state, event)


def _next_arm(rng: np.random.Generator, fresh: list[int], good: list[tuple[float, int]]) -> int:
    """A new arm half of the time, while there are any; else one of the best."""
    if not good or (fresh and rng.random() < 0.5):
        return fresh.pop(0)
    return good.pop(int(rng.integers(min(20, len(good)))))[1]


@dataclass
class Clocked:
    """A policy that notes when it was asked and how long it took; refuses after `limit` asks."""

    policy: Policy
    limit: int
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)

    def decide(self, view: View) -> Decision | None:
        """As the policy does."""
        self.walls.append(time.perf_counter())
        self.cpus.append(time.process_time())
        if len(self.walls) > self.limit:
            return None
        decision = self.policy.decide(view)
        if decision is not None:
            decision.explanation  # noqa: B018  # counts as deciding
        self.took.append(time.process_time() - self.cpus[-1])
        return decision

    def measured(self, first: int) -> "Cost":
        """What was measured, the first few units left out."""
        answered = self.limit + 1  # other workers may ask on after the last unit
        wall = [1e3 * (b - a) for a, b in pairwise(self.walls[:answered])][first:]
        cpu = [1e3 * (b - a) for a, b in pairwise(self.cpus[:answered])][first:]
        took = [1e3 * seconds for seconds in self.took[first:]]
        return Cost(
            statistics.median(wall),
            statistics.median(cpu),
            statistics.fmean(cpu),
            statistics.median(took),
        )


@dataclass(frozen=True)
class Cost:
    """Milliseconds a unit.

    Attributes:
        wall: The median, waiting for the disk included.
        cpu: The median of CPU time: another program on the machine does not change it.
        mean: The mean of CPU time: what happens every few units counts too.
        policy: The part of `cpu` that the policy takes.
    """

    wall: float
    cpu: float
    mean: float
    policy: float

    def __str__(self) -> str:
        return (
            f"{self.wall:8.2f} ms wall; CPU {self.cpu:7.2f} ms, mean {self.mean:7.2f} ms, "
            f"policy {self.policy:7.2f} ms"
        )


_WARM = 15  # units before anything is measured: imports, first fits


def ask_tell(study: Study) -> None:
    """Ask and tell until the policy refuses."""
    while (unit := study.ask()) is not None:
        study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0)


def in_memory(events: Sequence[Event], policy: str, units: int) -> Cost:
    """Ask and tell, nothing is stored."""
    clocked = Clocked(make_policy(policy), _WARM + units)
    ask_tell(Study.resume(MemoryLog(events), clocked))
    return clocked.measured(_WARM)


def turn_by_turn(studies: Sequence[tuple[Study, Clocked]], units: int) -> list[Cost]:
    """Ask and tell, a unit of each study in turn: what else the machine does slows all alike."""
    spans: list[list[tuple[float, float]]] = [[] for _ in studies]
    for _ in range(_WARM + units):
        for (study, _), own in zip(studies, spans, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            unit = study.ask()
            if unit is None:
                raise RuntimeError("the study ended before it was measured")
            study.tell(unit, loss_at(unit.config, unit.done + 1), seconds=1.0)
            own.append((time.perf_counter() - wall, time.process_time() - cpu))
    costs = []
    for (_, clocked), own in zip(studies, spans, strict=True):
        walls, cpus = zip(*own[_WARM:], strict=True)
        wall, cpu = 1e3 * statistics.median(walls), 1e3 * statistics.median(cpus)
        took = 1e3 * statistics.median(clocked.took[_WARM:])
        costs.append(Cost(wall, cpu, 1e3 * statistics.fmean(cpus), took))
    return costs


def both_in_memory(logs: Sequence[Sequence[Event]], policy: str, units: int) -> list[Cost]:
    """Ask and tell, nothing is stored."""
    clocks = [Clocked(make_policy(policy), _WARM + units) for _ in logs]
    studies = [
        Study.resume(MemoryLog(log), clocked) for log, clocked in zip(logs, clocks, strict=True)
    ]
    return turn_by_turn(list(zip(studies, clocks, strict=True)), units)


def both_in_sqlite(
    logs: Sequence[Sequence[Event]], policy: str, units: int, folder: Path
) -> list[Cost]:
    """Ask and tell, with a store."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder)))
        studies = []
        for number, log in enumerate(logs):
            file = place / f"asked-{number}.db"
            create_store(file, log).close()
            clocked = Clocked(make_policy(policy), _WARM + units)
            studies.append((stack.enter_context(open_study(file, clocked)), clocked))
        return turn_by_turn(studies, units)


def in_the_loop(events: Sequence[Event], policy: str, units: int, folder: Path) -> Cost:
    """The whole driver with a store and the simulated executor."""
    with tempfile.TemporaryDirectory(dir=folder) as place:  # its checkpoints alone
        file = Path(place) / "driven.db"
        create_store(file, events).close()
        clocked = Clocked(make_policy(policy), _WARM + units)
        resume(file, policy=clocked, executor=simulated(events), trust=True)
    return clocked.measured(_WARM)


def simulated(events: Sequence[Event]) -> Callable[..., Executor]:
    """Makes an executor that knows the curves of every arm, whenever it was added."""
    configs = [one for event in events if isinstance(event, ArmsAdded) for one in event.configs]
    extra = random_configs(1, 0)[0]

    def losses(arm: int, epoch: int) -> float:
        return loss_at(configs[arm] if arm < len(configs) else extra, epoch)

    def make(*_: object) -> Executor:
        return SimulatedExecutor(losses, 1.0, freezes=False)

    return make


def in_processes(policy: str, units: int, folder: Path) -> Cost:
    """A new study with one real worker process; nothing is waited for but the worker's answer."""
    clocked = Clocked(make_policy(policy), _WARM + units)
    tune(curve, random_configs(100, 0), "1000000 epochs", 1, folder / "real.db",
         policy=clocked, max_epochs=_EPOCHS)  # fmt: skip
    return clocked.measured(_WARM)


@dataclass(frozen=True)
class Used:
    """What a command used: wall-clock and CPU seconds, most memory in MB."""

    wall_s: float
    cpu_s: float
    peak_mb: float

    def __str__(self) -> str:
        return f"{self.wall_s:6.2f} s wall {self.cpu_s:6.2f} s CPU {self.peak_mb:6.0f} MB"


def command(*words: str) -> Used:
    """Run a command of Python to its end."""
    started = time.perf_counter()
    child = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{' '.join(words)} ended with {child.returncode}")
    cpu = used.ru_utime + used.ru_stime
    return Used(time.perf_counter() - started, cpu, used.ru_maxrss / 1024)


def say(text: str) -> None:
    print(text, flush=True)


def growth(label: str, costs: Sequence[Cost], sizes: Sequence[int]) -> None:
    """Print what a unit costs at each length, and the ratio of the last to the first."""
    for units, cost in zip(sizes, costs, strict=True):
        say(f"{label:34} at {units:6} units {cost}")
    last, first = costs[-1], costs[0]
    say(
        f"{label:34} {sizes[-1]} to {sizes[0]} units: {last.wall / first.wall:.2f} times wall, "
        f"{last.cpu / first.cpu:.2f} CPU, {last.mean / first.mean:.2f} mean CPU"
    )


def driver_time(sizes: Sequence[int], more: int, folder: Path, policies: Sequence[str]) -> None:
    """Driver milliseconds a unit, by policy, by kind of space, by kind of loop."""
    for policy in policies:
        for arms, kind in ((1000, "1,000 listed arms"), (None, "open space")):
            logs = [events_of(units, arms, policy) for units in sizes]
            label = f"{policy}, {kind}"
            growth(f"{label}, ask/tell", both_in_memory(logs, policy, more), sizes)
            stored = both_in_sqlite(logs, policy, more, folder)
            growth(f"{label}, ask/tell+SQLite", stored, sizes)
            logs = [events_of(units, arms, policy, TRAINER) for units in sizes]
            driven = [in_the_loop(log, policy, more, folder) for log in logs]
            growth(f"{label}, driver+SQLite", driven, sizes)


def decisions(more: int) -> None:
    """What a decision of `default` costs by the number of arms, 2,000 units into a study."""
    for arms in (100, 1000):
        cost = in_memory(events_of(2000, arms, "default"), "default", more)
        say(f"default, {arms:5} arms, 2,000 units: {cost}")


def commands(units: int, folder: Path) -> None:
    """What looking at a study costs, and going on with it."""
    for arms, kind in ((1000, "1,000 listed arms"), (None, "open space")):
        file = folder / f"study-{arms}.db"
        make = (
            f"from benchmarks.scale import make_study; make_study({str(file)!r}, {units}, {arms})"
        )
        command("-c", make)  # in a process of its own: a command's memory counts from its parent's
        say(f"{units} units, {kind}: {file.stat().st_size / 1e6:.0f} MB")
        out = str(folder / "out")
        for words in (
            ("status", str(file)),
            ("export", str(file), "--out", out),
            ("export", str(file), "--rows", "arms", "--out", out),
            ("export", str(file), "--format", "json", "--out", out),
        ):
            shown = " ".join(word for word in words if word not in {str(file), out, "--out"})
            say(f"  bhpt {shown:24} {command(_BHPT, *words)}")
        used = command("-m", "benchmarks.scale", "--resume", str(file))
        say(f"  {'resume to the first unit':29} {used}")


def make_study(file: str, units: int, arms: int | None) -> None:
    """Write a long study to a file as a driver does, which stores its state now and then."""
    record_events(Path(file), events_of(units, arms, "default", TRAINER))


def record_events(file: Path, events: Sequence[Event]) -> None:
    """Write the log of a study to a file, with stored states."""
    with create_store(file, events[:_AT_ONCE]) as store:
        journal = Journal(store)
        for start in range(_AT_ONCE, len(events), _AT_ONCE):
            journal.record(*events[start : start + _AT_ONCE])


def start_up() -> None:
    """What starting the program costs."""
    for words in (("-c", "import bhpt"), (_BHPT, "--help")):
        best = min((command(*words) for _ in range(3)), key=lambda used: used.cpu_s)
        say(f"{Path(words[0]).name} {' '.join(words[1:]):20} {best}")


def resume_only(file: str) -> None:
    """Go on with a study until its first decision."""
    resume(file, policy=Clocked(make_policy("random"), 0), executor=simulated([]), trust=True)


def peak_mb() -> float:
    """The most memory that this process has used."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shorter studies, fewer units")
    parser.add_argument(
        "--only",
        nargs="*",
        default=[],
        help="driver, decisions, commands, start, busy",
    )
    parser.add_argument("--policies", nargs="*", default=["random", "default"])
    parser.add_argument("--sizes", nargs="*", type=int, help="units, shortest study first")
    parser.add_argument("--units", type=int, help="units that are measured in each")
    parser.add_argument("--resume", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.resume:
        resume_only(asked.resume)
        return
    sizes = asked.sizes or ([1000, 4000] if asked.quick else [1000, 20000])
    more = asked.units or (40 if asked.quick else 100)
    parts = set(asked.only) or {"start", "driver", "decisions", "commands", "busy"}
    Path("runs").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bhpt-scale-", dir="runs") as name:
        folder = Path(name)
        if "start" in parts:
            start_up()
        if "commands" in parts:
            commands(sizes[-1], folder)
        if "decisions" in parts:
            decisions(more)
        if "driver" in parts:
            driver_time(sizes, more, folder, asked.policies)
            say(f"{'real worker process, random':34} {in_processes('random', more, folder)}")
            say(f"most memory of the benchmark itself: {peak_mb():.0f} MB")
        if "busy" in parts:
            overhead.busy_shares(10, "default")


if __name__ == "__main__":
    main()
