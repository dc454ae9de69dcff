"""Optuna: the default sampler (multivariate TPE) with a pruner, asked and told one unit at a time.

The sampler's suggestion becomes the nearest unused arm before Optuna records it, so its model sees
true configurations. While the sampler draws at random (its first ten trials), so is the arm drawn.
Optuna only stops trials and never resumes them. The first trial runs to its end.
"""

from typing import TYPE_CHECKING, Any

import optuna

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.serve import Session

optuna.logging.set_verbosity(optuna.logging.ERROR)


class OnArms(optuna.samplers.TPESampler):  # type: ignore[misc]  # the package is not here for mypy
    """TPE whose suggestions are arms of the session."""

    def __init__(self, session: "Session") -> None:
        """Sample for this session."""
        super().__init__(seed=session.seed)
        self._session = session
        self.arm: int | None = None

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:  # noqa: ARG002
        """All features, from the first trial on."""
        return {name: optuna.distributions.FloatDistribution(0, 1) for name in self._session.names}

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        """What TPE suggests, moved to an arm."""
        wished = super().sample_relative(study, trial, search_space)
        if wished:
            self.arm = self._session.nearest([wished[name] for name in self._session.names])
        else:
            self.arm = self._session.draw()
        assert self.arm is not None
        return dict(self._session.config(self.arm))


def _optimize(session: "Session", pruner: Any) -> None:
    sampler = OnArms(session)
    study = optuna.create_study(study_name=f"seed-{session.seed}", sampler=sampler, pruner=pruner)
    space = {name: optuna.distributions.FloatDistribution(0, 1) for name in session.names}
    while session.unused():
        trial = study.ask(space)
        arm = sampler.arm
        assert arm is not None
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
