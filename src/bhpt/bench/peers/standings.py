"""Comparison of policies: mean regret and mean rank with bootstrap intervals.

A block is one task with one seed: all methods had the same arms there, so they are compared
within it. Intervals are percentiles of the mean over blocks drawn again with replacement; for all
suites together the regret is the mean of the suites' means, drawn within each suite, and the rank
the mean over all blocks.

Notation:
    n  blocks, P  policies, R  resamples.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from bhpt.bench.peers.suites import Suite
from bhpt.bench.table import ResultRow, RunKey
from bhpt.domain import FloatArray

ALL = "all"
RESAMPLES = 2000
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over blocks with its interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class PeerStanding:
    """How one policy did in one suite at one budget.

    Attributes:
        regret: Normalised regret.
        rank: Among all policies of the comparison, 1 the best; ties share the mean of their ranks.
        step_s: Seconds of deciding for one unit.
        blocks: How many blocks are behind it.
    """

    suite: str
    policy: str
    budget: int
    regret: Estimate
    rank: Estimate
    step_s: float
    blocks: int


@dataclass(frozen=True)
class Gap:
    """How far a policy is from the best of the others: its regret less theirs, by block."""

    suite: str
    budget: int
    rival: str
    difference: Estimate


@dataclass(frozen=True, eq=False)
class SuiteBlocks:
    """One suite at one budget.

    Attributes:
        regret: [n, P].
        step_s: [n, P].
    """

    regret: FloatArray
    step_s: FloatArray


class SuiteComparison:
    """The rows of a benchmark, by suite and budget, as far as every policy has its row."""

    def __init__(
        self, rows: Sequence[ResultRow], suites: Sequence[Suite], policies: Sequence[str]
    ) -> None:
        """Arrange the rows; a block that some policy has not run yet is left out."""
        self.policies = tuple(policies)
        self.suites = tuple(suite.name for suite in suites)
        self.budgets = tuple(sorted({row.run.budget for row in rows}))
        known = {row.run: row for row in rows}
        seeds = sorted({row.run.seed for row in rows})
        self._blocks: dict[tuple[str, int], SuiteBlocks] = {}
        for suite in suites:
            for budget in self.budgets:
                places = [(task, seed) for task in suite.tasks for seed in seeds]
                self._add(suite.name, budget, places, known)

    def _add(
        self, suite: str, budget: int, places: list[tuple[str, int]], known: dict[RunKey, ResultRow]
    ) -> None:
        whole: list[list[ResultRow]] = []
        for task, seed in places:
            runs = [RunKey(task, policy, budget, seed) for policy in self.policies]
            if all(run in known for run in runs):
                whole.append([known[run] for run in runs])
        if whole:
            regret = np.array([[row.score.regret for row in block] for block in whole])
            seconds = np.array([[row.score.decision_s for row in block] for block in whole])
            self._blocks[suite, budget] = SuiteBlocks(regret, seconds / budget)

    def of(self, suite: str, budget: int) -> list[SuiteBlocks]:
        """The blocks of a suite, or those of each suite for `ALL`; empty if there are none."""
        wanted = self.suites if suite == ALL else (suite,)
        return [self._blocks[name, budget] for name in wanted if (name, budget) in self._blocks]

    def standings(self) -> list[PeerStanding]:
        """Every policy in every suite and in all together, at every budget."""
        return [
            standing
            for suite in (*self.suites, ALL)
            for budget in self.budgets
            for standing in self._standings(suite, budget)
        ]

    def _standings(self, suite: str, budget: int) -> list[PeerStanding]:
        strata = self.of(suite, budget)
        if not strata:
            return []
        regrets = _mean_of_means([block.regret for block in strata])
        ranks = _mean_of_means([ranked(np.vstack([block.regret for block in strata]))])
        steps = np.vstack([block.step_s for block in strata])
        return [
            PeerStanding(
                suite, policy, budget, regrets[p], ranks[p], float(steps[:, p].mean()), len(steps)
            )
            for p, policy in enumerate(self.policies)
        ]

    def gaps(self, policy: str) -> list[Gap]:
        """How far `policy` is from the best of the others, by suite and budget."""
        mine = self.policies.index(policy)
        found = []
        for suite in (*self.suites, ALL):
            for budget in self.budgets:
                strata = [block.regret for block in self.of(suite, budget)]
                if not strata or len(self.policies) < 2:
                    continue
                means = np.mean([regret.mean(axis=0) for regret in strata], axis=0)
                means[mine] = np.inf
                rival = int(means.argmin())
                apart = [(regret[:, mine] - regret[:, rival])[:, None] for regret in strata]
                found.append(Gap(suite, budget, self.policies[rival], _mean_of_means(apart)[0]))
        return found


def ranked(regret: FloatArray) -> FloatArray:
    """Rank of each policy within each block, 1 the best, ties shared, [n, P]."""
    return np.asarray(rankdata(regret, method="average", axis=1), float)


def _mean_of_means(strata: Sequence[FloatArray]) -> list[Estimate]:
    """Mean over strata of the means over blocks, with intervals, for each column."""
    rng = np.random.default_rng(0)
    drawn = np.mean([resampled(values, rng) for values in strata], axis=0)
    middle = np.mean([values.mean(axis=0) for values in strata], axis=0)
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.percentile(drawn, [tail, 100 - tail], axis=0)
    return [
        Estimate(float(m), float(a), float(b)) for m, a, b in zip(middle, low, high, strict=True)
    ]


def resampled(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Means of the rows drawn again with replacement, [R, P]."""
    n = len(values)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    means: FloatArray = counts @ values / n
    return means


def write_csv(standings: Sequence[PeerStanding], file: Path) -> None:
    """The summary, one line a suite, policy and budget."""
    columns = ["suite", "policy", "budget", "blocks", "regret", "regret_low", "regret_high"]
    columns += ["rank", "rank_low", "rank_high", "step_s"]
    with file.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        for s in standings:
            regret, rank = s.regret, s.rank
            values = (regret.mean, regret.low, regret.high, rank.mean, rank.low, rank.high)
            numbers = [f"{value:.6g}" for value in (*values, s.step_s)]
            writer.writerow([s.suite, s.policy, s.budget, s.blocks, *numbers])
