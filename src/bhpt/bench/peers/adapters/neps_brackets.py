"""NePS: ASHA and Hyperband, by its ask and tell.

Both draw new configurations uniformly, so a new one is a random unused arm. A trial's id is
`CONFIGURATION_rung_RUNG`: what comes before the rung says which arm goes on. NePS draws from the
global generators, so these are seeded.
"""

import random
from typing import TYPE_CHECKING, Any

import neps
import numpy as np
import torch

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.serve import Session

torch.set_num_threads(1)


def _run(session: "Session", algorithm: Any) -> None:
    random.seed(session.seed)
    np.random.seed(session.seed)  # noqa: NPY002  # it is the global generator that NePS uses
    torch.manual_seed(session.seed)
    features = {name: neps.HPOFloat(0.0, 1.0) for name in session.names}
    units = neps.HPOInteger(1, session.units, is_fidelity=True)
    optimizer = neps.AskAndTell(algorithm(neps.SearchSpace({**features, "units": units})))
    arms: dict[str, int] = {}
    while True:
        trial = optimizer.ask()
        key = trial.metadata.id.partition("_rung_")[0]
        if key not in arms:
            arm = session.draw()
            if arm is None:
                return
            arms[key] = arm
        loss = session.train(arms[key], trial.config["units"])[-1]
        optimizer.tell(trial.metadata.id, float(loss))


def asha(session: "Session") -> None:
    """ASHA with promotion, η = 3."""
    _run(session, neps.algorithms.asha)


def hyperband(session: "Session") -> None:
    """Hyperband, η = 3."""
    _run(session, neps.algorithms.hyperband)


METHODS = {"asha": asha, "hyperband": hyperband}
