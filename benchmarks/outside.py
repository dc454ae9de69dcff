"""Units outside a family of arms: `python -m benchmarks.outside TASK FAMILY --budget B`.

Plays BHPT with shapes on a table whose arms belong to families, with the lowest Q and with the
lowest Q by the unit that it takes (`bhpt.policies.bhpt`), and asks about each unit that went to an
arm outside the family what the value of the next unit (`bhpt.policies.next_unit`) would have run.
Prints a line for each rule and each look at an arm: units a run, how many the arm had still to go,
and how often the value of the next unit would have run the family, or an arm never tried.
"""

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from bhpt.bench.catalogue import load
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import BoolArray, View
from bhpt.policies.bhpt import Bhpt, horizon_epochs
from bhpt.policies.interface import Decision
from bhpt.policies.next_unit import unit_values
from bhpt.policies.registry import shapes_belief

_LOOKS = 2  # looks that have a line of their own; the last one stands for later ones, too


@dataclass(frozen=True)
class OutsideUnit:
    """A unit of an arm outside the family.

    Attributes:
        look: Which unit of its arm it is, from 1 on.
        to_go: Units to the arm's predicted end.
        family: Whether the value of the next unit would have run the family.
        untried: Whether it would have run an arm that was never tried.
    """

    look: int
    to_go: int
    family: bool
    untried: bool


@dataclass(frozen=True, eq=False)
class Watched:
    """A rule, and what is noted of its units outside the family, [K] of which are `inside`."""

    rule: Bhpt
    inside: BoolArray
    outside: list[OutsideUnit] = field(default_factory=list)

    def decide(self, view: View) -> Decision | None:
        """The rule's decision."""
        decision = self.rule.decide(view)
        if decision is not None and not self.inside[decision.arm]:
            self.outside.append(self._noted(view, decision.arm))
        return decision

    def _noted(self, view: View, arm: int) -> OutsideUnit:
        mixture = shapes_belief().condition(view)
        rival = int(np.argmin(unit_values(view, mixture)))
        tau = int(mixture.ends(horizon_epochs(view, view.horizon)).tau[arm])
        counts = view.curves.count_by_arm
        return OutsideUnit(
            look=int(counts[arm]) // view.unit + 1,
            to_go=-(-tau // view.unit),
            family=bool(self.inside[rival]),
            untried=bool(counts[rival] == 0),
        )


def play(task: Task, family: str, budget: int, seed: int, *, priced: bool) -> list[OutsideUnit]:
    """The units outside the family of one run."""
    rule = Bhpt(shapes_belief(), spared=0.02, untried=0.5, priced=priced, keeps=True)
    watched = Watched(rule, np.array(task.groups) == family)
    simulate(task, watched, budget, seed)
    return watched.outside


def lines(units: Iterable[OutsideUnit], runs: int) -> list[str]:
    """A line for each look."""
    made = []
    noted = list(units)
    for look in range(1, _LOOKS + 1):
        some = [u for u in noted if min(u.look, _LOOKS) == look]
        if some:
            made.append(
                f"look {look}{'' if look < _LOOKS else ' and later'}: "
                f"{len(some) / runs:.1f} units a run, "
                f"{np.mean([u.to_go for u in some]):.1f} to go; the value of the next unit would "
                f"have run the family in {np.mean([u.family for u in some]):.2f}, "
                f"an arm never tried in {np.mean([u.untried for u in some]):.2f}"
            )
    return made


def main() -> None:
    """Print the lines of both rules."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.outside", description=__doc__)
    parser.add_argument("task")
    parser.add_argument("family")
    parser.add_argument("--budget", type=int, default=160)
    parser.add_argument("--seeds", type=int, default=10)
    given = parser.parse_args()
    task = load(given.task, 0)
    for priced in (False, True):
        runs = [
            play(task, given.family, given.budget, seed, priced=priced)
            for seed in range(given.seeds)
        ]
        share = 1 - np.mean([len(run) for run in runs]) / given.budget
        print(f"{'Q by the unit' if priced else 'Q'}: share of {given.family} {share:.2f}")
        for line in lines((unit for run in runs for unit in run), len(runs)):
            print(f"  {line}")


if __name__ == "__main__":
    main()
