"""What stored studies predict of their own ends, replayed by the code as it is.

Predictions change no decision, so studies are recorded once and their predictions are made again
whenever the code that makes them changes. Each log is read up to the moments at which a quarter,
half and three quarters of the budget were gone; what `predict_study` says there is compared with
the loss at the end of the log.

    python -m benchmarks.replayed_ends runs/ends --jobs gru,ranking --budgets 60,200 --seeds 2
    python -m benchmarks.replayed_ends runs/ends --jobs gru,ranking --budgets 20s --workers 1,2
    python -m benchmarks.replayed_ends runs/ends --data runs/tables --networks FOLDERS --tables 2

FOLDER gets a study of `default` for each job, or for each table with networks that have not met its
kind, where it is not there yet. Prints, for all studies of the folder, for each part of the budget
and for each job or kind, how many 90% intervals held, the median of predicted over actual gain and
by which factor it is typically wrong.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.policy.options import listed
from bhpt.bench.catalogue import load
from bhpt.bench.left_out_kinds import fold_for, tables_by_kind, with_fold
from bhpt.bench.live.job import LiveJob
from bhpt.bench.live.jobs import find
from bhpt.bench.live.runs import Models
from bhpt.bench.tasks import Task
from bhpt.domain import Misuse
from bhpt.reports.prediction import predict_study
from bhpt.storage import read_store
from bhpt.study import State, Study, fold
from bhpt.study.events import Observed
from bhpt.study.folding import apply
from bhpt.tuning import tune
from bhpt.tuning.tune import stored

MOMENTS = (0.25, 0.5, 0.75)  # parts of the budget
_LEAST = 1e-3  # predicted over actual gain: less is as wrong as it gets


@dataclass(frozen=True)
class ReplayedEnd:
    """What was predicted at a moment of a study, and what came.

    Attributes:
        group: The job, or the kind of the table.
        part: Of the budget that was gone: one of `MOMENTS`.
        best: The best loss by then.
        expected: The best loss that is expected at the end.
        low: The low end of its interval; the high end is the best loss by then.
        reached: The best loss at the end.
    """

    group: str
    part: float
    best: float
    expected: float
    low: float
    reached: float


def states_at(file: Path) -> tuple[list[tuple[float, State]], State]:
    """A stored study once each part of its budget was gone, and at its end."""
    with read_store(file) as store:
        events = store.read()
    state, left, found = fold(events[:1]), list(MOMENTS), []
    for event in events[1:]:
        state = apply(state, event)
        gone = state.ledger.used / state.ledger.budget.amount
        if left and isinstance(event, Observed) and state.best is not None and gone >= left[0]:
            found.append((left.pop(0), state))
    return found, state


def replayed(file: Path) -> Iterator[ReplayedEnd]:
    """What a stored study predicts of its end."""
    states, end = states_at(file)
    for part, state in states:
        said = predict_study(state)
        if said is None or state.best is None or end.best is None:
            continue
        group, final = file.name.partition("@")[0], said.final
        yield ReplayedEnd(group, part, state.best.loss, final.middle, final.low, end.best.loss)


def line(name: str, ends: Sequence[ReplayedEnd]) -> str:
    """How good some predictions were."""
    held = np.mean([one.low <= one.reached <= one.best for one in ends])
    gained = [one for one in ends if one.best > one.reached]
    told = f"{name}: {len(ends)} predictions, {held:.0%} of 90% intervals held"
    if not gained:
        return f"{told}, nothing was gained"
    ratios = np.array([(one.best - one.expected) / (one.best - one.reached) for one in gained])
    wrong = np.exp(np.abs(np.log(np.maximum(ratios, _LEAST))).mean())
    return (
        f"{told}, median of predicted over actual gain {np.median(ratios):.2f}, wrong by a factor "
        f"of {wrong:.1f} ({len(gained)} gains)"
    )


def lines(ends: Sequence[ReplayedEnd]) -> Iterator[str]:
    """What is printed."""
    yield line("all", ends)
    for part in MOMENTS:
        at = [one for one in ends if one.part == part]
        if at:
            yield line(f"at {part:.0%} of the budget", at)
    for group in sorted({one.group for one in ends}):
        yield line(group, [one for one in ends if one.group == group])


def train(job: LiveJob, budget: str, workers: int, seed: int, file: Path) -> None:
    """Tune a job, epochs in this process and one after another, and keep the study."""
    if not budget.isdigit():
        tune(job.trainer, job.space, budget, workers, file, seed, max_epochs=job.epochs)
        return
    models = Models(job)
    with Study(
        job.space, f"{budget} epochs", max_epochs=job.epochs, seed=seed, keep=stored(file)
    ) as study:
        while (unit := study.ask()) is not None:
            study.tell(unit, models.train(unit.arm, unit.config, unit.epochs))


def look_up(task: Task, policy: str, units: int, file: Path) -> None:
    """Tune a table, and keep the study."""
    with Study(
        [dict(config) for config in task.configs],
        f"{units * task.unit} epochs",
        unit=task.unit,
        max_epochs=task.epochs,
        seed=units,
        policy=policy,
        keep=stored(file),
    ) as study:
        while (unit := study.ask()) is not None:
            losses = task.losses[unit.arm, unit.done : unit.done + unit.epochs]
            study.tell(unit, losses.tolist())


def record_jobs(asked: argparse.Namespace) -> None:
    """Tune the jobs that were asked for and are not there yet."""
    for seed in range(asked.seeds):
        for name in asked.jobs:
            for budget in asked.budgets:
                for workers in asked.workers:
                    file = asked.folder / f"{name}@{budget}w{workers}s{seed}.db"
                    if not file.exists():
                        train(find(name), budget, workers, seed, file)


def record_tables(asked: argparse.Namespace) -> None:
    """Tune the tables that were asked for and are not there yet."""
    for kind, names in tables_by_kind(asked.data, asked.tables).items():
        for name in names:
            try:
                policy = with_fold("default", fold_for(name, kind, asked.networks))
            except Misuse as unknown:
                print(unknown, flush=True)
                continue
            for budget in map(int, asked.budgets):
                file = asked.folder / f"{kind}@{name}-{budget}.db"
                if not file.exists():
                    look_up(load(name, 0, asked.data), policy, budget, file)


def parser() -> argparse.ArgumentParser:
    """Of the command line."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.replayed_ends", description=__doc__)
    made.add_argument("folder", type=Path, help="of stored studies")
    made.add_argument("--jobs", type=listed, default=(), help="live jobs, with commas")
    made.add_argument("--data", type=Path, help="folder of tables")
    made.add_argument("--networks", type=_folders, default=(), help="folders, with commas")
    made.add_argument("--tables", type=int, default=2, help="tables of each kind, at most")
    made.add_argument("--budgets", type=listed, default=("60", "200"), help="epochs or 20s")
    made.add_argument("--workers", type=_numbers, default=(1,), help="under a deadline")
    made.add_argument("--seeds", type=int, default=1)
    return made


def _folders(text: str) -> tuple[Path, ...]:
    return tuple(map(Path, listed(text)))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, listed(text)))


def main() -> None:
    """Record what is missing, then replay all and print."""
    asked = parser().parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    record_jobs(asked)
    if asked.data is not None:
        record_tables(asked)
    files = sorted(asked.folder.glob("*.db"))
    for text in lines([end for file in files for end in replayed(file)]):
        print(text, flush=True)


if __name__ == "__main__":
    main()
