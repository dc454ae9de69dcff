"""Studies of tables with networks that have not met their kinds, for benchmarks that watch them."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.policy.options import listed
from bhpt.bench.left_out_kinds import fold_for, tables_by_kind, with_fold
from bhpt.bench.tasks import Task
from bhpt.policies.interface import PredictingPolicy
from bhpt.policies.registry import make_rule


@dataclass(frozen=True)
class AskedStudies:
    """Which studies a command was asked for.

    Attributes:
        data: Folder of the tables.
        names: The tables.
        folds: Folders of networks, each trained without some kinds.
        budgets: Units of the studies of each table.
    """

    data: Path
    names: tuple[str, ...]
    folds: tuple[Path, ...]
    budgets: tuple[int, ...]


def asked_studies(command: str, about: str | None, budgets: str) -> AskedStudies:
    """The studies that the command line asks for.

    Args:
        command: How the benchmark is called.
        about: What it does.
        budgets: Units of the studies where none are given, with commas.
    """
    parser = argparse.ArgumentParser(prog=command, description=about)
    parser.add_argument("--data", type=Path, required=True, help="folder of tables")
    parser.add_argument("--networks", required=True, help="folders of networks, with commas")
    parser.add_argument("--kinds", help="kinds, with commas; all if none")
    parser.add_argument("--tables", type=int, default=2, help="tables of each kind, at most")
    parser.add_argument("--budgets", default=budgets)
    given = parser.parse_args()
    by_kind = tables_by_kind(given.data, given.tables, seed=1)
    kinds = listed(given.kinds) if given.kinds else tuple(by_kind)
    return AskedStudies(
        given.data,
        tuple(name for kind in kinds for name in by_kind[kind]),
        tuple(Path(fold) for fold in listed(given.networks)),
        tuple(int(budget) for budget in listed(given.budgets)),
    )


def default_without(name: str, task: Task, folds: Sequence[Path]) -> PredictingPolicy:
    """`default` with the networks that have not met a table, nor its kind.

    Args:
        name: Of the table.
        task: The table.
        folds: Folders of networks.
    """
    policy = make_rule(with_fold("default", fold_for(name, task.kind, folds)))
    if not isinstance(policy, PredictingPolicy):
        raise TypeError("the default has a predictor")
    return policy
