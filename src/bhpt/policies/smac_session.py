"""One conversation with the package smac over a finite set of arms. Needs the extra."""

import logging
import tempfile
from pathlib import Path

import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace, Float
from smac import HyperparameterOptimizationFacade as Facade
from smac import Scenario
from smac.acquisition.maximizer import AbstractAcquisitionMaximizer
from smac.runhistory import TrialInfo, TrialValue

from bhpt.domain import FloatArray, IntArray
from bhpt.policies.to_the_end import Finished


class AmongArms(AbstractAcquisitionMaximizer):  # type: ignore[misc, unused-ignore]
    """Ranks the arms that have not been tried by the acquisition function."""

    def __init__(self, space: ConfigurationSpace, arms: list[Configuration], seed: int) -> None:
        """Take the configurations of all arms."""
        super().__init__(space, challengers=len(arms), seed=seed)
        self._arms = arms

    def _maximize(
        self, previous_configs: list[Configuration], n_points: int
    ) -> list[tuple[float, Configuration]]:
        tried = set(previous_configs)
        rest = [arm for arm in self._arms if arm not in tried]
        return self._sort_by_acquisition_value(rest)[:n_points]


def next_arm(
    features: FloatArray, finished: Finished, untried: IntArray, trials: int, seed: int
) -> tuple[int, str]:
    """The next arm to train and how SMAC came to it.

    Args:
        features: Encoded configurations, [K, D].
        finished: What SMAC is told.
        untried: Arms that may be chosen.
        trials: How many arms the budget can train; sizes SMAC's initial design.
        seed: SMAC's seed.
    """
    space = ConfigurationSpace(seed=seed)
    names = [f"x{d:03d}" for d in range(features.shape[1])]
    space.add([Float(name, (0.0, 1.0)) for name in names])
    configs = [Configuration(space, vector=row) for row in np.clip(features, 0.0, 1.0)]
    with tempfile.TemporaryDirectory() as folder:
        facade = _facade(space, configs, trials, seed, Path(folder))
        for arm, loss in zip(finished.arms.tolist(), finished.losses.tolist(), strict=True):
            facade.ask()
            info = TrialInfo(config=configs[arm], seed=0)
            facade.tell(info, TrialValue(cost=loss), save=False)
        asked = facade.ask().config
    away = np.square(features[untried] - asked.get_array()).sum(axis=1)
    return int(untried[away.argmin()]), str(asked.origin)


def _facade(
    space: ConfigurationSpace, configs: list[Configuration], trials: int, seed: int, folder: Path
) -> Facade:
    scenario = Scenario(
        space,
        deterministic=True,
        n_trials=max(trials, len(configs)),
        output_directory=folder,
        seed=seed,
    )
    initial = Facade.get_initial_design(scenario, n_configs=max(1, trials // 4))
    return Facade(
        scenario,
        initial_design=initial,
        acquisition_maximizer=AmongArms(space, configs, seed),
        config_selector=Facade.get_config_selector(scenario, retrain_after=1),
        intensifier=Facade.get_intensifier(scenario, max_config_calls=1),
        logging_level=logging.ERROR,
        overwrite=True,
    )
