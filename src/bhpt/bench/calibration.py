"""How well the ends of curves are predicted: coverage of 90% intervals, error beside "last value".

For every task, seed and part of a curve that is seen, a random half of the arms has been trained
that far and the others not at all, and the end of each trained arm is predicted. The end is the
lowest loss within the horizon, which is what a study keeps and is scored by.

Notation:
    ℓ_0  untrained loss     e_k  lowest loss of arm k over all of its epochs, at most ℓ_0, [K]
    Errors are divided by ℓ_0 - min_k e_k, all that there is to gain in a task, so that tasks of
    different losses can be averaged: 0.01 is one percent of the way from untrained to the best.
Losses that are not finite, or worse than those of an untrained model, count as ℓ_0.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.weights import read_weights, shipped
from bhpt.beliefs.predictor import Predictor
from bhpt.bench.baselines.truth import Truth, freeze_thaw_belief, true_belief
from bhpt.bench.catalogue import load
from bhpt.bench.peers.calibration import Calibration
from bhpt.bench.peers.suites import Suite
from bhpt.bench.tasks import Task
from bhpt.bench.workers import workers
from bhpt.domain import Curves, FloatArray, IntArray, Misuse, View
from bhpt.policies.registry import our_belief, paper_belief, shapes_belief, wary_belief

PARTS = (0.05, 0.1, 0.2, 0.4)
INTERVAL = (0.05, 0.5, 0.95)  # a 90% interval with the median between its ends


def _true(truth: Truth | None) -> Predictor:
    if truth is None:
        raise Misuse("--belief truth: only synthetic tasks have one")
    return true_belief(truth)


PREDICTORS: dict[str, Callable[[Truth | None], Predictor]] = {
    "learned": lambda _: LearnedPredictor(shipped("ends")),
    "gaussian": lambda _: our_belief(),
    "wary": lambda _: wary_belief(),
    "paper": lambda _: paper_belief(),
    "shapes": lambda _: shapes_belief(),
    "freeze-thaw": lambda _: freeze_thaw_belief(None),
    "truth": _true,
}


def predictor(name: str) -> Callable[[Truth | None], Predictor]:
    """A predictor by its name; `learned:FILE` is the learned one with the weights in a file.

    Raises:
        Misuse: There is none of that name.
    """
    plain, _, file = name.partition(":")
    if plain == "learned" and file:
        weights = read_weights(Path(file), "ends")
        return lambda _: LearnedPredictor(weights)
    if name not in PREDICTORS:
        raise Misuse(f"--belief {name!r}: there are {', '.join(PREDICTORS)}")
    return PREDICTORS[name]


@dataclass(frozen=True)
class CalibrationScore:
    """How well the trained arms' ends of one task were predicted.

    Attributes:
        coverage: Share of ends within their 90% interval, its ends included.
        error: Mean absolute error of the predicted median, as part of what there is to gain.
        last_value: The same of the best loss so far.
    """

    coverage: float
    error: float
    last_value: float


def partly_trained(task: Task, seed: int, part: float) -> View:
    """A random half of the arms, trained for a part of their epochs, at least one unit."""
    arms = np.random.default_rng((seed, 78)).permutation(task.arms)[: max(1, task.arms // 2)]
    epochs = min(max(1, round(part * task.epochs / task.unit)) * task.unit, task.epochs)
    losses = np.zeros((len(arms), task.epochs))
    losses[:, :epochs] = task.losses[arms, :epochs]
    counts = np.full(len(arms), epochs)
    reports = np.stack([np.arange(len(arms)), counts], axis=1)
    curves = Curves(task.arms, task.epochs, arms, losses, counts, reports)
    return task.view(curves, task.epochs, seed)


def lowest_reached(losses: FloatArray, untrained: float) -> FloatArray:
    """Lowest loss of each curve, at most the untrained one, [K] of [K, T]."""
    best: FloatArray = losses.min(axis=1, initial=untrained, where=np.isfinite(losses))
    return best


def score(task: Task, predictor: Predictor, seed: int, part: float) -> CalibrationScore:
    """Predict the ends of half of a task's arms from a part of their curves."""
    view = partly_trained(task, seed, part)
    arms: IntArray = view.curves.visited
    ends = lowest_reached(task.losses, task.untrained)
    gain = task.untrained - float(ends.min())
    gain = gain if gain > 0 else 1.0  # no arm improves: errors stay losses
    end = ends[arms]
    last = lowest_reached(view.curves.losses[:, : view.curves.longest], task.untrained)
    low, median, high = np.minimum(
        predictor.predict(view).quantiles(INTERVAL)[:, arms], task.untrained
    )
    return CalibrationScore(
        coverage=float(np.mean((low <= end) & (end <= high))),
        error=float(np.mean(np.abs(median - end))) / gain,
        last_value=float(np.mean(np.abs(last - end))) / gain,
    )


