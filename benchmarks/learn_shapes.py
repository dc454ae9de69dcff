"""Learn the prior over shapes from tables of real curves: `python -m benchmarks.learn_shapes DIR`.

DIR is a folder of tables as `bhpt bench --data` takes them, LCBench and TaskSet among them where
they are there. Expectation maximisation over kinds of studies: a study is of one kind, a kind says
how often each shape occurs. Of a grid of candidate shapes those that occur most are kept. Prints
the module `bhpt.beliefs.shapes.prior`.

Every source of tables (the name up to its first `_` or `:`) counts as the root of its number of
tables, so that forty tables of one source do not outweigh eight of another.
"""

import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np

from bhpt.beliefs.scale import Scale
from bhpt.beliefs.shapes.evidence import StudyPrior, StudySetting, StudyTarget, by_shape
from bhpt.beliefs.shapes.grid import ShapeRows, make_shape_grid, project_shapes
from bhpt.beliefs.shapes.shapes import Shape
from bhpt.beliefs.slice_sampling import sweep
from bhpt.bench.catalogue import in_folder
from bhpt.bench.tasks import Task, from_collection, from_pair
from bhpt.domain import Curves, FloatArray

ARMS = 40  # curves of each table
KINDS = 9
KEPT = 28  # shapes
LATE = (Shape(-1.0, 1.0, 0.5, 0.2, 0.01), Shape(-2.0, 1.0, 0.5, 0.2, 0.01))  # of no table, yet
WITNESSES = 8.0  # curves of a study that count in full: kinds are to differ
ROUNDS = 25
RESIZED = (4, 10, 17)  # rounds after which sizes of studies are fitted again
STILL = Shape(2.0, 0.002, 0.2, 0.03, 0.003, learns=False)
CANDIDATES = (
    STILL,
    *(
        Shape(curvature, time, misfit, *rough)
        for curvature, time in product((0.0, 0.7, 2.0), (0.002, 0.01, 0.04, 0.15, 0.6))
        for misfit in (0.2, 0.5)
        for rough in ((0.03, 0.003), (0.2, 0.01))
    ),
)


def tables(folder: Path) -> Iterator[Task]:
    """All tables below a folder, some of the arms of each."""
    for place in (folder, *(p for p in sorted(folder.iterdir()) if p.is_dir())):
        for name in in_folder(place):
            yield from_pair(place, name).sample(ARMS, 1)
    for collection, listing in (("lcbench", "datasets"), ("taskset", "tasks")):
        for file in sorted(folder.rglob(f"{collection}*.npz")):
            with np.load(file, allow_pickle=False) as arrays:
                keys = [str(key) for key in arrays[listing]]
            for key in keys:
                yield from_collection(file.parent, collection, key).sample(ARMS, 1)


def rows_of(task: Task) -> ShapeRows:
    """Whole curves of a table seen through all candidates."""
    everyone = np.arange(task.arms)
    counts = np.full(task.arms, task.epochs)
    reports = np.stack([everyone, counts], axis=1)
    curves = Curves(task.arms, task.epochs, everyone, task.losses, counts, reports)
    scaled = Scale("log", running=True).apply(curves, task.untrained)
    grid = make_shape_grid(CANDIDATES, task.epochs, scaled.start)
    return project_shapes(grid, scaled.values[:, grid.epochs - 1], grid.kept(counts))


def density(rows: ShapeRows, theta: FloatArray) -> FloatArray:
    """Log p(y | g) of every curve, [V, G]."""
    study, count = StudySetting.of(theta, 0), len(rows.counts)
    means, variances = np.full(count, study.mean), np.full(count, study.deviation**2)
    return by_shape(rows, study.size, means, variances, np.inf).log_density


def coarse(rows: ShapeRows) -> FloatArray:
    """A first θ: the best of a coarse grid when all shapes are equally common."""
    sizes = np.log(np.geomspace(0.01, 3, 14))
    grid = [np.array(t) for t in product((-3.0, -1.5, -0.7), np.log([0.3, 1.0, 3.0]), sizes)]
    found = [np.logaddexp.reduce(density(rows, theta), axis=1).sum() for theta in grid]
    return grid[int(np.argmax(found))]


