"""DEHB: differential evolution over Hyperband's brackets, by its ask and tell.

It evolves points of the unit cube. A point becomes an unused arm when it is first asked for (the
nearest, with cells of equal size), and DEHB's record of the point is set to the arm's true features
before it gets the loss, as its own replay of a history does. What it promotes keeps its identity
and goes on where its arm stands. Fidelities are rounded to whole units.
"""

from typing import TYPE_CHECKING

import numpy as np
from ConfigSpace import ConfigurationSpace, Float
from dehb import DEHB

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.serve import Session


def evolve(session: "Session") -> None:
    """DEHB with its defaults, η = 3."""
    space = ConfigurationSpace(seed=session.seed)
    space.add(*(Float(name, (0.0, 1.0)) for name in session.names))
    optimizer = DEHB(
        f=None,
        cs=space,
        min_fidelity=1,
        max_fidelity=session.units,
        n_workers=1,
        seed=session.seed,
        output_path=str(session.folder),
        save_freq="end",
        log_level="ERROR",
    )
    arms: dict[int, int] = {}
    while True:
        job = optimizer.ask()
        key = int(job["config_id"])
        if key not in arms:
            arm = session.nearest([float(job["config"][name]) for name in session.names])
            if arm is None:
                return
            arms[key] = arm
            optimizer.config_repository.configs[key].config = np.array(session.points[arm])
        loss = session.train(arms[key], job["fidelity"])[-1]
        optimizer.tell(job, {"fitness": loss, "cost": job["fidelity"]})


METHODS = {"dehb": evolve}
