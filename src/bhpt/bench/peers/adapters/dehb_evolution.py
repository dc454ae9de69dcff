"""DEHB: differential evolution over Hyperband's brackets, asked and told.

It evolves points of the unit cube. A point becomes the nearest unused arm when it is first asked
for, and DEHB believes that its point has that arm's loss: there is no way to tell it otherwise.
Points that it promotes keep their identity and go on where their arm stands. Fidelities are rounded
to whole units.
"""

from typing import TYPE_CHECKING

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
        loss = session.train(arms[key], job["fidelity"])[-1]
        optimizer.tell(job, {"fitness": loss, "cost": job["fidelity"]})


METHODS = {"dehb": evolve}
