"""Optuna: the default sampler (multivariate TPE) with a pruner, by ask and tell, unit by unit.

The candidates that TPE draws from its density of good trials are unused arms, drawn as often as
that density says. While it draws at random (its first ten trials), so is the arm drawn. Optuna only
stops trials and never resumes them. The first trial runs to its end.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.serve import Session

optuna.logging.set_verbosity(optuna.logging.ERROR)


class OnArms(optuna.samplers.TPESampler):  # type: ignore[misc]  # the package is not here for mypy
    """TPE whose suggestions are unused arms of the session."""

    def __init__(self, session: "Session") -> None:
        """Sample for this session."""
        super().__init__(seed=session.seed)
        self._session = session
        self._parzen_estimator_cls = _estimator_of(session)

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:  # noqa: ARG002
        """All features, from the first trial on."""
        return _space(self._session)

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        """What TPE suggests; a random arm as long as it would draw at random."""
        wished: dict[str, Any] = super().sample_relative(study, trial, search_space)
        if wished:
            return wished
        arm = self._session.draw()
        assert arm is not None
        return dict(self._session.config(arm))


def _estimator_of(session: "Session") -> Any:
    """TPE's density, of which only unused arms can be drawn."""

    class ArmEstimator(_ParzenEstimator):  # type: ignore[misc]
        def sample(self, rng: Any, size: int) -> dict[str, Any]:
            points = np.array([session.points[arm] for arm in session.unused()])
            columns = dict(zip(session.names, points.T, strict=True))
            log_density = self.log_pdf(columns)
            weights = np.exp(log_density - log_density.max())
            drawn = rng.choice(len(points), size=size, p=weights / weights.sum())
            return {name: column[drawn] for name, column in columns.items()}

    return ArmEstimator


def _space(session: "Session") -> dict[str, Any]:
    return {name: optuna.distributions.FloatDistribution(0, 1) for name in session.names}


def _optimize(session: "Session", pruner: Any) -> None:
    study = optuna.create_study(
        study_name=f"seed-{session.seed}", sampler=OnArms(session), pruner=pruner
    )
    while session.unused():
        trial = study.ask(_space(session))
        arm = session.arm_at(trial.params)
        for unit in range(1, session.units + 1):
            value = session.train(arm, unit)[-1]
            trial.report(value, unit)
            if trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
        else:
            study.tell(trial, value)


def tpe_hyperband(session: "Session") -> None:
    """TPE with the Hyperband pruner, R = T."""
    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=session.units)
    _optimize(session, pruner)


def tpe_halving(session: "Session") -> None:
    """TPE with the successive-halving pruner from the first unit on."""
    _optimize(session, optuna.pruners.SuccessiveHalvingPruner(min_resource=1))


METHODS = {"hyperband": tpe_hyperband, "halving": tpe_halving}
