"""Random small cases for the oracle tests: every structure, ragged prefixes, unvisited arms."""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.belief import FreezeThaw
from bhpt.beliefs.freeze_thaw.hypers import Hypers, Kernel, Structure
from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.beliefs.scale import Scale
from bhpt.domain import Curves, FloatArray, IntArray, View
from tests.beliefs.dense import Dense

STRUCTURES = [
    Structure(kernel, anchored)
    for kernel in ("none", "se", "matern52")
    for anchored in (False, True)
]


@dataclass(frozen=True, eq=False)
class Case:
    structure: Structure
    hypers: Hypers
    values: FloatArray
    counts: IntArray
    features: FloatArray
    start: float

    @property
    def dense(self) -> Dense:
        return Dense.make(
            self.structure, self.hypers, self.features, self.values.shape[1], self.start
        )

    def view(self, *, left: float = 5.0, unit: int = 1, pending: tuple[int, ...] = ()) -> View:
        arms, epochs = self.values.shape
        prefixes = [self.values[k, :n].tolist() for k, n in enumerate(self.counts)]
        return View(
            curves=Curves.of(prefixes, epochs),
            unit=unit,
            left=left,
            costs=np.ones(arms),
            features=self.features,
            untrained=self.start,
            pending=np.array(pending, np.int64),
        )

    def belief(self) -> FreezeThaw:
        return FreezeThaw(self.structure, Scale("identity", running=False), self.hypers)

    def mixture(self) -> Mixture:
        return self.belief().condition(self.view())


def draw(structure: Structure, seed: int, arms: int = 5, epochs: int = 7) -> Case:
    """A case whose curves really come from its model."""
    rng = np.random.default_rng((seed, structure.anchored, len(structure.kernel)))
    features = rng.uniform(size=(arms, 2))
    hypers = random_hypers(rng, structure.kernel)
    start = 3.0
    dense = Dense.make(structure, hypers, features, epochs, start)
    values = rng.multivariate_normal(dense.mean, dense.covariance).reshape(arms, epochs)
    counts = rng.integers(0, epochs, size=arms)
    counts[:2] = 0, max(1, counts[1])
    return Case(structure, hypers, values, counts, features, start)


def random_hypers(rng: np.random.Generator, kernel: Kernel) -> Hypers:
    lengths = tuple(rng.uniform(0.3, 1.5, size=2).tolist()) if kernel != "none" else ()
    return Hypers(
        mean=float(rng.normal()),
        amplitude=float(rng.uniform(0.3, 2)),
        alpha=float(rng.uniform(0.4, 2)),
        beta=float(rng.uniform(0.5, 6)),
        magnitude=float(rng.uniform(0.3, 3)),
        noise=float(rng.uniform(0.02, 0.3)),
        lengths=lengths,
        rho=float(rng.uniform(0.2, 1)),
    )
