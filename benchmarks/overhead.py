"""`make bench-overhead`: what a unit that trains for no time costs the driver, and busy workers.

A whole study with 100 arms under the default policy: SQLite on the disk with full
synchronisation, one real worker process, a class that saves a small checkpoint. Driver time is
everything but waiting for the worker; beside it stands the time of one fsync on the same disk,
measured in the same run, because that is what a report and a checkpoint cannot do without.

Then how much of the time workers train under a deadline, where an epoch sleeps for 5, 17 and 100
ms: the sum of what these epochs took over the time of all workers, from the first report to the
last.
A sleep ends late by as much as the system likes; the trainer measures each, and reports it.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bhpt.checkpoints import CheckpointStore
from bhpt.domain import View
from bhpt.executors import LocalExecutor
from bhpt.policies.interface import Decision, Policy
from bhpt.policies.registry import make_policy
from bhpt.storage import Store, read_store
from bhpt.study.events import Observed
from bhpt.tuning import tune

_ARMS = 100
_FIRST = 10  # units left out: imports and caches
_SYNCS = 40  # writes that the time of one is the median of


class Nothing:
    """A trainer that trains for no time."""

    def __init__(self, config: dict[str, float]) -> None:
        self._x = config["x"]
        self._epoch = 0

    def step(self) -> float:
        """A falling curve."""
        self._epoch += 1
        return abs(self._x - 0.3) + 1.0 / self._epoch

    def save(self, folder: Path) -> None:
        """The epoch is all there is."""
        (folder / "epoch").write_text(str(self._epoch))

    def load(self, folder: Path) -> None:
        """Go on from there."""
        self._epoch = int((folder / "epoch").read_text())


class Sleeper(Nothing):
    """A trainer whose epochs sleep as long as its configuration says."""

    def __init__(self, config: dict[str, float]) -> None:
        first = min(name for name in config if name != "ms")
        super().__init__({"x": config[first]})
        self._seconds = config["ms"] / 1000

    def step(self) -> dict[str, float]:  # type: ignore[override]  # metrics instead of a loss
        """A falling curve, slowly, and how slowly."""
        began = time.perf_counter()
        time.sleep(self._seconds)
        return {"loss": super().step(), "seconds": time.perf_counter() - began}


@dataclass
class Clock:
    """Seconds by what they went into, innermost part only, a row a unit."""

    rows: list[dict[str, float]] = field(default_factory=lambda: [defaultdict(float)])
    _inner: list[float] = field(default_factory=list)

    def measured(self, part: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """`work`, with its own time counted as `part`."""

        def timed(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # whatever it takes
            self._inner.append(0.0)
            started = time.perf_counter()
            try:
                return work(*arguments, **options)
            finally:
                took = time.perf_counter() - started
                self.rows[-1][part] += took - self._inner.pop()
                if self._inner:
                    self._inner[-1] += took

        return timed

    def instrument(self, owner: type, part: str, names: Sequence[str]) -> None:
        """Count these methods as `part`."""
        for name in names:
            setattr(owner, name, self.measured(part, getattr(owner, name)))


@dataclass(frozen=True)
class Timed:
    """A policy whose decisions are counted; each begins a new row."""

    policy: Policy
    clock: Clock

    def decide(self, view: View) -> Decision | None:
        """As the policy does."""
        return self.clock.measured("decision", self.policy.decide)(view)  # type: ignore[no-any-return]


def fsync_s(folder: Path) -> float:
    """The median time of one small write with its fsync."""
    took = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(_SYNCS):
            started = time.perf_counter()
            file.write(b"x" * 512)
            os.fsync(file.fileno())
            took.append(time.perf_counter() - started)
    return statistics.median(took)


def measure(units: int, folder: Path) -> list[dict[str, float]]:
    """The parts of every unit's driver time, in seconds."""
    clock = Clock()
    clock.instrument(Store, "store", ["append", "renew"])
    clock.instrument(CheckpointStore, "checkpoint", ["begin", "commit", "settled", "thaw"])
    clock.instrument(CheckpointStore, "sweep", ["sweep"])
    clock.instrument(LocalExecutor, "wait", ["_wait"])
    clock.instrument(LocalExecutor, "submit", ["submit"])
    ends: list[float] = [time.perf_counter()]
    commit = CheckpointStore.commit

    def next_row(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401  # whatever it takes
        now = time.perf_counter()
        clock.rows[-1]["all"] = now - ends[-1]
        ends.append(now)
        clock.rows.append(defaultdict(float))
        return commit(*arguments, **options)

    CheckpointStore.commit = next_row  # type: ignore[method-assign]
    configs = [{"x": arm / (_ARMS - 1)} for arm in range(_ARMS)]
    policy = Timed(make_policy("default"), clock)
    tune(Nothing, configs, f"{units} epochs", 1, folder / "study.db", policy=policy)
    return clock.rows[_FIRST:-1]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="overhead", description=__doc__)
    parser.add_argument("--units", type=int, default=120)
    parser.add_argument("--seconds", type=int, default=10, help="of each deadline; 0 for none")
    parser.add_argument("--policy", default="default", help="under the deadlines")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bhpt-overhead-", dir=".") as name:
        folder = Path(name)
        before = fsync_s(folder)
        rows = measure(asked.units, folder)
        sync = statistics.median([before, fsync_s(folder)])
    report(rows, sync)
    if asked.seconds:
        busy_shares(asked.seconds, asked.policy)