@dataclass(frozen=True)
class CalibrationPlan:
    """What is predicted.

    Attributes:
        suites: Tasks, by suite.
        belief: Name of the predictor.
        seeds: Seeds 0 .. N-1: other arms, another half of them trained.
        arms: How many arms are drawn of each task.
        data: Folder with tables that are not packaged.
    """

    suites: tuple[Suite, ...]
    belief: str = "learned"
    seeds: int = 1
    arms: int = 100
    data: Path | None = None

    def check(self) -> None:
        """Refuse what cannot run, before anything has run."""
        predictor(self.belief)
        if self.seeds < 1:
            raise Misuse(f"--seeds {self.seeds}: at least one is needed")
        for suite in self.suites:
            for name in suite.tasks:
                predictor(self.belief)(load(name, 0, self.data, self.arms).truth)

    def cells(self) -> list[tuple[str, int]]:
        """All tasks and seeds."""
        return [
            (task, s) for s in range(self.seeds) for suite in self.suites for task in suite.tasks
        ]


def score_cell(cell: tuple[str, int], plan: CalibrationPlan) -> tuple[CalibrationScore, ...]:
    """The scores of one task and seed, one a part seen."""
    name, seed = cell
    task = load(name, seed, plan.data, plan.arms)
    make = predictor(plan.belief)
    return tuple(score(task, make(task.truth), seed, part) for part in PARTS)


def calibrate(
    plan: CalibrationPlan, jobs: int, progress: Callable[[int, int], None]
) -> list[Calibration]:
    """One line for each suite and part seen: means over tasks and seeds.

    Args:
        plan: What is predicted.
        jobs: Worker processes.
        progress: Called with cells done and cells in all, from the start on.
    """
    plan.check()
    if jobs < 1:
        raise Misuse(f"--jobs {jobs}: at least one is needed")
    cells = plan.cells()
    progress(0, len(cells))
    found = {}
    for cell, scores in zip(cells, _scored(cells, plan, min(jobs, len(cells))), strict=True):
        found[cell] = scores
        progress(len(found), len(cells))
    return [line for suite in plan.suites for line in _lines(suite, found)]


def _scored(
    cells: list[tuple[str, int]], plan: CalibrationPlan, jobs: int
) -> Iterator[tuple[CalibrationScore, ...]]:
    """Scores of every cell, in order; one thread a process."""
    if jobs == 1:
        yield from (score_cell(cell, plan) for cell in cells)
        return
    with workers(jobs) as pool:
        yield from pool.map(score_cell, cells, [plan] * len(cells))


def _lines(
    suite: Suite, found: dict[tuple[str, int], tuple[CalibrationScore, ...]]
) -> Iterator[Calibration]:
    for place, part in enumerate(PARTS):
        own = [scores[place] for (task, _), scores in found.items() if task in suite.tasks]
        yield Calibration(
            suite.name,
            100 * part,
            float(np.mean([s.coverage for s in own])),
            float(np.mean([s.error for s in own])),
            float(np.mean([s.last_value for s in own])),
        )
