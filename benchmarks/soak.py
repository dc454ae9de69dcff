"""`make soak`: kill a driver at random, hundreds of times, and compare with the uninterrupted run.

Every life of the driver is a process of its own that opens the study, goes on and is killed by
SIGKILL at a random moment: while it opens the store, decides, writes, trains, freezes or removes
checkpoints. After every kill the invariants (a), (b), (d) and (e) are checked, at the end (c): the
same decisions and the same result as the run that nobody killed.

Two legs: over a table and a virtual clock, and with real worker processes. Drivers are forked
from this process, which has everything imported already; otherwise most kills would hit imports.
"""

import argparse
import math
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bhpt.beliefs.freeze_thaw.belief import FreezeThaw
from bhpt.beliefs.freeze_thaw.hypers import LOG_PRIORS, Hypers
from bhpt.executors import Executor, SimulatedExecutor
from bhpt.executors.guard import TOKEN_VARIABLE, members
from bhpt.policies.interface import Policy
from bhpt.policies.next_unit import NextUnit
from bhpt.policies.registry import OUR_BELIEF
from bhpt.storage import open_store, read_store
from bhpt.study import State, fold
from bhpt.study.events import Decided, Event, Observed
from bhpt.trainers.specs import TrainerSpec
from bhpt.tuning import Options, resume, tune
from bhpt.tuning.executor_choice import local_executor
from bhpt.tuning.session_setup import ExecutorFactory

_ARMS = 6
_EPOCHS = 400  # that an arm may train: far more than it gets
_LONGEST_WAIT_S = 60.0
_GONE_S = 20.0  # how long the guard of a killed driver may take to end its workers


class Broken(AssertionError):
    """An invariant does not hold."""


def loss_at(x: float, epoch: int) -> float:
    """A deterministic learning curve with some life in it."""
    return abs(x - 0.4) + math.exp(-epoch / (4 + 20 * x)) + 0.01 * math.sin(epoch * (3 + x))


class Curve:
    """A trainer that is told what to say."""

    def __init__(self, config: dict[str, float]) -> None:
        self._x = config["x"]
        self._epoch = 0

    def step(self) -> float:
        """The next loss of the curve."""
        self._epoch += 1
        return loss_at(self._x, self._epoch)

    def save(self, folder: Path) -> None:
        """The epoch is all there is."""
        (folder / "epoch").write_text(str(self._epoch))

    def load(self, folder: Path) -> None:
        """Go on from there."""
        self._epoch = int((folder / "epoch").read_text())


CONFIGS = [{"x": arm / (_ARMS - 1)} for arm in range(_ARMS)]


def simulated(trainer: TrainerSpec, workers: int, logs: Path, options: Options) -> Executor:
    """The same curves from a table, in no time."""
    del trainer, logs, options

    def losses(arm: int, epoch: int) -> float:
        return loss_at(CONFIGS[arm]["x"], epoch)

    return SimulatedExecutor(losses, 0.2, workers)


def policy() -> Policy:
    """A rule under a belief that is given, not sampled: it decides in milliseconds."""
    structure, scale = OUR_BELIEF
    theta, _ = LOG_PRIORS.moments(structure, features=1)
    given = Hypers.from_theta(theta, LOG_PRIORS.mean[0])
    return NextUnit(FreezeThaw(structure, scale, given))


@dataclass(frozen=True)
class Leg:
    """One way to run the study.

    Attributes:
        name: For the printed lines.
        make: Where units run.
        budget: Epochs, one a unit.
        kills: How many at least.
    """

    name: str
    make: ExecutorFactory
    budget: int
    kills: int

    def run(self, file: Path, seed: int) -> None:
        """Start the study, or go on with it."""
        options = Options(grace_s=1.0)
        if file.exists():
            resume(file, policy=policy(), options=options, executor=self.make)
            return
        tune(
            Curve,
            CONFIGS,
            f"{self.budget} epochs",
            1,
            file,
            seed,
            max_epochs=_EPOCHS,
            policy=policy(),
            options=options,
            executor=self.make,
        )


@dataclass
class Pace:
    """How long to let a driver live, so that the kills spread over the whole study.

    Attributes:
        start_s: What it takes from the start of a driver to its first report.
        unit_s: What a unit takes.
    """

    start_s: float
    unit_s: float
    _lives: list[tuple[float, int]] = field(default_factory=list)

    def draw(self, rng: np.random.Generator, units_left: int, kills_left: int) -> float:
        """A random moment, now and then while the driver still starts."""
        wanted = units_left / (kills_left + 1)
        longest = self.start_s + 0.8 * units_left * self.unit_s
        return float(rng.uniform(0.0, min(2 * (self.start_s + wanted * self.unit_s), longest)))

    def learn(self, lived_s: float, units: int) -> None:
        """Correct the guess after a life."""
        self._lives = [*self._lives[-19:], (lived_s, units)]
        seconds = sum(lived for lived, _ in self._lives)
        trained = sum(units for _, units in self._lives)
        spare = seconds - trained * self.unit_s
        self.start_s = min(max(0.01, spare / len(self._lives)), _LONGEST_WAIT_S)


