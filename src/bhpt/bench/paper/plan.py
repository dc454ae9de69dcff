"""What the paper's evaluation consists of, and running it: tasks, methods, budgets, seeds.

Budgets go from a tenth of the number of arms to where BHPT finds the optimum. Where that is shows
only when BHPT has run, so it goes first, one budget after the other; the other methods follow on
the budgets that it needed. Everything lands in one results.csv, so an interrupted run goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bhpt.bench.baselines import smac
from bhpt.bench.catalogue import load
from bhpt.bench.groups import Groups, GroupShare
from bhpt.bench.metrics import reachable
from bhpt.bench.runner import Source, run_missing
from bhpt.bench.table import ResultRow, Results, RunKey
from bhpt.bench.tasks import PACKAGED
from bhpt.domain import Misuse

SYNTHETIC = "synthetic"
LEADER = "bhpt"
METHODS = (
    *("bhpt", "bhpt-eps", "rollout", "hyperband", "gp-ei", "smac", "fabolas", "freeze-thaw"),
    *("random", "next-unit", "default"),
    *("bhpt-shapes", "bhpt-eps-shapes", "next-unit-shapes", "plans-shapes"),
)
VARIANTS = ("q-alone", "q-eps-alone", "bhpt-sampled")  # on drawn data only, as in the paper
LONG_UNITS = (  # units as long as the paper's; fcnet_mnist has such units anyway
    *("resnet_cifar10@4", "arch_cifar10@4", "arch2_cifar10@6", "fcnet_mnist", "vae_mnist@10"),
)
FOUND = 0.001  # a mean regret at which BHPT counts as having found the optimum

RowProgress = Callable[[int, int, ResultRow | None], None]


@dataclass(frozen=True)
class Scope:
    """How much is run.

    Attributes:
        name: Shown on the page.
        synthetic_seeds: Sets of the synthetic task.
        real_seeds: Seeds of every real task.
        synthetic_budgets: Budgets to try on it, in this order.
        tenths: The same for real tasks, as multiples of a tenth of the arms.
        real_methods: Methods on real tasks.
        tasks: Real tasks, with the units of their tables.
        long_tasks: The same with units as long as the paper's.
    """

    name: str
    synthetic_seeds: int
    real_seeds: int
    synthetic_budgets: tuple[int, ...]
    tenths: tuple[int, ...]
    real_methods: tuple[str, ...] = METHODS
    tasks: tuple[str, ...] = PACKAGED
    long_tasks: tuple[str, ...] = LONG_UNITS

    @property
    def all_tasks(self) -> tuple[str, ...]:
        """All real tasks, each once."""
        return tuple(dict.fromkeys((*self.tasks, *self.long_tasks)))

    def budgets(self, task: str) -> tuple[int, ...]:
        """Budgets to try on a task, smallest first."""
        if task == SYNTHETIC:
            return self.synthetic_budgets
        tenth = -(-load(task, 0).arms // 10)
        return tuple(tenth * multiple for multiple in self.tenths)

    def seeds(self, task: str) -> int:
        """Seeds of a task."""
        return self.synthetic_seeds if task == SYNTHETIC else self.real_seeds

    def methods(self, task: str) -> tuple[str, ...]:
        """Methods on a task, those whose extra is missing left out."""
        wanted = (*METHODS, *VARIANTS) if task == SYNTHETIC else self.real_methods
        return tuple(name for name in wanted if name not in left_out())


FULL = Scope("full", 100, 10, (8, 16, 32, 64, 100, 200, 400), (1, 2, 4, 8, 16, 32, 64))
QUICK = Scope(
    "quick",
    4,
    3,
    (8, 32, 100),
    (1, 4, 16),
    real_methods=tuple(name for name in METHODS if name != "rollout"),
)


def left_out() -> tuple[str, ...]:
    """Methods that cannot run here because an extra is missing."""
    return () if smac.available() else ("smac",)


@dataclass(frozen=True, eq=False)
class Collected:
    """What was run.

    Attributes:
        scope: What was asked for.
        rows: All rows, old and new.
        shares: Shares by family.
        budgets: Budgets of each task, up to where BHPT finds the optimum.
        left_out: Methods that did not run.
    """

    scope: Scope
    rows: list[ResultRow]
    shares: list[GroupShare]
    budgets: dict[str, tuple[int, ...]]
    left_out: tuple[str, ...]

    @property
    def real(self) -> tuple[str, ...]:
        """The real tasks, with the units of their tables."""
        return self.scope.tasks

    @property
    def long(self) -> tuple[str, ...]:
        """The real tasks with units as long as the paper's."""
        return self.scope.long_tasks


def stored(scope: Scope, out: Path) -> Collected:
    """What the table in `out` has of the evaluation's tasks and methods; nothing is run.

    Raises:
        Misuse: It has nothing of it.
    """
    tasks = (SYNTHETIC, *scope.all_tasks)
    methods = {task: set(scope.methods(task)) for task in tasks}
    found = Results(out).rows()
    rows = [row for row in found if row.run.policy in methods.get(row.run.task, ())]
    if not rows:
        raise Misuse(f"{out} has no rows of this evaluation: run it without --stored")
    there = {row.run for row in rows}
    budgets = {
        task: tuple(sorted({run.budget for run in there if run.task == task})) for task in tasks
    }
    shares = [share for share in Groups(out).rows() if share.run in there]
    return Collected(scope, rows, shares, budgets, left_out())


def collect(scope: Scope, out: Path, jobs: int, progress: RowProgress) -> Collected:
    """Run what is missing: BHPT up to where it finds the optimum, then all others."""
    budgets = _climb(scope, out, jobs, progress)
    wanted = [
        RunKey(task, policy, budget, seed)
        for seed in range(max(scope.synthetic_seeds, scope.real_seeds))
        for task, steps in budgets.items()
        if seed < scope.seeds(task)
        for policy in scope.methods(task)
        for budget in steps
    ]
    rows = run_missing(wanted, out, jobs, progress, Source())
    asked = set(wanted)
    shares = [share for share in Groups(out).rows() if share.run in asked]
    return Collected(scope, rows, shares, budgets, left_out())


def _climb(scope: Scope, out: Path, jobs: int, progress: RowProgress) -> dict[str, tuple[int, ...]]:
    """Budgets of each task: run BHPT on larger and larger ones until it finds the optimum."""
    steps = {task: scope.budgets(task) for task in (SYNTHETIC, *scope.all_tasks)}
    climbed: dict[str, tuple[int, ...]] = dict.fromkeys(steps, ())
    open_tasks = set(steps)
    for at in range(max(len(s) for s in steps.values())):
        open_tasks = {task for task in open_tasks if at < len(steps[task])}
        runs = [
            RunKey(task, LEADER, steps[task][at], seed)
            for task in steps
            if task in open_tasks
            for seed in range(scope.seeds(task))
        ]
        if not runs:
            break
        rows = run_missing(runs, out, jobs, progress, Source())
        for task in sorted(open_tasks):
            climbed[task] = steps[task][: at + 1]
            regrets = [row.score.regret for row in rows if row.run.task == task]
            if float(np.mean(regrets)) <= FOUND:
                open_tasks.discard(task)
    return climbed


def optima(
    budgets: dict[str, tuple[int, ...]], tasks: tuple[str, ...]
) -> dict[str, dict[int, float]]:
    """ℓ*_B, what the best arm would have given had it been known, by task and budget."""
    return {
        task: {budget: float(reachable(load(task, 0), budget).min()) for budget in budgets[task]}
        for task in tasks
    }