def busy_shares(seconds: int, policy: str) -> None:
    """Print how much of the time workers train, by how long an epoch takes."""
    print(f"share of time in which workers train, deadline {seconds} s, {policy}")
    heads = (f"{head:>9}" for head in ("workers", "share", "epochs", "units"))
    print(f"{'epoch':>8}" + "".join(heads) + f"{'unit at the end':>17}  names")
    for names in (("learning_rate", "momentum", "dropout"), ("x", "y", "z")):
        for ms in (5, 17, 100):
            for workers in (1, 2):
                busy(ms, workers, seconds, policy, names)


def busy(
    ms: int,
    workers: int,
    seconds: int,
    policy: str,
    names: Sequence[str] = ("learning_rate", "momentum", "dropout"),
) -> None:
    """Run a study under a deadline and print how much of the time its workers trained."""
    space = {**dict.fromkeys(names, (0.001, 0.9)), "ms": [ms]}
    with tempfile.TemporaryDirectory(prefix="bhpt-overhead-", dir=".") as name:
        study = Path(name) / "study.db"
        state = tune(Sleeper, space, f"{seconds}s", workers, study, policy=policy).state
        reports = [event for event in read_store(study).read() if isinstance(event, Observed)]
    if len(reports) < 2:
        print(f"{ms:5} ms{workers:9}  the deadline came before two units had ended", flush=True)
        return
    trained = sum(epoch["seconds"] for event in reports[1:] for epoch in event.metrics)
    share = trained / (workers * (reports[-1].clock - reports[0].clock))
    epochs = sum(len(event.losses) for event in reports)
    shown = f"{epochs:9}{len(reports):9}{state.unit:17}  {', '.join(names)}"
    print(f"{ms:5} ms{workers:9}{share:9.0%}{shown}", flush=True)


def report(rows: Sequence[dict[str, float]], sync: float) -> None:
    """Medians, means and nine out of ten, in milliseconds."""
    driver = [row["all"] - row["wait"] for row in rows]
    parts = {name: [row[name] for row in rows] for name in ("decision", "store", "checkpoint")}
    parts["submit"] = [row["submit"] for row in rows]
    parts["sweep (worker busy)"] = [row["sweep"] for row in rows]
    parts["rest"] = [row["all"] - sum(row[name] for name in row if name != "all") for row in rows]
    print(f"driver time of a unit that trains for no time, {_ARMS} arms, {len(rows)} units")
    print(f"{'':22}{'median':>9}{'mean':>9}{'90%':>9}  ms")
    for name, values in {"driver": driver, **parts}.items():
        high = statistics.quantiles(values, n=10)[-1]
        shown = (statistics.median(values), statistics.fmean(values), high)
        print(f"{name:22}" + "".join(f"{1e3 * value:9.1f}" for value in shown))
    print(f"{'one fsync here':22}{1e3 * sync:9.1f}")
    print(f"{'waiting for the worker':22}{1e3 * statistics.median(r['wait'] for r in rows):9.1f}")


if __name__ == "__main__":
    main()
