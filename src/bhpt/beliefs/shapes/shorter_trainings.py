"""Studies whose trainings are shorter than those that the prior over shapes was learned from.

A training that is stopped at a part 1/c of its way shows the beginning of its curve only, and the
beginning of a decay (α, β) is the decay (α, cβ) of the shorter training, exactly: h of `shapes` is
the same function of x/β, normalised at another end. How long a training is beside those that were
learned from, nobody knows before the first report; all arms of a study share it. So every kind of
study is there several times, once for each c, and what comes weighs them.

Notation:
    c  1, 4, 16 or 64, each as likely: about the steps by which the times β of the list grow
    (α, cβ) is the listed shape whose load h is nearest, and of those of the same load the one whose
    misfit and noise are
"""

from dataclasses import replace

import numpy as np

from bhpt.beliefs.shapes.evidence import StudyPrior
from bhpt.beliefs.shapes.shapes import Shape
from bhpt.domain import FloatArray, IntArray

_LENGTHS = (1.0, 4.0, 16.0, 64.0)  # c, each as likely as another
_DIGITS = 12  # of loads that count as equal
_PARTS = np.arange(1, 65) / 64  # of a training, where loads are compared


def with_shorter(prior: StudyPrior, shapes: tuple[Shape, ...]) -> StudyPrior:
    """The prior with every kind of study for trainings of several lengths."""
    kinds = []
    for factor in _LENGTHS:
        moved = np.zeros_like(prior.kinds)
        np.add.at(moved.T, shortened(shapes, factor), prior.kinds.T)
        kinds.append(moved)
    shares = np.tile(prior.shares / len(_LENGTHS), len(_LENGTHS))
    return replace(prior, kinds=np.vstack(kinds), shares=shares)


def shortened(shapes: tuple[Shape, ...], factor: float) -> IntArray:
    """Place in the list of every shape as a training of 1/factor of the length shows it, [G].

    An arm that does not learn in a training does not learn in a shorter one.
    """
    loads = np.stack([shape.load(_PARTS) for shape in shapes])
    return np.array([_nearest(shapes, loads, at, factor) for at in range(len(shapes))], np.int64)


def _nearest(shapes: tuple[Shape, ...], loads: FloatArray, at: int, factor: float) -> int:
    shape = shapes[at]
    if not shape.learns:
        return at
    load = replace(shape, time=factor * shape.time).load(_PARTS)
    apart = np.abs(loads - load).max(axis=1).round(_DIGITS)
    places = [place for place, other in enumerate(shapes) if other.learns]
    return min(places, key=lambda j: (apart[j], *_unlike(shape, shapes[j])))


def _unlike(one: Shape, other: Shape) -> tuple[float, float]:
    """How far misfit and noise of two shapes are apart."""
    return abs(one.roughness - other.roughness), abs(one.misfit - other.misfit)
