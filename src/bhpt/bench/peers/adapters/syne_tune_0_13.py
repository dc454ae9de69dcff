"""Syne Tune 0.13, the last with DyHPO, MOBSTER, Hyper-Tune and ASHA that promotes.

Schedulers pause trials at rungs and resume them later. They are restricted to the arms by
`restrict_configurations`; the density estimator of BOHB has no such option, so its suggestions
become the nearest unused arm, and it is told of that arm's true configuration.
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import uniform
from syne_tune.optimizer import baselines
from syne_tune.optimizer.scheduler import SchedulerDecision

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.serve import Session

logging.disable(logging.WARNING)


@dataclass
class Started:
    """A trial of the scheduler, the arm that it trains and how far it is."""

    trial: Any
    arm: int
    units: int = 0


def _run(session: "Session", scheduler: Any) -> None:
    """Follow a scheduler that pauses and resumes, with one worker."""
    started: list[Started] = []
    while (suggestion := scheduler.suggest(trial_id=len(started))) is not None:
        if not suggestion.spawn_new_trial_id:
            _train(session, scheduler, started[int(suggestion.checkpoint_trial_id)])
            continue
        arm = session.nearest([float(suggestion.config[name]) for name in session.names])
        if arm is None:
            return
        config = {**suggestion.config, **session.config(arm)}
        started.append(Started(Trial(len(started), config, datetime.now()), arm))
        scheduler.on_trial_add(started[-1].trial)
        _train(session, scheduler, started[-1])


def _train(session: "Session", scheduler: Any, one: Started) -> None:
    """Report unit after unit until the scheduler pauses the trial or it is at its end."""
    while one.units < session.units:
        one.units += 1
        result = {"loss": session.train(one.arm, one.units)[-1], "unit": one.units}
        if scheduler.on_trial_result(one.trial, result) != SchedulerDecision.CONTINUE:
            scheduler.on_trial_remove(one.trial)
            return
    scheduler.on_trial_complete(one.trial, result)


def _scheduler(session: "Session", kind: Any, **options: Any) -> Any:
    space = {name: uniform(0, 1) for name in session.names}
    search = {"debug_log": False, **options.pop("search_options", {})}
    return kind(
        {**space, "units": session.units},
        metric="loss",
        mode="min",
        resource_attr="unit",
        max_resource_attr="units",
        points_to_evaluate=[],
        random_seed=session.seed,
        search_options=search,
        **options,
    )


def _restricted(session: "Session") -> dict[str, Any]:
    return {"restrict_configurations": session.configs()}


def asha(session: "Session") -> None:
    """ASHA with promotion, η = 3, random new arms."""
    options = {"type": "promotion", "search_options": _restricted(session)}
    _run(session, _scheduler(session, baselines.ASHA, **options))


def mobster(session: "Session") -> None:
    """MOBSTER: ASHA with promotion, new arms by a Gaussian process over all rungs."""
    options = {"type": "promotion", "search_options": _restricted(session)}
    _run(session, _scheduler(session, baselines.MOBSTER, **options))


def hyper_tune(session: "Session") -> None:
    """Hyper-Tune: MOBSTER with several brackets and an ensemble over the rungs."""
    options = {"type": "promotion", "brackets": 4, "search_options": _restricted(session)}
    _run(session, _scheduler(session, baselines.HyperTune, **options))


def dyhpo(session: "Session") -> None:
    """DyHPO: resuming an arm and starting one compete by expected improvement."""
    _run(session, _scheduler(session, baselines.DyHPO, search_options=_restricted(session)))


def bohb(session: "Session") -> None:
    """Asynchronous BOHB with promotion."""
    _run(session, _scheduler(session, baselines.BOHB, type="promotion"))


METHODS = {
    "asha": asha,
    "mobster": mobster,
    "hyper-tune": hyper_tune,
    "dyhpo": dyhpo,
    "bohb": bohb,
}
