"""Run a benchmark: every task × policy × budget × seed that the table does not have yet."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path

from bhpt.bench.catalogue import load
from bhpt.bench.groups import Groups, GroupShare, group_shares
from bhpt.bench.metrics import score
from bhpt.bench.networks import note_networks
from bhpt.bench.peers import registry
from bhpt.bench.simulate import simulate
from bhpt.bench.table import ResultRow, Results, RunKey
from bhpt.bench.workers import workers
from bhpt.domain import Misuse


@dataclass(frozen=True)
class BenchmarkPlan:
    """What to run."""

    tasks: tuple[str, ...]
    policies: tuple[str, ...]
    budgets: tuple[int, ...]
    seeds: int
    arms: int | None = None
    data: Path | None = None

    def check(self) -> None:
        """Refuse what cannot run, before anything has run."""
        if not (self.tasks and self.policies and self.budgets):
            raise Misuse("a benchmark needs at least one task, one policy and one budget")
        if min(self.budgets) < 1:
            raise Misuse(f"a budget needs at least one unit, not {min(self.budgets)}")
        if self.seeds < 1:
            raise Misuse(f"--seeds {self.seeds}: at least one is needed")
        for task in self.tasks:
            load(task, 0, self.data, self.arms)
        for policy in self.policies:
            registry.check(policy)

    def runs(self) -> Iterator[RunKey]:
        """All runs, seed by seed, so that an interrupted benchmark has whole seeds."""
        for seed in range(self.seeds):
            for task in self.tasks:
                for policy in self.policies:
                    for budget in self.budgets:
                        yield RunKey(task, policy, budget, seed)


@dataclass(frozen=True)
class RunOutcome:
    """What a run leaves: its row, and the shares of families where arms have them."""

    row: ResultRow
    shares: tuple[GroupShare, ...]


def run_cell(run: RunKey, data: Path | None, arms: int | None) -> RunOutcome:
    """Run one cell of the benchmark."""
    task = load(run.task, run.seed, data, arms)
    policy = registry.make(run.policy, task.truth, task.features)
    ran = simulate(task, policy, run.budget, run.seed)
    return RunOutcome(ResultRow(run, score(task, run.budget, ran)), group_shares(task, run, ran))


def run_plan(
    plan: BenchmarkPlan,
    out: Path,
    jobs: int,
    progress: Callable[[int, int, ResultRow | None], None],
) -> list[ResultRow]:
    """Run what is missing, in `jobs` processes; returns the plan's rows, old and new.

    Args:
        plan: What to run.
        out: Folder of results.csv.
        jobs: Worker processes; each uses one thread, so that times can be compared.
        progress: Called with rows done, rows in all and the row just done, from the start on.
    """
    plan.check()
    registry.prepare(plan.policies)
    return run_missing(list(plan.runs()), out, jobs, progress, Source(plan.data, plan.arms))


@dataclass(frozen=True)
class Source:
    """Where tasks that are not packaged come from, and how many arms are drawn of each."""

    data: Path | None = None
    arms: int | None = None


def run_missing(
    wanted: list[RunKey],
    out: Path,
    jobs: int,
    progress: Callable[[int, int, ResultRow | None], None],
    source: Source,
) -> list[ResultRow]:
    """Run those of the wanted runs that the table in `out` does not have; returns all of them."""
    if jobs < 1:
        raise Misuse(f"--jobs {jobs}: at least one is needed")
    results, groups = Results(out), Groups(out)
    known = {row.run for row in results.rows()}
    note_networks(out, {run.policy for run in wanted}, {run.policy for run in known})
    todo = [run for run in wanted if run not in known]
    done = len(wanted) - len(todo)
    progress(done, len(wanted), None)
    for outcome in _parallel(todo, source, min(jobs, len(todo))):
        groups.append(outcome.shares)
        results.append(outcome.row)
        done += 1
        progress(done, len(wanted), outcome.row)
    asked = set(wanted)
    return [row for row in results.rows() if row.run in asked]


def _parallel(todo: list[RunKey], source: Source, jobs: int) -> Iterator[RunOutcome]:
    """Rows as they are finished; at most a few runs are queued, so an interrupt ends soon."""
    if not todo:
        return
    queue = iter(todo)
    waiting: set[Future[RunOutcome]] = set()
    with workers(jobs) as pool:
        while True:
            while len(waiting) < 2 * jobs and (run := next(queue, None)) is not None:
                waiting.add(pool.submit(run_cell, run, source.data, source.arms))
            if not waiting:
                return
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
