"""Syne Tune 0.13, the last with DyHPO, MOBSTER, Hyper-Tune and ASHA that promotes.

Schedulers pause trials at rungs and resume them later. They are restricted to the arms by
`restrict_configurations`; the density estimator of BOHB has no such option, so its choice is made
among the unused arms here (`densities.py`). Once the list is used up its model-based searchers fail
with an exception of their own (an empty `zip`); that is patched, so that they go on with paused
trials.
"""

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from syne_tune.backend.trial_status import Trial
from syne_tune.config_space import uniform
from syne_tune.optimizer import baselines
from syne_tune.optimizer.scheduler import SchedulerDecision
from syne_tune.optimizer.schedulers import HyperbandScheduler
from syne_tune.optimizer.schedulers.searchers.bayesopt.tuning_algorithms.bo_algorithm_components import (  # noqa: E501
    RandomFromSetCandidateGenerator,
)
from syne_tune.optimizer.schedulers.searchers.kde import MultiFidelityKernelDensityEstimator

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.densities import pick
    from bhpt.bench.peers.adapters.serve import Session
else:
    from densities import pick

logging.disable(logging.WARNING)
_candidates = RandomFromSetCandidateGenerator.generate_candidates_en_bulk


def _candidates_or_none(self: Any, num_cands: int, exclusion_list: Any = None) -> Any:
    """No candidates where all have been used, instead of an exception."""
    if exclusion_list is not None and all(exclusion_list.contains(c) for c in self.base_set):
        return []
    return _candidates(self, num_cands, exclusion_list)


RandomFromSetCandidateGenerator.generate_candidates_en_bulk = _candidates_or_none


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
        trial = Trial(len(started), suggestion.config, datetime.now())
        started.append(Started(trial, session.arm_at(suggestion.config)))
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


class ArmDensities(MultiFidelityKernelDensityEstimator):  # type: ignore[misc]  # not here for mypy
    """The density estimator, choosing among unused arms."""

    def __init__(self, session: "Session", space: dict[str, Any], **options: Any) -> None:
        """Choose for this session."""
        super().__init__(space, **options)
        self._session = session

    def _get_config(self, **_: Any) -> dict[str, Any] | None:
        models = self._train_kde(np.array(self.X), np.array(self.y)) if self.y else None
        if models is None or self.random_state.rand() < self.random_fraction:
            arm = self._session.draw()
        else:
            bad, good = models
            arm = pick(self._session, good, bad, self.num_candidates, self.bandwidth_factor)
        return None if arm is None else {**self._session.config(arm), "units": self._session.units}


def _space(session: "Session") -> dict[str, Any]:
    return {**{name: uniform(0, 1) for name in session.names}, "units": session.units}


def _scheduler(session: "Session", kind: Any, **options: Any) -> Any:
    return kind(
        _space(session),
        metric="loss",
        mode="min",
        resource_attr="unit",
        max_resource_attr="units",
        random_seed=session.seed,
        **options,
    )


def _restricted(session: "Session") -> dict[str, Any]:
    search = {"debug_log": False, "restrict_configurations": session.configs()}
    return {"points_to_evaluate": [], "search_options": search}


def asha(session: "Session") -> None:
    """ASHA with promotion, η = 3, random new arms."""
    options = {"type": "promotion", **_restricted(session)}
    _run(session, _scheduler(session, baselines.ASHA, **options))


def mobster(session: "Session") -> None:
    """MOBSTER: ASHA with promotion, new arms by a Gaussian process over all rungs."""
    options = {"type": "promotion", **_restricted(session)}
    _run(session, _scheduler(session, baselines.MOBSTER, **options))


def hyper_tune(session: "Session") -> None:
    """Hyper-Tune: MOBSTER with several brackets and an ensemble over the rungs."""
    options = {"type": "promotion", "brackets": 4, **_restricted(session)}
    _run(session, _scheduler(session, baselines.HyperTune, **options))


def dyhpo(session: "Session") -> None:
    """DyHPO: resuming an arm and starting one compete by expected improvement."""
    _run(session, _scheduler(session, baselines.DyHPO, **_restricted(session)))


def bohb(session: "Session") -> None:
    """Asynchronous BOHB with promotion."""
    searcher = ArmDensities(
        session,
        _space(session),
        metric="loss",
        mode="min",
        resource_attr="unit",
        points_to_evaluate=[],
        random_seed=session.seed,
        debug_log=False,
    )
    options = {"type": "promotion", "searcher": searcher}
    _run(session, _scheduler(session, HyperbandScheduler, **options))


METHODS = {
    "asha": asha,
    "mobster": mobster,
    "hyper-tune": hyper_tune,
    "dyhpo": dyhpo,
    "bohb": bohb,
}
