"""What the predictor expects arms to gain on the best loss so far, beside what they would gain.

`python -m benchmarks.gains --data FOLDER --networks FOLDERS` tunes tables with `default` and with
networks trained without their kinds. At moments drawn by chance it asks the predictor of every arm
that can run how far below the best loss so far it is expected to end if all that is left went to
it, and looks up how far it would. Both are counted in units of what the study has gained so far and
averaged over arms, then over moments. Prints them by the part of the budget that was gone, and for
moments whose best loss is near zero, of tables without negative losses.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.left_out_tables import asked_studies, default_without
from bhpt.beliefs.scale import starting_level
from bhpt.bench.catalogue import load
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray, View
from bhpt.policies.interface import Decision, PredictingPolicy

PARTS = (0.0, 0.25, 0.5, 0.75)  # of the budget: where each line begins
_ASKED = 0.12  # of the moments are looked at
_NEAR = 0.1  # of what was gained: a best loss below this is near zero
_MOST = 3.0  # of what was gained: a leap counts as no more


@dataclass(frozen=True)
class GainsOfMoment:
    """Means over the arms of a moment that can run.

    Attributes:
        gone: The part of the budget that was gone.
        near: Whether the best loss is near zero, and no loss of the table is negative.
        expected: Gain that the predictor expects, in units of what the study has gained.
        real: Gain that there would be.
    """

    gone: float
    near: bool
    expected: float
    real: float


def gains_of(task: Task, policy: PredictingPolicy, view: View, gone: float) -> GainsOfMoment | None:
    """Those of a moment; None where nothing has improved or is predicted of any arm."""
    best, ends = view.curves.best, policy.predictor.predict(view)
    so_far = starting_level(view) - best
    promised = best - ends.mean_at_most(best)
    known = view.choosable & np.isfinite(promised)
    if not so_far > 0 or not known.any():
        return None
    real = np.maximum(best - _ends(task, view), 0.0)
    scaled = [np.minimum(one[known] / so_far, _MOST).mean() for one in (promised, real)]
    near = best < _NEAR * so_far and not (task.losses < 0).any()
    return GainsOfMoment(gone, bool(near), float(scaled[0]), float(scaled[1]))


def _ends(task: Task, view: View) -> FloatArray:
    """The lowest loss that each arm would still see if all that is left went to it, [K]."""
    epoch, counts = np.arange(task.losses.shape[1]), view.curves.count_by_arm[:, None]
    ahead = (epoch >= counts) & (epoch < counts + view.unit * view.horizon[:, None])
    usable = ahead & np.isfinite(task.losses)
    ends: FloatArray = task.losses.min(axis=1, initial=np.inf, where=usable)
    return ends


@dataclass
class Watched:
    """A policy whose expected gains are compared at some moments.

    Attributes:
        policy: It.
        task: What it tunes.
        budget: Units.
        rng: Draws the moments.
        found: What was found.
    """

    policy: PredictingPolicy
    task: Task
    budget: int
    rng: np.random.Generator
    found: list[GainsOfMoment] = field(default_factory=list)

    def decide(self, view: View) -> Decision | None:
        """The policy's decision."""
        if self.rng.random() < _ASKED and np.isfinite(view.curves.best):
            moment = gains_of(self.task, self.policy, view, view.step / self.budget)
            self.found += [] if moment is None else [moment]
        return self.policy.decide(view)


def watch(
    name: str, data: Path, folds: Sequence[Path], budgets: Sequence[int]
) -> Iterator[GainsOfMoment]:
    """The moments of studies of a table."""
    task = load(name, 0, data)
    policy = default_without(name, task, folds)
    for budget in budgets:
        watched = Watched(policy, task, budget, np.random.default_rng(budget))
        simulate(task, watched, budget, 0)
        yield from watched.found


def lines(found: Sequence[GainsOfMoment]) -> Iterator[str]:
    """What is printed."""
    for first, last in zip(PARTS, (*PARTS[1:], np.inf), strict=True):
        own = [one for one in found if first <= one.gone < last]
        yield f"from {first:.0%} of the budget: {_text(own)}"
    yield f"near a loss of zero: {_text([one for one in found if one.near])}"


def _text(found: Iterable[GainsOfMoment]) -> str:
    rows = np.array([(one.expected, one.real) for one in found])
    if not len(rows):
        return "no moments"
    expected, real = rows.mean(axis=0)
    return f"{len(rows)} moments, expected {expected:.4f}, real {real:.4f}"


def main() -> None:
    """Compare and print."""
    asked = asked_studies("python -m benchmarks.gains", __doc__, "50,200")
    found = [
        one for name in asked.names for one in watch(name, asked.data, asked.folds, asked.budgets)
    ]
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
