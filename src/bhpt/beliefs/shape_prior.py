"""Which shapes curves have, by kind of study: numbers learned from tables of real curves.

Made by `python -m benchmarks.learn_shapes` from curves of LCBench, TaskSet, DeepOBS, NAS-Bench-NLP,
neural translation and XGBoost, and of six tables of each of nine kinds of small jobs (contrastive,
diffusion, factorisation, fine_tuning, forecasting, hist_boosting, linear_sgd, net, rl_ppo of
`benchmarks.policy`); none of the tables that this package ships is among them.
"""

import numpy as np

from bhpt.beliefs.shape_evidence import StudyPrior, with_unlike
from bhpt.beliefs.shapes import Shape

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
    Shape(0.0, 0.6, 0.2, 0.03, 0.003),
    Shape(0.0, 0.6, 0.2, 0.2, 0.01),
    Shape(0.0, 0.6, 0.5, 0.2, 0.01),
    Shape(0.7, 0.002, 0.5, 0.03, 0.003),
    Shape(0.7, 0.01, 0.2, 0.03, 0.003),
    Shape(0.7, 0.01, 0.5, 0.03, 0.003),
    Shape(0.7, 0.01, 0.5, 0.2, 0.01),
    Shape(0.7, 0.04, 0.5, 0.2, 0.01),
    Shape(0.7, 0.15, 0.5, 0.03, 0.003),
    Shape(0.7, 0.15, 0.5, 0.2, 0.01),
    Shape(0.7, 0.6, 0.5, 0.2, 0.01),
    Shape(2.0, 0.002, 0.5, 0.03, 0.003),
    Shape(2.0, 0.01, 0.5, 0.03, 0.003),
    Shape(2.0, 0.04, 0.5, 0.03, 0.003),
    Shape(2.0, 0.04, 0.5, 0.2, 0.01),
    Shape(2.0, 0.15, 0.5, 0.03, 0.003),
    Shape(2.0, 0.15, 0.5, 0.2, 0.01),
    Shape(2.0, 0.6, 0.2, 0.03, 0.003),
    Shape(2.0, 0.6, 0.5, 0.2, 0.01),
    Shape(-1.0, 1.0, 0.5, 0.2, 0.01),
    Shape(-2.0, 1.0, 0.5, 0.2, 0.01),
)
_KINDS = (  # thousandths, one line a kind, a number a shape
    "5 1 1 94 83 28 143 23 27 1 1 1 4 1 19 61 122 2 61 1 57 31 41 56 9 95 1 27 5 5",
    "29 6 1 14 19 5 1 1 36 1 1 1 1 1 1 12 5 7 1 1 335 6 78 108 227 97 1 2 5 5",
    "20 54 56 1 1 1 1 6 1 188 458 60 1 14 1 1 1 1 5 1 2 3 1 1 12 1 96 16 5 5",
    "26 61 1 1 1 1 1 45 1 349 2 11 1 48 1 1 11 18 73 16 16 1 5 51 64 116 1 75 5 5",
    "15 257 1 1 1 26 10 19 21 11 1 16 1 80 1 54 4 78 61 6 1 1 36 27 92 46 26 101 5 5",
    "19 8 1 21 51 12 6 4 1 1 3 3 62 1 122 200 23 5 1 8 22 22 56 166 33 83 1 59 5 5",
    "70 97 1 162 11 141 3 91 57 13 1 14 6 8 18 34 63 13 31 44 14 6 10 12 14 15 1 41 5 5",
    "3 7 136 1 64 25 8 2 14 26 1 16 1 1 1 27 93 48 132 1 1 1 12 1 37 304 31 2 5 5",
    "449 54 1 38 29 4 1 1 2 16 1 27 11 16 15 13 1 2 6 17 77 10 29 16 28 84 9 37 5 5",
)
_COUNTS = np.array([line.split() for line in _KINDS], float)
LEARNED = StudyPrior(
    kinds=_COUNTS / _COUNTS.sum(axis=1, keepdims=True),
    shares=np.array([0.160, 0.079, 0.084, 0.073, 0.066, 0.141, 0.099, 0.073, 0.226]),
    centre=np.array([-2.78, 0.26, -1.77]),
    spread=np.array([1.93, 1.34, 1.70]),
)
STUDIES = with_unlike(LEARNED, SHAPES)
