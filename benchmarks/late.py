"""How often an arm that would have to learn twice as fast as the best one gets below it.

`python -m benchmarks.late --data FOLDER --networks FOLDERS` tunes tables with `default` and with
networks trained without their kinds. At moments drawn by chance, and with the last units, it looks
at all arms that can run and that the guard calls too late (`policies.sensible`): how many of them
the predictor gives a chance of 1% and more to end below the best loss so far, and how many of those
would, if all that is left went to them. Prints both for first looks and for arms that were tried.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.left_out_tables import asked_studies, default_without
from bhpt.bench.catalogue import load
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import BoolArray, View
from bhpt.policies.interface import Decision, PredictingPolicy
from bhpt.policies.sensible import NEGLIGIBLE, too_late

_PART = 0.12  # of the moments are looked at
_LAST = 2  # units before the end, at which every moment is


@dataclass(frozen=True)
class LateArms:
    """Arms that are too late at a moment, or at many together.

    Attributes:
        arms: How many.
        hopeful: Of these, how many have a chance by the predictor.
        below: How many of those with a chance would end below the best so far.
    """

    arms: int = 0
    hopeful: int = 0
    below: int = 0

    def __add__(self, other: "LateArms") -> "LateArms":
        """Both together."""
        return LateArms(
            self.arms + other.arms, self.hopeful + other.hopeful, self.below + other.below
        )

    @property
    def text(self) -> str:
        """In words."""
        part = f", {self.below / self.hopeful:.2%}" if self.hopeful else ""
        return (
            f"{self.arms} arms, {self.hopeful} with a chance by the predictor, "
            f"{self.below} of these end below the best{part}"
        )


def late_arms(task: Task, policy: PredictingPolicy, view: View) -> tuple[LateArms, LateArms]:
    """Those of a moment: untried ones, tried ones."""
    late = view.choosable & too_late(view)
    low = policy.predictor.predict(view).quantiles([NEGLIGIBLE])[0]
    hopeful = late & (low < view.curves.best)
    below = hopeful & _ends_below(task, view)
    untried = view.curves.count_by_arm == 0

    def counted(of: BoolArray) -> LateArms:
        return LateArms(*(int(np.count_nonzero(one & of)) for one in (late, hopeful, below)))

    return counted(untried), counted(~untried)


def _ends_below(task: Task, view: View) -> BoolArray:
    """Which arms would end below the best so far if all that is left went to them, [K]."""
    epoch, counts = np.arange(task.losses.shape[1]), view.curves.count_by_arm[:, None]
    ahead = (epoch >= counts) & (epoch < counts + view.unit * view.horizon[:, None])
    return np.asarray((ahead & (task.losses < view.curves.best)).any(axis=1))


@dataclass
class Watched:
    """A policy whose late arms are counted at some moments.

    Attributes:
        policy: It.
        task: What it tunes.
        rng: Draws the moments.
        untried: Late arms that were untried.
        tried: Late arms that were not.
    """

    policy: PredictingPolicy
    task: Task
    rng: np.random.Generator
    untried: LateArms = field(default_factory=LateArms)
    tried: LateArms = field(default_factory=LateArms)

    def decide(self, view: View) -> Decision | None:
        """The policy's decision."""
        wanted = self.rng.random() < _PART or view.left <= _LAST
        if wanted and np.isfinite(view.curves.best):
            untried, tried = late_arms(self.task, self.policy, view)
            self.untried, self.tried = self.untried + untried, self.tried + tried
        return self.policy.decide(view)


def count(name: str, data: Path, folds: Sequence[Path], budgets: Sequence[int]) -> list[LateArms]:
    """Late arms of studies of a table: untried ones, tried ones."""
    task = load(name, 0, data)
    policy = default_without(name, task, folds)
    found = [LateArms(), LateArms()]
    for budget in budgets:
        watched = Watched(policy, task, np.random.default_rng(budget))
        simulate(task, watched, budget, 0)
        found = [found[0] + watched.untried, found[1] + watched.tried]
    return found


def main() -> None:
    """Count and print."""
    asked = asked_studies("python -m benchmarks.late", __doc__, "20,50,100,200")
    untried, tried = LateArms(), LateArms()
    for name in asked.names:
        new, old = count(name, asked.data, asked.folds, asked.budgets)
        untried, tried = untried + new, tried + old
    print(f"untried: {untried.text}\ntried: {tried.text}")


if __name__ == "__main__":
    main()
