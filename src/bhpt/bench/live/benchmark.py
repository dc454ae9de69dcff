"""A live benchmark: jobs x policies x budgets x seeds that the table does not have yet."""

from collections.abc import Callable, Iterator
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from bhpt.bench.live import tuners
from bhpt.bench.live.job import LiveJob
from bhpt.bench.live.jobs import find, missing
from bhpt.bench.live.predictions import LivePredictions
from bhpt.bench.live.runs import LiveRun, LiveSetup, run
from bhpt.bench.live.table import LiveKey, LiveResults, LiveRow
from bhpt.bench.peers.environments import Tell
from bhpt.bench.workers import workers
from bhpt.domain import Misuse
from bhpt.policies.registry import make_policy


@dataclass(frozen=True)
class LivePlan:
    """What to run.

    Attributes:
        jobs: By name.
        policies: By name, other tuners among them.
        budgets: In epochs, or in seconds with an `s`.
        seeds: How many.
        workers: How many train side by side; other tuners have one.
        first: Whether all begin with the job's sensible configuration.
    """

    jobs: tuple[str, ...]
    policies: tuple[str, ...]
    budgets: tuple[str, ...]
    seeds: int
    workers: int = 1
    first: bool = False

    def check(self) -> None:
        """Refuse what cannot run, before anything has run."""
        for job in self.jobs:
            find(job)
        for policy in self.policies:
            if policy not in tuners.TUNERS:
                make_policy(policy)
            elif self.workers > 1:
                raise Misuse(f"{policy} runs with one worker here: leave it out or --workers 1")
        for budget in self.budgets:
            amount(budget)
        if self.seeds < 1 or self.workers < 1:
            raise Misuse("--seeds and --workers: at least one is needed")

    def runs(self, jobs: list[LiveJob]) -> Iterator[tuple[LiveJob, LiveKey, LiveSetup]]:
        """All runs, seed by seed, so that an interrupted benchmark has whole seeds."""
        marks = (f"*{self.workers}" if self.workers > 1 else "") + ("+first" * self.first)
        for seed in range(self.seeds):
            for job in jobs:
                for budget in self.budgets:
                    for policy in self.policies:
                        count, timed = amount(budget)
                        key = LiveKey(job.name, policy + marks, budget, seed)
                        yield (
                            job,
                            key,
                            LiveSetup(policy, count, timed, seed, self.workers, self.first),
                        )


def amount(budget: str) -> tuple[int, bool]:
    """How much, and whether it is seconds.

    Raises:
        Misuse: It is neither epochs nor seconds.
    """
    number = budget.removesuffix("s")
    if not number.isdigit() or int(number) < 1:
        raise Misuse(f"--budgets {budget!r}: epochs like 200, or seconds like 30s")
    return int(number), budget.endswith("s")


def run_live(
    plan: LivePlan,
    out: Path,
    tell: Tell,
    progress: Callable[[int, int, LiveRow | None], None],
    at_once: int = 1,
) -> list[LiveRow]:
    """Run what is missing; returns the plan's rows, old and new.

    Args:
        plan: What to run.
        out: Folder of results.csv, and of predictions.csv for what studies predicted of their ends.
        tell: Called with a line about each job that cannot run here.
        progress: Called with rows done, rows in all and the row just done, from the start on.
        at_once: How many runs go on side by side, each in a process of its own if several do.

    Raises:
        Misuse: The plan cannot be run, or `at_once` is below 1.
    """
    plan.check()
    if at_once < 1:
        raise Misuse(f"--at-once {at_once}: at least one is needed")
    tuners.prepare(plan.policies)
    results, predictions = LiveResults(out), LivePredictions(out)
    known = {row.run for row in results.rows()}
    jobs = [find(name) for name in plan.jobs]
    for line in filter(None, map(missing, jobs)):
        tell(line)
    wanted = list(plan.runs([job for job in jobs if missing(job) is None]))
    todo = [one for one in wanted if one[1] not in known]
    done = len(wanted) - len(todo)
    progress(done, len(wanted), None)
    for key, came in _ran(todo, at_once):
        row = LiveRow(key, came.loss, came.seconds)
        predictions.append(key, came.predictions, came.loss)
        results.append(row)
        done += 1
        progress(done, len(wanted), row)
    asked = {key for _, key, _ in wanted}
    return [row for row in results.rows() if row.run in asked]


