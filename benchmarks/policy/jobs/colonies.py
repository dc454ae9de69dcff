"""Ant colonies on tours and on packing, with the names that such programs have.

A unit is some rounds of all ants; the loss is the length of the best tour so far, or of the mean of
a round, or the negative worth of what is packed.

Notation:
    V  places or things, P  ants.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .data import Floats
from .job import Job
from .ranges import Axis, Config

COLONY = (
    Axis("alpha", (0.7, 1.5), (0.0, 6.0), always=True, also=("pheromone_weight",)),
    Axis("beta", (2.0, 5.0), (0.0, 12.0), always=True, also=("heuristic_weight", "visibility")),
    Axis("rho", (0.05, 0.4), (0.001, 0.99), log=True,
         also=("evaporation_rate", "evaporation", "decay")),
    Axis("n_ants", (10, 30), (1, 60), log=True, whole=True, also=("num_ants", "ant_count")),
    Axis("q0", (0.0, 0.5), (0.0, 0.99), also=("exploitation",)),
    Axis("Q", (0.3, 3.0), (1e-3, 1000.0), log=True, also=("deposit", "q")),
    Axis("tau0", (0.1, 3.0), (1e-4, 1000.0), log=True, also=("initial_pheromone",)),
    Axis("elitist_weight", (0.0, 5.0), (0.0, 50.0), also=("elite_weight", "e")),
)  # fmt: skip
Tours = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Task:
    """What ants do.

    Attributes:
        eager: How good a step seems at once, [V, V].
        cost: Of complete tours [P, V], [P].
        unit: A usual cost.
        about: In words.
    """

    eager: Floats
    cost: Callable[[Tours], Floats]
    unit: float
    about: str

    @property
    def untrained(self) -> float:
        """The mean cost of ants that no other has left a trail for."""
        alone: Config = {"alpha": 0.0, "beta": 2.0, "n_ants": 50}
        tours = _walked(self, np.ones_like(self.eager), alone, np.random.default_rng(0))
        return float(self.cost(tours).mean())


def _tour(rng: np.random.Generator) -> _Task:
    """Places of the plane in groups or anywhere, to be visited and left for the first one."""
    count = int(rng.choice([15, 30, 50]))
    centre = rng.random((int(rng.choice([3, count])), 2))
    at = centre[rng.integers(len(centre), size=count)] + 0.07 * rng.standard_normal((count, 2))
    far = np.sqrt(((at[:, None] - at) ** 2).sum(axis=2))

    def cost(tours: Tours) -> Floats:
        return np.asarray(far[tours, np.roll(tours, -1, axis=1)].sum(axis=1))

    near = 1 / (far + 0.02)
    unit = float(cost(np.argsort(rng.random((20, count)), axis=1)).mean())
    return _Task(near / near.max(), cost, unit / 3, f"tour of {count} places")


def _order(rng: np.random.Generator) -> _Task:
    """Works of a machine whose lateness is to be small; to change between kinds takes time."""
    count = int(rng.choice([15, 30]))
    takes, due = rng.uniform(0.2, 1, count), rng.uniform(0, 0.6 * count, count)
    weight = rng.uniform(0.2, 2, count)
    change = rng.uniform(0, 1, (count, count)) * rng.choice([0.1, 0.6])

    def cost(tours: Tours) -> Floats:
        gaps = np.concatenate([np.zeros((len(tours), 1)), change[tours[:, :-1], tours[:, 1:]]], 1)
        ends = np.cumsum(takes[tours] + gaps, axis=1)
        return np.asarray((weight[tours] * np.maximum(ends - due[tours], 0)).sum(axis=1))

    soon = weight / takes / (due + 1) / (0.3 + change)
    unit = float(cost(np.argsort(rng.random((20, count)), axis=1)).mean())
    return _Task(soon / soon.max(), cost, unit / 3, f"{count} works of one machine")


def _walked(task: _Task, trail: Floats, c: Config, draw: np.random.Generator) -> Tours:
    """One complete tour of each ant, [P, V]."""
    ants, count = int(c.get("n_ants", 15)), len(trail)
    with np.errstate(all="ignore"):
        wish = trail ** float(c["alpha"]) * (task.eager + 1e-9) ** float(c["beta"])
    wish = np.nan_to_num(wish, nan=0.0, posinf=1e300) + 1e-300
    tours = np.empty((ants, count), int)
    tours[:, 0] = draw.integers(count, size=ants)
    free = np.ones((ants, count))
    rows = np.arange(ants)
    logs = np.log(wish)
    for at in range(1, count):
        free[rows, tours[:, at - 1]] = 0.0
        here = np.where(free > 0, logs[tours[:, at - 1]], -np.inf)
        greedy = draw.random(ants) < float(c.get("q0", 0.0))
        noise = draw.gumbel(size=here.shape)
        tours[:, at] = (here + np.where(greedy[:, None], 0.0, noise)).argmax(axis=1)
    return tours


def ant_colony(rng: np.random.Generator, longer: int = 1) -> Job:
    """An ant system with elitists; what is measured is the best so far or the mean of a round."""
    task = (_tour if rng.random() < 0.6 else _order)(rng)
    units, rounds = longer * int(rng.integers(8, 61)), int(rng.choice([1, 3]))
    best_so_far = bool(rng.random() < 0.6)

    def train(config: Config, seed: int) -> list[float]:
        draw = np.random.default_rng(seed)
        trail = np.full(task.eager.shape, float(config.get("tau0", 1.0)))
        keep, elite = 1 - float(config.get("rho", 0.1)), float(config.get("elitist_weight", 1.0))
        losses, best, tour = [task.untrained], float("inf"), None
        for at in range(units * rounds):
            tours = _walked(task, trail, config, draw)
            costs = task.cost(tours)
            if costs.min() < best:
                best, tour = float(costs.min()), tours[costs.argmin()]
            trail = keep * trail
            gifts = float(config.get("Q", 1.0)) * task.unit / (costs + 1e-9) / len(tours)
            np.add.at(trail, (tours[:, :-1], tours[:, 1:]), gifts[:, None])
            if tour is not None:
                gift = elite * float(config.get("Q", 1.0)) * task.unit / (best + 1e-9) / len(tours)
                trail[tour[:-1], tour[1:]] += gift
            if (at + 1) % rounds == 0:
                losses.append(best if best_so_far else float(costs.mean()))
        return losses

    metric = "cost of the best so far" if best_so_far else "mean cost of a round"
    return Job("ant-colony", metric, units, f"{task.about}; {rounds} rounds a unit", COLONY, train)