def spawn(work: Callable[[], None], log: Path) -> int:
    """Run `work` in a process of its own session; its number."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        work()
        status = 0
    except BaseException as error:  # noqa: BLE001  # the parent reads it in the log
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)


def wait_for(pid: int, seconds: float) -> int | None:
    """The exit status of a child, None if it still runs after so long."""
    until = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        left = until - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(left, 0.005))


def essence(events: Sequence[Event]) -> list[tuple[object, ...]]:
    """Decisions and reports, without clocks."""
    return [
        ("decided", e.attempt, e.arm, e.index, e.epochs, e.done, e.cost, e.why)
        if isinstance(e, Decided)
        else ("observed", e.attempt, e.losses, e.cost, e.rerun, e.saved)
        for e in events
        if isinstance(e, Decided | Observed)
    ]


def check(file: Path, token: str, acknowledged: int) -> State:
    """Invariants (a), (b), (d) and (e) after a kill.

    Args:
        file: The study.
        token: Mark of all processes that drivers of this run have started.
        acknowledged: Reports that were there after the last kill.
    """
    with read_store(file) as reader:  # (e): opening runs the integrity check and the digests
        state = fold(reader.read())
    require_sums(state)
    require(state.reports >= acknowledged, "(b) an acknowledged report is gone")
    require(_all_gone(token), f"(d) processes are left: {members(token)}")
    return state


def require(holds: bool, what: str) -> None:
    """Raise `Broken` unless something holds."""
    if not holds:
        raise Broken(what)


def require_sums(state: State) -> None:
    """Invariants (a) and (b): the ledger is the sum of all attempts, every unit is there once."""
    ledger = state.ledger
    paid = math.fsum(one.cost for one in state.attempts)
    require(abs(ledger.spent - paid) < 1e-6, f"(a) spent {ledger.spent}, but attempts {paid}")
    promised = ledger.spent + ledger.reserved
    require(promised <= ledger.budget.amount + 1e-9, f"(a) {promised} of {ledger.budget} promised")
    units = [(a.unit.arm, a.unit.index) for a in state.attempts if a.status == "observed"]
    require(len(set(units)) == len(units) == state.reports, "(b) a unit is there twice")


def _all_gone(token: str) -> bool:
    """Whether no worker is left, once the guard of the dead driver has had its time."""
    until = time.monotonic() + _GONE_S
    while members(token):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def uninterrupted(leg: Leg, folder: Path, seed: int, token: str) -> tuple[list[Event], Pace]:
    """The events of the run that nobody kills, and how long it took."""
    file = folder / "whole.db"
    started = time.monotonic()
    status = wait_for(spawn(lambda: leg.run(file, seed), folder / "log"), 3600)
    require(status == 0, f"the uninterrupted run ended with {status}: {_said(folder)}")
    seconds = time.monotonic() - started
    state = check(file, token, 0)
    with read_store(file) as reader:
        return reader.read(), Pace(0.1, seconds / max(1, state.reports))


def tormented(leg: Leg, folder: Path, seed: int, token: str, pace: Pace, kills: int) -> int:
    """Run the same study with kills to its end; how many there were."""
    file = folder / "killed.db"
    rng = np.random.default_rng((seed, leg.kills))
    done = reports = 0
    while True:
        wait_s = pace.draw(rng, leg.budget - reports, kills - done)
        if done >= kills:
            wait_s = 3600.0
        pid = spawn(lambda: leg.run(file, seed), folder / "log")
        status = wait_for(pid, wait_s)
        if status is None:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            done += 1
        elif status != 0:
            raise Broken(f"a driver ended with {status}: {_said(folder)}")
        if not file.exists():
            continue
        state = check(file, token, reports)
        if status is None:
            pace.learn(wait_s, state.reports - reports)
        reports = state.reports
        if done % 10 == 0 or status == 0:
            print(f"{leg.name}: {done} kills, {reports} of {leg.budget} units", flush=True)
        if status == 0:
            return done


def torment(leg: Leg, root: Path, seed: int) -> int:
    """Kill until there were enough, one study after another if one does not last."""
    token = f"soak{secrets.token_hex(6)}"
    os.environ[TOKEN_VARIABLE] = token
    killed = 0
    while killed < leg.kills:
        folder = root / f"{leg.name}-{seed}"
        folder.mkdir()
        whole, pace = uninterrupted(leg, folder, seed, token)
        killed += tormented(leg, folder, seed, token, pace, leg.kills - killed)
        with read_store(folder / "killed.db") as reader:
            events = reader.read()
        require(essence(events) == essence(whole), "(c) other decisions than uninterrupted")
        require(fold(events).best == fold(whole).best, "(c) another result than uninterrupted")
        open_store(folder / "killed.db").close()  # nobody holds it
        seed += 1
    del os.environ[TOKEN_VARIABLE]
    return killed


def _said(folder: Path) -> str:
    lines = (folder / "log").read_text().splitlines()
    return lines[-1] if lines else "nothing was said"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="over a table")
    parser.add_argument("--worker-kills", type=int, default=20, help="with real workers")
    parser.add_argument("--units", type=int, default=400, help="of the study over a table")
    parser.add_argument("--worker-units", type=int, default=60, help="with real workers")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    legs = (
        Leg("table", simulated, asked.units, asked.kills),
        Leg("workers", local_executor, asked.worker_units, asked.worker_kills),
    )
    root = Path(tempfile.mkdtemp(prefix="bhpt-soak-"))
    started = time.monotonic()
    killed = {leg.name: torment(leg, root, asked.seed) for leg in legs}
    shutil.rmtree(root)
    counts = ", ".join(f"{count} over {name}" for name, count in killed.items())
    print(
        f"{sum(killed.values())} kills ({counts}) in {time.monotonic() - started:.0f} s: "
        "invariants held after each, decisions and result as uninterrupted"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
