"""Map points that a peer proposes to arms, so that no arm is favoured.

The arm nearest to a random point of the cube is far more often one near the middle: with a hundred
arms in seven dimensions a quarter of them get most of the points, and arms near the middle are
better than others. So each arm's squared distance is lessened by an offset of its own, such that
uniform points fall on all arms equally often (a power diagram with equal cells: semi-discrete
optimal transport, found by stochastic ascent).

Notation:
    K  arms, D  features, S  sampled points.
"""

from functools import lru_cache

import numpy as np

from bhpt.domain import FloatArray

SAMPLES = 2000
STEPS = 300
_RATE = 0.02 / 6  # for each feature: distances grow with their number


def equal_cells(points: FloatArray) -> FloatArray:
    """Offsets with which uniform points fall on all arms equally often, [K]."""
    return _equal_cells(points.tobytes(), points.shape)


@lru_cache(maxsize=64)
def _equal_cells(raw: bytes, shape: tuple[int, int]) -> FloatArray:
    points = np.frombuffer(raw).reshape(shape)
    arms, features = shape
    samples = np.random.default_rng(0).uniform(size=(SAMPLES, features))
    distances = ((samples[:, None, :] - points[None, :, :]) ** 2).sum(axis=-1)
    offsets = np.zeros(arms)
    for step in range(STEPS):
        nearest = (distances - offsets).argmin(axis=1)
        excess = np.bincount(nearest, minlength=arms) * arms / SAMPLES - 1
        offsets -= _RATE * features * excess / (1 + step / 60)
    offsets.flags.writeable = False
    return offsets
