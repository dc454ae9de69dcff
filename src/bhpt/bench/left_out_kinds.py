"""Judge by kinds left out: each kind of job by networks that were trained without it.

A trained policy can be good on a kind of job because it was trained on that kind. So the tables of
a kind are run with networks whose passports do not list the kind among what they were trained on.
Simple rules have no networks and are run as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from bhpt.beliefs.learned.passport import TrainedOn
from bhpt.beliefs.learned.weights import networks_in
from bhpt.bench.baselines.registry import TRAINED
from bhpt.bench.catalogue import in_folder, load
from bhpt.bench.table import ResultRow, RunKey
from bhpt.domain import Misuse


@dataclass(frozen=True)
class KindsPlan:
    """What to run.

    Attributes:
        tasks: Tables of each kind.
        folds: Folders of networks; each was trained without some kinds.
        policies: Names; those with trained networks get the fold that leaves a kind out.
        budgets: In units.
        seeds: How many.
    """

    tasks: Mapping[str, tuple[str, ...]]
    folds: tuple[Path, ...]
    policies: tuple[str, ...]
    budgets: tuple[int, ...]
    seeds: int

    def runs(self) -> list[RunKey]:
        """All runs, seed by seed.

        Raises:
            Misuse: A kind is left out by no fold.
        """
        folds = {kind: fold_without(kind, self.folds) for kind in self.tasks}
        return [
            RunKey(task, with_fold(policy, folds[kind]), budget, seed)
            for seed in range(self.seeds)
            for kind, tasks in self.tasks.items()
            for task in tasks
            for policy in self.policies
            for budget in self.budgets
        ]


def with_fold(policy: str, fold: Path) -> str:
    """The name of a policy with the networks of a folder, if it has trained networks."""
    return f"{policy}:{fold}" if policy in TRAINED else policy


def fold_without(kind: str, folds: Sequence[Path]) -> Path:
    """The first folder whose networks were all trained without a kind.

    Raises:
        Misuse: There is none.
    """
    for fold in folds:
        if all(kind not in trained.kinds for trained in _trained_on(fold)):
            return fold
    raise Misuse(
        f"kind {kind}: no networks were trained without it; leave it out with --kinds, or train "
        f"some with --leave-out-kind {kind}"
    )


def fold_for(task: str, kind: str, folds: Sequence[Path]) -> Path:
    """The first folder whose networks were all kept from a table, or else from its whole kind.

    Raises:
        Misuse: There is none.
    """
    for fold in folds:
        if all(task in trained.left_out for trained in _trained_on(fold)):
            return fold
    return fold_without(kind, folds)


def _trained_on(fold: Path) -> list[TrainedOn]:
    """What each network of a folder was trained on."""
    return [network.passport.trained_on for network in networks_in(fold)]


def tables_by_kind(data: Path, most: int, seed: int = 0) -> dict[str, tuple[str, ...]]:
    """Tables of a folder by kind, at most so many of each, drawn by chance.

    Names are ordered by a checksum, so that tables which are added to the folder later do not
    change what is drawn of other kinds, and little of their own.

    Raises:
        Misuse: The folder holds no tables.
    """
    by_kind: dict[str, list[str]] = {}
    for name in in_folder(data):
        by_kind.setdefault(load(name, 0, data).kind or "unknown", []).append(name)
    if not by_kind:
        raise Misuse(f"--data {data}: no NAME.npz + NAME.json pairs there")
    return {kind: drawn_of(names, most, seed) for kind, names in sorted(by_kind.items())}


def drawn_of(names: Sequence[str], most: int, seed: int = 0) -> tuple[str, ...]:
    """At most so many of these names, those with the lowest checksums, in their own order."""
    return tuple(sorted(sorted(names, key=lambda name: crc32(f"{seed} {name}".encode()))[:most]))


def regrets_by_kind(
    plan: KindsPlan, rows: Sequence[ResultRow]
) -> dict[tuple[str, str, int], float]:
    """Mean regret by (kind, policy, budget): over the seeds of a table, then over tables."""
    kinds = {task: kind for kind, tasks in plan.tasks.items() for task in tasks}
    found: dict[tuple[str, str, int], dict[str, list[float]]] = {}
    for row in rows:
        policy = row.run.policy.partition(":")[0]
        key = (kinds[row.run.task], policy, row.run.budget)
        found.setdefault(key, {}).setdefault(row.run.task, []).append(row.score.regret)
    return {
        key: float(np.mean([np.mean(values) for values in by_task.values()]))
        for key, by_task in found.items()
    }
