"""Which shapes curves have, by kind of study: numbers learned from tables of real curves.

Made by `python -m benchmarks.learn_shapes` from curves of LCBench, TaskSet, DeepOBS, NAS-Bench-NLP,
neural translation and XGBoost; none of the tables that this package ships is among them.
"""

import numpy as np

from bhpt.beliefs.shapes.evidence import StudyPrior, with_unlike
from bhpt.beliefs.shapes.shapes import Shape
from bhpt.beliefs.shapes.shorter_trainings import with_shorter

SHAPES = (
    Shape(2.0, 0.002, 0.2, 0.03, 0.003, learns=False),
    Shape(0.0, 0.002, 0.2, 0.03, 0.003),
    Shape(0.0, 0.002, 0.2, 0.2, 0.01),
    Shape(0.0, 0.002, 0.5, 0.03, 0.003),
    Shape(0.0, 0.002, 0.5, 0.2, 0.01),
    Shape(0.0, 0.01, 0.5, 0.03, 0.003),
    Shape(0.0, 0.01, 0.5, 0.2, 0.01),
    Shape(0.0, 0.04, 0.5, 0.03, 0.003),
    Shape(0.0, 0.04, 0.5, 0.2, 0.01),
    Shape(0.0, 0.15, 0.5, 0.2, 0.01),
    Shape(0.7, 0.002, 0.5, 0.03, 0.003),
    Shape(0.7, 0.002, 0.5, 0.2, 0.01),
    Shape(0.7, 0.01, 0.2, 0.2, 0.01),
    Shape(0.7, 0.01, 0.5, 0.03, 0.003),
    Shape(0.7, 0.01, 0.5, 0.2, 0.01),
    Shape(0.7, 0.04, 0.5, 0.03, 0.003),
    Shape(0.7, 0.04, 0.5, 0.2, 0.01),
    Shape(0.7, 0.15, 0.5, 0.2, 0.01),
    Shape(0.7, 0.6, 0.5, 0.2, 0.01),
    Shape(2.0, 0.002, 0.5, 0.03, 0.003),
    Shape(2.0, 0.01, 0.5, 0.03, 0.003),
    Shape(2.0, 0.01, 0.5, 0.2, 0.01),
    Shape(2.0, 0.04, 0.5, 0.03, 0.003),
    Shape(2.0, 0.04, 0.5, 0.2, 0.01),
    Shape(2.0, 0.15, 0.5, 0.03, 0.003),
    Shape(2.0, 0.15, 0.5, 0.2, 0.01),
    Shape(2.0, 0.6, 0.5, 0.03, 0.003),
    Shape(2.0, 0.6, 0.5, 0.2, 0.01),
    Shape(-1.0, 1.0, 0.5, 0.2, 0.01),
    Shape(-2.0, 1.0, 0.5, 0.2, 0.01),
)
_KINDS = (  # thousandths, one line a kind, a number a shape
    "1 1 1 74 77 25 172 24 35 7 3 25 1 22 70 13 125 66 1 64 27 11 39 55 5 27 2 21 5 5",
    "48 11 1 1 199 1 3 1 1 1 5 23 1 6 415 1 1 1 1 72 15 1 14 140 8 23 6 1 5 5",
    "18 121 1 143 16 80 7 52 77 48 6 10 1 27 80 1 72 56 31 31 17 12 2 26 1 17 4 39 5 5",
    "1 1 1 2 15 1 6 1 1 1 107 34 1 257 65 1 28 5 20 19 63 7 75 128 20 70 1 66 5 5",
    "1 1 1 1 9 18 1 1 11 8 1 1 1 1 5 1 25 1 1 709 12 12 63 69 13 29 1 4 5 5",
    "1 1 1 2 29 1 1 1 1 1 1 1 86 1 1 20 1 12 1 1 1 1 68 189 393 187 1 1 5 5",
    "455 1 1 1 13 1 1 1 13 1 83 1 1 70 1 1 1 1 1 265 1 1 12 13 1 64 1 1 5 5",
    "282 10 7 133 1 12 25 1 1 1 43 8 1 62 32 42 22 1 1 43 1 1 93 30 17 92 36 1 5 5",
    "430 86 120 1 43 19 53 19 6 1 1 1 32 1 17 1 1 10 41 1 26 1 1 1 27 34 1 23 5 5",
)
_COUNTS = np.array([line.split() for line in _KINDS], float)
LEARNED = StudyPrior(
    kinds=_COUNTS / _COUNTS.sum(axis=1, keepdims=True),
    shares=np.array([0.266, 0.127, 0.126, 0.114, 0.080, 0.068, 0.060, 0.086, 0.072]),
    centre=np.array([-3.69, 1.09, -2.12]),
    spread=np.array([1.19, 0.85, 1.06]),
)
STUDIES = with_unlike(with_shorter(LEARNED, SHAPES), SHAPES)
