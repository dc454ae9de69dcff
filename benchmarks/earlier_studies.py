"""What learning from earlier studies gains: three studies of a space, then a fourth with them.

`python -m benchmarks.earlier_studies --data FOLDER --suite taskset --judged 0,2,4` takes tasks of a
public suite with their hyper-parameters called p1, p2 and so on. For each judged task and seed,
three other tasks are tuned for 100 units each; what these studies showed is learned from when
the judged task is tuned for 20 units, 100 arms each time, others for each study. The regret is
printed beside that without earlier studies, also with studies of another suite, in which the same
names mean something else (`--other`), with the expected ranks exchanged between arms at random, as
if they were of a space that ranges cannot tell from this one, and with them turned around. With
`--truth` there are two bounds: the true ranks of the judged arms in the three other tasks, of which
studies see a few arms in part, and in the judged task itself (tables of one suite have the same
configurations). With `--names` hyper-parameters keep their names, which say something by
themselves.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from bhpt.beliefs.earlier_studies import EarlierExpert, EarlierStudy, summarise
from bhpt.bench.catalogue import load
from bhpt.bench.metrics import reachable, score
from bhpt.bench.paper.evidence import interval
from bhpt.bench.simulate import curves_seen, simulate
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray, View
from bhpt.policies.interface import Decision, Policy
from bhpt.policies.registry import make_policy
from bhpt.spaces import encode_tokens
from bhpt.spaces.ranges import Range, infer_ranges

_STUDIES, _ARMS, _EARLIER_UNITS = 3, 100, 100
_DRAWS = 2000  # of studies, for the interval of a ratio
_TRUE = ("true", "own truth")  # columns of true ranks: in the three tasks, in the judged one


@dataclass(frozen=True, eq=False)
class Learning:
    """A policy whose views hold what earlier studies expect of the arms."""

    policy: Policy
    earlier: FloatArray

    def decide(self, view: View) -> Decision | None:
        """The decision of the policy."""
        return self.policy.decide(replace(view, earlier=self.earlier))


@dataclass(frozen=True, eq=False)
class Table:
    """A task, its configurations, and ranges as their values say."""

    task: Task
    configs: list[dict[str, Any]]
    ranges: dict[str, Range]


def nameless(task: Task) -> Table:
    """The task with hyper-parameters p1, p2, ..., their values as they are."""
    return _called(task, {n: f"p{number + 1}" for number, n in enumerate(task.hyperparameters)})


def named(task: Task) -> Table:
    """The task with its own names."""
    return _called(task, {name: name for name in task.hyperparameters})


def _called(task: Task, calls: dict[str, str]) -> Table:
    """The task with a name for each of its hyper-parameters."""
    configs = [{calls[name]: value for name, value in c.items()} for c in task.configs]
    ranges = infer_ranges(configs)
    renamed = replace(
        task, tokens=encode_tokens(configs, ranges), hyperparameters=tuple(calls.values())
    )
    return Table(renamed, configs, ranges)


@dataclass(frozen=True)
class Setting:
    """What is measured.

    Attributes:
        data: Folder of the suites; None for tables of the package.
        policy: Name of the policy.
        units: Budget of the judged studies.
        names: Whether hyper-parameters keep their names.
        truth: Whether there are columns of true ranks.
    """

    data: Path | None
    policy: str
    units: int
    names: bool = False
    truth: bool = False

    def table(self, name: str, seed: int) -> Table:
        """A task with the arms of a seed."""
        task = load(name, seed, self.data, _ARMS)
        return named(task) if self.names else nameless(task)

    def study(self, name: str, seed: int) -> EarlierStudy:
        """What a study of a task showed."""
        table = self.table(name, seed)
        run = simulate(table.task, make_policy(self.policy), _EARLIER_UNITS, seed)
        return summarise(curves_seen(table.task, run), table.configs)

    def true_ranks(self, names: Sequence[str], seed: int) -> FloatArray:
        """Mean rank over some tasks of the arms of a seed within the units, best 1/2, [K]."""
        found = []
        for name in names:
            task = load(name, seed, self.data, _ARMS)
            best = np.minimum(reachable(task, self.units), task.untrained)
            found.append(0.5 - (rankdata(best) - 0.5) / len(best))
        return np.asarray(np.mean(found, axis=0))

    def regret(self, table: Table, seed: int, earlier: FloatArray | None) -> float:
        """Of a judged study, with what earlier ones expect or without."""
        policy = make_policy(self.policy)
        used = policy if earlier is None else Learning(policy, earlier)
        return score(table.task, self.units, simulate(table.task, used, self.units, seed)).regret


def drawn(names: Sequence[str], judged: str, seed: int) -> list[tuple[str, int]]:
    """Three tasks other than the judged one, each with the seed of its study."""
    others = [name for name in names if name != judged]
    order = np.random.default_rng((seed, *judged.encode())).permutation(len(others))
    return [(others[k], 100 + 10 * seed + n) for n, k in enumerate(order[:_STUDIES])]


def measured(
    setting: Setting,
    judged: Sequence[str],
    names: Sequence[str],
    other: Sequence[str],
    seeds: Sequence[int],
) -> dict[str, FloatArray]:
    """Regrets of the judged studies: without earlier ones, with them, exchanged, turned, others.

    Args:
        setting: What is measured.
        judged: Tasks to tune.
        names: Tasks of the same space.
        other: Tasks of another one, three at least; none leaves that column out.
        seeds: Of the studies of each judged task.
    """
    study = cache(setting.study)
    found: dict[str, list[float]] = {
        column: [] for column in ("without", "with", "exchanged", "turned", "another", *_TRUE)
    }
    for name in judged:
        for seed in seeds:
            table = setting.table(name, seed)

            def expects(
                tasks: Sequence[str], name: str = name, seed: int = seed, table: Table = table
            ) -> FloatArray | None:
                studies = tuple(study(*one) for one in drawn(tasks, name, seed))
                expert = EarlierExpert(studies, table.ranges)
                return expert.ranks(table.configs) if expert.knows_the_space else None

            ranks = expects(names)
            columns: dict[str, FloatArray | None] = {"without": None, "with": ranks}
            columns["exchanged"] = None if ranks is None else _exchanged(ranks, seed)
            columns["turned"] = None if ranks is None else -ranks
            if other:
                columns["another"] = expects(other)
            if setting.truth:
                three = [one for one, _ in drawn(names, name, seed)]
                columns |= zip(
                    _TRUE,
                    (setting.true_ranks(three, seed), setting.true_ranks([name], seed)),
                    strict=True,
                )
            for column, earlier in columns.items():
                found[column].append(setting.regret(table, seed, earlier))
    return {column: np.array(values) for column, values in found.items() if values}


def _exchanged(ranks: FloatArray, seed: int) -> FloatArray:
    """The same ranks of other arms, drawn by the seed, [K]."""
    return np.random.default_rng((seed, 13)).permutation(ranks)


def ratio_interval(regrets: FloatArray, base: FloatArray) -> tuple[float, float]:
    """95% of how the ratio of two means would be over studies drawn again, in pairs.

    Args:
        regrets: Of the studies, [S].
        base: Of the same studies without earlier ones, [S].
    """
    drawn_again = np.random.default_rng(0).integers(0, len(base), (_DRAWS, len(base)))
    ratios = regrets[drawn_again].mean(axis=1) / base[drawn_again].mean(axis=1)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return float(low), float(high)


def parser() -> argparse.ArgumentParser:
    """The options."""
    root = argparse.ArgumentParser(prog="python -m benchmarks.earlier_studies", description=__doc__)
    root.add_argument("--data", type=Path, required=True, help="folder of the suites")
    root.add_argument("--suite", default="taskset", help="taskset or lcbench")
    root.add_argument("--judged", default="0,2,4", help="tasks to tune")
    root.add_argument("--pool", default="0,1,2,3,4,5", help="tasks that are learned from")
    root.add_argument("--other", default="", help="SUITE:NUMBER,... of another space")
    root.add_argument("--names", action="store_true", help="keep the names of hyper-parameters")
    root.add_argument("--truth", action="store_true", help="what true ranks would give, too")
    root.add_argument("--units", type=int, default=20, help="of each judged study")
    root.add_argument("--seeds", type=int, default=8, help="studies of each judged task")
    root.add_argument("--first", type=int, default=0, help="the first seed")
    root.add_argument("--policy", default="default:benchmarks/policy/held_out")
    return root


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the mean regret of each column beside that without earlier studies."""
    options = parser().parse_args(arguments)
    judged, pool = (
        [f"{options.suite}:{number}" for number in numbers.split(",")]
        for numbers in (options.judged, options.pool)
    )
    other = [name for name in options.other.split(",") if name]
    setting = Setting(options.data, options.policy, options.units, options.names, options.truth)
    seeds = range(options.first, options.first + options.seeds)
    found = measured(setting, judged, pool, other, seeds)
    base = found["without"]
    for column, regrets in found.items():
        part = regrets.mean() / base.mean()
        low, high = ratio_interval(regrets, base)
        apart = interval(regrets - base).text(4, signed=True)
        print(
            f"{column:9s} {regrets.mean():.4f}, {part:.2f} ({low:.2f} to {high:.2f})"
            f" of that without ({apart})"
        )


if __name__ == "__main__":
    main()