def _ran(
    todo: list[tuple[LiveJob, LiveKey, LiveSetup]], at_once: int
) -> Iterator[tuple[LiveKey, LiveRun]]:
    """Runs as they end; they begin in the order of the plan.

    Where one fails, no other begins; those that go on beside it end before its error is raised.
    """
    side_by_side = min(at_once, len(todo))
    if side_by_side <= 1:
        yield from ((key, run(job, setup)) for job, key, setup in todo)
        return
    failed: list[BaseException] = []
    with workers(side_by_side) as pool:
        keys = {pool.submit(run, job, setup): key for job, key, setup in todo}
        for ended in as_completed(keys):
            if ended.cancelled():
                continue
            error = ended.exception()
            if error is None:
                yield keys[ended], ended.result()
                continue
            failed.append(error)
            for waiting in keys:
                waiting.cancel()
    if failed:
        raise failed[0]


@dataclass(frozen=True)
class LiveStanding:
    """How a policy did at a budget: mean rank over jobs and seeds, 1 is best, and runs."""

    policy: str
    budget: str
    rank: float
    runs: int


def standings(rows: list[LiveRow]) -> list[LiveStanding]:
    """Mean ranks by budget, best first; only where all policies ran."""
    policies = sorted({row.run.policy for row in rows})
    losses = {row.run: row.loss for row in rows}
    found: list[LiveStanding] = []
    for budget in sorted({row.run.budget for row in rows}, key=amount):
        cells = sorted({(r.run.job, r.run.seed) for r in rows if r.run.budget == budget})
        table = [
            [losses.get(LiveKey(job, policy, budget, seed), np.nan) for policy in policies]
            for job, seed in cells
        ]
        whole = np.array([line for line in table if not np.isnan(line).any()])
        if not len(whole):
            continue
        below = (whole[:, :, None] > whole[:, None, :]).sum(axis=2)
        ties = (whole[:, :, None] == whole[:, None, :]).sum(axis=2)
        ranks = (below + (ties + 1) / 2).mean(axis=0)
        order = np.argsort(ranks, kind="stable")
        found += [LiveStanding(policies[i], budget, float(ranks[i]), len(whole)) for i in order]
    return found


@dataclass(frozen=True)
class Regressions:
    """How often a policy ended worse with a larger budget than with the next smaller one.

    Attributes:
        policy: Its name.
        pairs: Runs of a job and a seed at two budgets, one after the other in size.
        worse: Of these, how many ended worse by more than `NOISE` with the larger one.
    """

    policy: str
    pairs: int
    worse: int


NOISE = 0.01
"""Of a loss: smaller differences between two budgets are none."""


def regressions(rows: list[LiveRow]) -> list[Regressions]:
    """How often more budget ended worse, by policy; epochs and seconds are never compared."""
    losses = {row.run: row.loss for row in rows}
    policies = sorted({row.run.policy for row in rows})
    steps = [
        pair
        for timed in (False, True)
        for pair in pairwise(
            sorted({r.run.budget for r in rows if amount(r.run.budget)[1] is timed}, key=amount)
        )
    ]
    found = []
    for policy in policies:
        pairs = [
            (losses[run], losses[larger])
            for run in losses
            for small, large in steps
            if run.policy == policy and run.budget == small
            if (larger := replace(run, budget=large)) in losses
        ]
        worse = sum(large > small + NOISE * abs(small) for small, large in pairs)
        found.append(Regressions(policy, len(pairs), worse))
    return found
