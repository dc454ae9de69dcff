"""Syne Tune 0.16, the newest: ASHA that stops trials and never resumes them.

ASHA draws at random, so a new trial is a random unused arm. With conformal quantile regression its
suggestion becomes an unused arm (the nearest, with cells of equal size), and it gets that
arm's true configuration. Brackets are drawn from numpy's global generator, so that is seeded.
"""

import logging
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import uniform
from syne_tune.optimizer.baselines import ASHA, ASHACQR
from syne_tune.optimizer.scheduler import SchedulerDecision

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.serve import Session

logging.disable(logging.WARNING)


def _scheduler(session: "Session", kind: Any) -> Any:
    np.random.seed(session.seed)  # noqa: NPY002  # it is the global generator that is used
    return kind(
        {name: uniform(0, 1) for name in session.names},
        metric="loss",
        time_attr="unit",
        max_t=session.units,
        do_minimize=True,
        random_seed=session.seed,
    )


def _run(session: "Session", scheduler: Any, *, drawn: bool) -> None:
    """Follow a scheduler that stops trials, with one worker."""
    number = 0
    while (suggestion := scheduler.suggest()) is not None:
        point = [float(suggestion.config[name]) for name in session.names]
        arm = session.draw() if drawn else session.nearest(point)
        if arm is None:
            return
        trial = Trial(number, session.config(arm), datetime.now())
        scheduler.on_trial_add(trial)
        number += 1
        for unit in range(1, session.units + 1):
            result = {"loss": session.train(arm, unit)[-1], "unit": unit}
            if scheduler.on_trial_result(trial, result) != SchedulerDecision.CONTINUE:
                break
        scheduler.on_trial_remove(trial)


def asha(session: "Session") -> None:
    """ASHA with stopping, η = 3."""
    _run(session, _scheduler(session, ASHA), drawn=True)


def asha_cqr(session: "Session") -> None:
    """ASHA with stopping, new arms by conformal quantile regression."""
    _run(session, _scheduler(session, ASHACQR), drawn=False)


METHODS = {"asha": asha, "asha-cqr": asha_cqr}