def learn(studies: list[ShapeRows], share: FloatArray) -> tuple[StudyPrior, list[FloatArray]]:
    """Expectation maximisation over kinds of studies and the shapes of their arms."""
    rng = np.random.default_rng(0)
    thetas = [coarse(rows) for rows in studies]
    usual = []
    for rows, theta in zip(studies, thetas, strict=True):
        seen = density(rows, theta)
        usual.append(np.exp(seen - np.logaddexp.reduce(seen, axis=1)[:, None]).mean(axis=0))
    chosen = np.array(usual)[rng.choice(len(usual), KINDS, replace=False)]
    prior = _prior(0.8 * chosen + 0.2 / len(CANDIDATES), np.full(KINDS, 1 / KINDS), thetas)
    for turn in range(ROUNDS):
        counted = np.full((KINDS, len(CANDIDATES)), 0.02)
        shares = np.full(KINDS, 0.5)
        for rows, theta, weight in zip(studies, thetas, share, strict=True):
            seen = density(rows, theta)
            log_kinds = _target(prior, rows).kinds(theta)
            kinds = np.exp(log_kinds - np.logaddexp.reduce(log_kinds))
            shares += weight * kinds
            for kind in np.flatnonzero(kinds > 1e-3):
                joint = prior.kinds[kind] * np.exp(seen - seen.max(axis=1, keepdims=True))
                joint /= joint.sum(axis=1, keepdims=True)
                counted[kind] += weight * kinds[kind] * joint.sum(axis=0)
        prior = _prior(counted, shares, thetas)
        if turn in RESIZED:
            thetas = [_resized(prior, r, t, rng) for r, t in zip(studies, thetas, strict=True)]
    return prior, thetas


def _prior(counted: FloatArray, shares: FloatArray, thetas: list[FloatArray]) -> StudyPrior:
    """The prior that counts of shapes, kinds and sizes stand for."""
    found = np.array(thetas)
    return StudyPrior(
        counted / counted.sum(axis=1, keepdims=True),
        shares / shares.sum(),
        np.median(found, axis=0),
        1.2 * found.std(axis=0),
    )


def _target(prior: StudyPrior, rows: ShapeRows) -> StudyTarget:
    """What whole curves say of a study, so many of them in full together."""
    count = len(rows.counts)
    return StudyTarget(prior, rows, np.full(count, min(1.0, WITNESSES / count)), np.inf)


def _resized(
    prior: StudyPrior, rows: ShapeRows, theta: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """The best θ of a short chain."""
    target = _target(prior, rows)
    height = target(theta)
    best = height, theta
    for _ in range(4):
        theta, height = sweep(target, theta, height, rng, step=0.3, outs=4)
        best = max(best, (height, theta), key=lambda pair: pair[0])
    return best[1]


def module(prior: StudyPrior) -> str:
    """The text of `shapes.prior`: the shapes that occur most, and all kinds by them."""
    common = prior.shares @ prior.kinds
    common[0] = 1.0  # STILL is always kept
    kept = np.sort(np.argsort(-common)[:KEPT])
    shapes = [*(CANDIDATES[i] for i in kept), *LATE]
    kinds = prior.kinds[:, kept] / prior.kinds[:, kept].sum(axis=1, keepdims=True)
    kinds = np.hstack([kinds, np.full((KINDS, len(LATE)), 0.005)])
    return TEMPLATE.format(
        shapes="\n".join(
            f"    Shape({s.curvature}, {s.time}, {s.misfit}, {s.roughness}, {s.noise}"
            + ("," if s.learns else ", learns=False").rstrip(",")
            + "),"
            for s in shapes
        ),
        kinds="\n".join(f'    "{_thousandths(kind)}",' for kind in kinds),
        shares=", ".join(f"{s:.3f}" for s in prior.shares),
        centre=", ".join(f"{c:.2f}" for c in prior.centre),
        spread=", ".join(f"{s:.2f}" for s in prior.spread),
    )


def _thousandths(kind: FloatArray) -> str:
    return " ".join(str(max(1, round(1000 * p))) for p in kind / kind.sum())


TEMPLATE = '''\
"""Which shapes curves have, by kind of study: numbers learned from tables of real curves.

Made by `python -m benchmarks.learn_shapes` from curves of LCBench, TaskSet, DeepOBS, NAS-Bench-NLP,
neural translation and XGBoost; none of the tables that this package ships is among them.
"""

import numpy as np

from bhpt.beliefs.shapes.evidence import StudyPrior, with_unlike
from bhpt.beliefs.shapes.shapes import Shape
from bhpt.beliefs.shapes.shorter_trainings import with_shorter

SHAPES = (
{shapes}
)
_KINDS = (  # thousandths, one line a kind, a number a shape
{kinds}
)
_COUNTS = np.array([line.split() for line in _KINDS], float)
LEARNED = StudyPrior(
    kinds=_COUNTS / _COUNTS.sum(axis=1, keepdims=True),
    shares=np.array([{shares}]),
    centre=np.array([{centre}]),
    spread=np.array([{spread}]),
)
STUDIES = with_unlike(with_shorter(LEARNED, SHAPES), SHAPES)
'''


def main() -> None:
    found = list(tables(Path(sys.argv[1])))
    source = [task.name.split(":")[0].split("_")[0] for task in found]
    share = np.array([1 / np.sqrt(source.count(name)) for name in source])
    prior, _ = learn([rows_of(task) for task in found], share / share.mean())
    print(module(prior), end="")


if __name__ == "__main__":
    main()
