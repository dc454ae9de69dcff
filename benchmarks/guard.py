"""What the guard of studies does to rules: `python -m benchmarks.guard --policies bhpt,next-unit`.

Each rule tunes the packaged tables twice, as printed and under the guard (`policies.sensible`).
Prints for each how many of its units as printed go to an arm without a chance by its own predictor
while another has one, in how many studies that changes how they end, and by how much regret differs
in the mean of all, with a 95% interval of Student's t where there are three studies or more.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from benchmarks.policy.options import listed
from bhpt.bench.catalogue import load
from bhpt.bench.metrics import score
from bhpt.bench.paper.evidence import interval
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import View
from bhpt.policies.interface import Decision, PredictingPolicy
from bhpt.policies.registry import make_policy, make_rule
from bhpt.policies.sensible import hopeful_arms

TABLES = ("resnet_cifar10", "arch_cifar10", "fcnet_mnist", "vae_mnist")


@dataclass
class Counted:
    """A rule as printed.

    Attributes:
        rule: It.
        units: Units that it has decided on.
        hopeless: Of these, how many went to an arm without a chance while another had one.
    """

    rule: PredictingPolicy
    units: int = 0
    hopeless: int = 0

    def decide(self, view: View) -> Decision | None:
        """The rule's decision."""
        decision = self.rule.decide(view)
        if decision is None:
            return None
        self.units += 1
        if np.isfinite(view.curves.best):
            hopeful = hopeful_arms(view, self.rule.predictor.predict(view))
            self.hopeless += bool(hopeful.any() and not hopeful[decision.arm])
        return decision


@dataclass(frozen=True)
class Compared:
    """A study as printed and under the guard: units, hopeless ones, regret of either."""

    units: int
    hopeless: int
    printed: float
    guarded: float


def compare(name: str, task: Task, budget: int, seed: int) -> Compared:
    """Tune a table with a rule; where the guard has nothing to do, it is not run again."""
    rule = make_rule(name)
    if not isinstance(rule, PredictingPolicy):
        raise SystemExit(f"{name} predicts nothing, so no guard judges it")
    counted = Counted(rule)
    printed = score(task, budget, simulate(task, counted, budget, seed)).regret
    guarded = printed
    if counted.hopeless:
        guarded = score(task, budget, simulate(task, make_policy(name), budget, seed)).regret
    return Compared(counted.units, counted.hopeless, printed, guarded)


def line(name: str, found: list[Compared]) -> str:
    """What is printed of a rule."""
    apart = np.array([one.guarded - one.printed for one in found])
    units, hopeless = sum(one.units for one in found), sum(one.hopeless for one in found)
    differs = interval(apart).text(4, signed=True)
    return (
        f"{name}: {hopeless / units:.1%} of {units} units, {(apart < 0).sum()} of {len(found)} "
        f"studies better, {(apart > 0).sum()} worse, regret {differs}"
    )


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policies", default="learned,nameless,bhpt,bhpt-eps,next-unit,plans")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--budgets", default="10,20,40,80,160")
    parser.add_argument("--seeds", type=int, default=2)
    asked = parser.parse_args()
    for name in listed(asked.policies):
        found = [
            compare(name, load(table, seed), int(budget), seed)
            for seed in range(asked.seeds)
            for table in listed(asked.tables)
            for budget in listed(asked.budgets)
        ]
        print(line(name, found), flush=True)


if __name__ == "__main__":
    main()
