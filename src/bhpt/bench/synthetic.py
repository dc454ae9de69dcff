"""Curves drawn from the Freeze-Thaw model itself, so that a policy can be given the true model."""

import numpy as np

from bhpt.beliefs.freeze_thaw.hypers import Hypers, Structure
from bhpt.beliefs.freeze_thaw.kernels import asymptote_covariance, decay_covariance, remainder
from bhpt.beliefs.triangular import spectral_root
from bhpt.bench.baselines.truth import Truth
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray

ARMS = 84
EPOCHS = 288
UNIT = 6
UNTRAINED = 6.0
SIDE = 4.0  # arms lie in [0, 4]²; encoded to [0, 1]², so lengths shrink by it
TRUTH = Hypers(
    mean=0.0,
    amplitude=1.0,
    alpha=1.5,
    beta=5.0,
    magnitude=float(np.sqrt(10.0)),
    noise=0.001,
    lengths=(0.8 / SIDE, 0.8 / SIDE),
    rho=1.0,
)


def synthetic(seed: int, *, anchored: bool = True) -> Task:
    """Set number `seed` of the synthetic task.

    Args:
        seed: Which set.
        anchored: Whether curves start at ℓ_0 = 6 (`synthetic`) or anywhere (`synthetic-raw`).
            The raw model says nothing of an untrained loss; 6 is used to normalise both.
    """
    rng = np.random.default_rng((seed, int(anchored), 20))
    features = rng.uniform(size=(ARMS, 2))
    prior = asymptote_covariance("se", TRUTH, features, features, np.eye(ARMS))
    f = _normal(prior, rng, 1)[0]
    remains = remainder(TRUTH, EPOCHS)
    within = decay_covariance(remains, TRUTH, anchored=anchored)
    left = remains[1 : EPOCHS + 1] if anchored else np.zeros(EPOCHS)
    losses = left * UNTRAINED + np.outer(f, 1 - left) + _normal(within, rng, ARMS)
    return Task(
        name="synthetic" if anchored else "synthetic-raw",
        losses=losses,
        untrained=UNTRAINED,
        unit=UNIT,
        features=features,
        truth=Truth(Structure("se", anchored), TRUTH),
        kind="freeze-thaw",
    )


def _normal(covariance: FloatArray, rng: np.random.Generator, size: int) -> FloatArray:
    """Zero-mean draws, [size, n], also for a covariance that is singular to rounding."""
    drawn: FloatArray = rng.standard_normal((size, len(covariance))) @ spectral_root(covariance).T
    return drawn
