"""`make bench-deadline`: deadlines of 30 s, two workers, units of unequal and noisy cost.

Each run prints how long after the deadline the study ended, and for which part of the time
the two workers were busy: the sum of the units' busy seconds over twice the 30 s. The first is to
be below the grace that a unit is given to end, the second at least 85%.
"""

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bhpt.executors import Executor
from bhpt.study import Training
from bhpt.trainers.specs import TrainerSpec
from bhpt.tuning import Options, Result, tune
from bhpt.tuning.executor_choice import local_executor

_WORKERS = 2
_BUSY = 0.85
_ARMS = 20


class Uneven:
    """Sleeps instead of training; an arm's pace is its own, and every epoch is noisy."""

    def __init__(self, config: dict[str, float]) -> None:
        self._config = config
        self._epoch = 0

    def step(self) -> float:
        """Between 0.2 and 3 seconds."""
        self._epoch += 1
        rng = np.random.default_rng((int(1000 * self._config["x"]), self._epoch))
        noisy = self._config["pace"] * math.exp(rng.normal(0.0, 0.3))
        time.sleep(min(3.0, max(0.2, noisy)))
        return abs(self._config["x"] - 0.3) + 1.0 / (1 + self._epoch)

    def save(self, folder: Path) -> None:
        """The epoch is all there is."""
        (folder / "epoch").write_text(str(self._epoch))

    def load(self, folder: Path) -> None:
        """Go on from there."""
        self._epoch = int((folder / "epoch").read_text())


@dataclass(frozen=True)
class Run:
    """What came of one run.

    Attributes:
        over_s: From the deadline until everything was over and `tune` returned, by a clock of our
            own that starts when the workers are ready; negative if that was before.
        busy: Share of the workers' time that went into units.
        lost: Share of the workers' time that went into units stopped by the deadline.
        units: Reported units.
    """

    over_s: float
    busy: float
    lost: float
    units: int


def one_run(seed: int, seconds: float, options: Options, folder: Path) -> Run:
    """Tune against the clock."""
    rng = np.random.default_rng(seed)
    configs = [
        {"x": arm / _ARMS, "pace": float(math.exp(rng.uniform(math.log(0.25), math.log(2.4))))}
        for arm in range(_ARMS)
    ]
    ready: list[float] = []

    def made(trainer: TrainerSpec, workers: int, logs: Path, how: Options) -> Executor:
        executor = local_executor(trainer, workers, logs, how)
        ready.append(time.monotonic())
        return executor

    result = tune(
        Uneven,
        configs,
        f"{seconds:g}s",
        _WORKERS,
        folder / f"{seed}.db",
        seed,
        training=Training(1, 100),
        options=options,
        executor=made,
    )
    return judged(result, seconds, time.monotonic() - ready[0])


def judged(result: Result, seconds: float, took_s: float) -> Run:
    """The figures of a finished study."""
    state = result.state
    lanes = _WORKERS * seconds
    busy = sum(attempt.seconds for attempt in state.attempts)
    lost = sum(attempt.seconds for attempt in state.attempts if attempt.status == "failed")
    return Run(took_s - seconds, busy / lanes, lost / lanes, state.reports)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="deadline", description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--grace", type=float, default=2.0)
    asked = parser.parse_args(arguments)
    options = Options(grace_s=asked.grace)
    good = 0
    with tempfile.TemporaryDirectory(prefix="bhpt-deadline-") as name:
        for seed in range(asked.runs):
            run = one_run(seed, asked.seconds, options, Path(name))
            good += run.over_s <= asked.grace and run.busy >= _BUSY
            print(
                f"run {seed}: ended {run.over_s:+.2f} s from the deadline, workers busy "
                f"{run.busy:.1%} (stopped units {run.lost:.1%}), {run.units} units",
                flush=True,
            )
    print(f"{good} of {asked.runs} within {asked.grace:g} s of grace and busy {_BUSY:.0%} or more")
    return 0 if good == asked.runs else 1


if __name__ == "__main__":
    sys.exit(main())
