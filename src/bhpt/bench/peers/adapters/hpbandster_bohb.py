"""HpBandSter's BOHB, driven in process: its server hangs with today's libraries.

The brackets and the densities are the package's own, put together as its `BOHB` optimizer does. New
configurations are unused arms: a random one as often as the package would draw at random, else the
choice by its densities (`densities.py`). A promoted configuration goes on where its arm stands.
Budgets are rounded to whole units.
"""

import itertools
import logging
from typing import TYPE_CHECKING, Any

import numpy as np
from ConfigSpace import ConfigurationSpace, Float
from hpbandster.core.dispatcher import Job
from hpbandster.optimizers.config_generators.bohb import BOHB
from hpbandster.optimizers.iterations import SuccessiveHalving

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.densities import pick
    from bhpt.bench.peers.adapters.serve import Session
else:
    from densities import pick

ETA = 3
logging.getLogger("hpbandster").setLevel(logging.WARNING)


class _NoArmLeft(Exception):
    """Every arm has been used."""


def bohb(session: "Session") -> None:
    """BOHB with its defaults."""
    np.random.seed(session.seed)  # noqa: NPY002  # it is the global generator that BOHB uses
    space = ConfigurationSpace(seed=session.seed)
    space.add_hyperparameters([Float(name, (0.0, 1.0)) for name in session.names])
    generator = BOHB(configspace=space)

    def sample(_: float) -> tuple[dict[str, float], Any]:
        models = generator.kde_models
        modelled = bool(models) and session.random.random() >= generator.random_fraction
        if modelled:
            good, bad = (models[max(models)][kind] for kind in ("good", "bad"))
            arm = pick(session, good, bad, generator.num_samples, generator.bw_factor)
        else:
            arm = session.draw()
        if arm is None:
            raise _NoArmLeft
        return session.config(arm), {"model_based_pick": modelled}

    try:
        for number in itertools.count():
            _bracket(session, generator, _iteration(session, number, sample))
    except _NoArmLeft:
        return


def _iteration(session: "Session", number: int, sample: Any) -> Any:
    """Bracket `number`, as in the package's `BOHB.get_next_iteration`."""
    rungs = -int(np.log(1 / session.units) / np.log(ETA)) + 1
    budgets = session.units * np.power(float(ETA), -np.linspace(rungs - 1, 0, rungs))
    s = rungs - 1 - number % rungs
    first = int(np.floor(rungs / (s + 1)) * ETA**s)
    sizes = [max(int(first * ETA**-i), 1) for i in range(s + 1)]
    return SuccessiveHalving(
        HPB_iter=number, num_configs=sizes, budgets=budgets[-s - 1 :], config_sampler=sample
    )


def _bracket(session: "Session", generator: Any, iteration: Any) -> None:
    """Run one bracket to its end with one worker."""
    while (run := iteration.get_next_run()) is not None:
        key, config, budget = run
        job = Job(key, config=config, budget=budget)
        loss = session.train(session.arm_at(config), budget)[-1]
        job.result = {"loss": loss, "info": {}}
        iteration.register_result(job)
        generator.new_result(job)


METHODS = {"bohb": bohb}
