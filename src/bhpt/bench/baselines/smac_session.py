"""One suggestion of the package smac over a finite set of arms. Needs the extra.

SMAC gets everything that is finished and makes one suggestion; no state is kept, so a study that
is resumed gets the same. Every configuration that it can suggest is an arm: one that it suggested
without ever getting a result would block its intensifier.
"""

import logging
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from ConfigSpace import Configuration, ConfigurationSpace, Float
from smac import HyperparameterOptimizationFacade as Facade
from smac import Scenario
from smac.acquisition.maximizer import AbstractAcquisitionMaximizer
from smac.model.random_forest import RandomForest
from smac.random_design import AbstractRandomDesign, ProbabilityRandomDesign
from smac.runhistory import TrialInfo, TrialValue

from bhpt.bench.baselines.to_the_end import Finished
from bhpt.domain import FloatArray, IntArray

_RANDOM = 0.2  # the facade's own share of random configurations
_INITIAL = 0.25  # and its own share of the trials that the initial design may take

logging.getLogger("smac").setLevel(logging.ERROR)


class AmongArms(AbstractAcquisitionMaximizer):  # type: ignore[misc]  # untyped to us
    """Ranks the untried arms by the acquisition function; random ones are drawn among them."""

    def __init__(self, space: ConfigurationSpace, arms: list[Configuration], seed: int) -> None:
        """Take the configurations of all arms."""
        super().__init__(space, challengers=len(arms), seed=seed)
        self._arms = arms

    def maximize(
        self,
        previous_configs: list[Configuration],
        n_points: int | None = None,
        random_design: AbstractRandomDesign | None = None,
    ) -> Iterator[Configuration]:
        """Untried arms, best first, with random ones in between."""
        ranked = [config for _, config in self._maximize(previous_configs, n_points or 0)]
        for turn in range(len(ranked)):
            if random_design is not None and random_design.check(turn):
                chosen = ranked.pop(int(self._rng.randint(len(ranked))))
                chosen.origin = "Random Search"
                yield chosen
            else:
                yield ranked.pop(0)

    def _maximize(
        self, previous_configs: list[Configuration], n_points: int
    ) -> list[tuple[float, Configuration]]:
        del n_points  # all of them: the set is finite
        tried = set(previous_configs)
        rest = list(dict.fromkeys(arm for arm in self._arms if arm not in tried))
        for config in rest:
            config.origin = "Expected improvement"
        return self._sort_by_acquisition_value(rest) if rest else []


def next_arm(
    features: FloatArray, finished: Finished, untried: IntArray, trials: int, seed: int
) -> tuple[int, str]:
    """The next arm to train and how SMAC came to it.

    Args:
        features: Encoded configurations, [K, D].
        finished: The results that SMAC gets.
        untried: Arms that may be chosen.
        trials: How many arms the budget can train; sizes SMAC's initial design.
        seed: SMAC's seed.
    """
    space = ConfigurationSpace(seed=seed)
    space.add([Float(f"x{d:03d}", (0.0, 1.0)) for d in range(features.shape[1])])
    configs = [Configuration(space, vector=row) for row in np.clip(features, 0.0, 1.0)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # SMAC calls what ConfigSpace retires
        scenario = Scenario(
            space,
            deterministic=True,
            n_trials=len(configs) + trials,
            output_directory=Path(folder),
            seed=seed,
        )
        facade = _facade(scenario, configs, trials, turn=len(finished.arms))
        for arm, loss in zip(finished.arms.tolist(), finished.losses.tolist(), strict=True):
            told = TrialInfo(config=configs[arm], seed=0)
            facade.tell(told, TrialValue(cost=loss), save=False)
        asked = facade.ask().config
    return int(untried[_nearest(features[untried], asked)]), str(asked.origin)


def _nearest(features: FloatArray, config: Configuration) -> int:
    return int(np.square(features - config.get_array()).sum(axis=1).argmin())


def _forest(scenario: Scenario, arms: int) -> RandomForest:
    """The facade's own forest, in one thread and with no room for a million leaves.

    It cannot have more leaves than arms; room for the package's 2²⁰ costs a second a forest.
    """
    return RandomForest(
        scenario.configspace,
        log_y=True,
        n_trees=10,
        ratio_features=1.0,
        min_samples_split=2,
        min_samples_leaf=1,
        max_leaf_nodes=max(2, arms),
        n_jobs=1,
        seed=scenario.seed,
    )


def _facade(scenario: Scenario, configs: list[Configuration], trials: int, turn: int) -> Facade:
    space = scenario.configspace
    chance = np.random.SeedSequence((scenario.seed, turn)).generate_state(2).tolist()
    # drawn among the arms: those nearest to a Sobol point are mostly from the cube's middle
    order = np.random.default_rng((scenario.seed, 5)).permutation(len(configs))
    first = [configs[arm] for arm in order[: max(1, int(_INITIAL * trials))]]
    return Facade(
        scenario,
        model=_forest(scenario, len(configs)),
        initial_design=Facade.get_initial_design(scenario, n_configs=0, additional_configs=first),
        random_design=ProbabilityRandomDesign(_RANDOM, seed=chance[0]),
        acquisition_maximizer=AmongArms(space, configs, seed=chance[1]),
        config_selector=Facade.get_config_selector(scenario, retrain_after=1),
        intensifier=Facade.get_intensifier(scenario, max_config_calls=1),
        logging_level=False,  # or it would configure logging of the whole process
        overwrite=True,
    )
