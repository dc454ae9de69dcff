"""SMAC 2: the multi-fidelity and the Hyperband facade, by ask and tell.

SMAC is restricted to the arms: its space samples only arms, its first design draws arms, and its
acquisition function is maximised over all of them. It names a trial by configuration and budget
and starts every budget from scratch; here an arm goes on where it stands. Budgets are rounded to
whole units. The number of trials, which sizes its first design, is what SMAC's own helper says that
the budget buys. It is done when it has been given every arm.
"""

from typing import TYPE_CHECKING, Any

from ConfigSpace import Configuration, ConfigurationSpace, Float
from smac import HyperbandFacade, MultiFidelityFacade, Scenario
from smac.acquisition.maximizer import RandomSearch
from smac.initial_design import RandomInitialDesign
from smac.intensifier.hyperband_utils import get_n_trials_for_hyperband_multifidelity
from smac.main.exceptions import ConfigurationSpaceExhaustedException
from smac.runhistory.dataclasses import TrialValue

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.serve import Session


class ArmSpace(ConfigurationSpace):
    """The unit cube, restricted to samples that are arms, each at most once."""

    def __init__(self, session: "Session") -> None:
        """Hold the arms of a session as configurations."""
        super().__init__(seed=session.seed)
        self.add(*(Float(name, (0.0, 1.0)) for name in session.names))
        self.arms = [Configuration(self, values=config) for config in session.configs()]
        self.unused = session.random.sample(self.arms, len(self.arms))
        self._random = session.random

    def give(self, config: Any) -> None:
        """Record that SMAC has been given an arm, whether it has run it yet or not."""
        if config in self.unused:
            self.unused.remove(config)

    def sample_configuration(self, size: int | None = None) -> Any:
        """A random arm, or a list of `size`, that it has not had; any arm when it has had all."""
        if size is None:
            config = self.unused[0] if self.unused else self._random.choice(self.arms)
            self.give(config)
            return config
        sampled = self.unused[:size]
        self.unused = self.unused[size:]
        return sampled


class ArmDesign(RandomInitialDesign):  # type: ignore[misc]  # the package is not here for mypy
    """A first design of random arms."""

    def _select_configurations(self) -> list[Any]:
        return list(self._configspace.sample_configuration(size=self._n_configs))


class RandomArms(RandomSearch):  # type: ignore[misc]
    """Arms not yet given to SMAC, in random order."""

    def maximize(self, *args: Any, **options: Any) -> Any:
        """The order of the arms, remembering which ones are taken from it."""
        for config in super().maximize(*args, **options) if self._configspace.unused else ():
            self._configspace.give(config)
            yield config

    def _maximize(self, previous_configs: Any, n_points: int, _sorted: bool = False) -> Any:  # noqa: ARG002
        return [(0.0, config) for config in self._configspace.unused]


class BestArms(RandomArms):
    """Arms not yet given to SMAC, by descending acquisition value."""

    def _maximize(self, previous_configs: Any, n_points: int, _sorted: bool = False) -> Any:  # noqa: ARG002
        return self._sort_by_acquisition_value(list(self._configspace.unused))


def _scenario(session: "Session") -> Any:
    trials = get_n_trials_for_hyperband_multifidelity(
        total_budget=session.budget, min_budget=1, max_budget=session.units, eta=3
    )
    return Scenario(
        ArmSpace(session),
        output_directory=session.folder,
        deterministic=True,
        min_budget=1,
        max_budget=session.units,
        n_trials=max(int(trials), 4),
        seed=session.seed,
    )


def _follow(session: "Session", facade: Any, space: ArmSpace) -> None:
    """Ask and tell until SMAC has been given every arm."""
    arms = {config: arm for arm, config in enumerate(space.arms)}
    while True:
        try:
            info = facade.ask()
        except (StopIteration, ConfigurationSpaceExhaustedException):
            return
        cost = session.train(arms[info.config], info.budget)[-1]
        facade.tell(info, TrialValue(cost=cost), save=False)


def multi_fidelity(session: "Session") -> None:
    """Hyperband whose new arms come from a random forest on the highest budget with data."""
    scenario = _scenario(session)
    facade = MultiFidelityFacade(
        scenario,
        initial_design=ArmDesign(scenario),
        acquisition_maximizer=BestArms(scenario.configspace, seed=session.seed),
        logging_level=False,
        overwrite=True,
    )
    _follow(session, facade, scenario.configspace)


def hyperband(session: "Session") -> None:
    """Hyperband with random arms."""
    scenario = _scenario(session)
    facade = HyperbandFacade(
        scenario,
        initial_design=ArmDesign(scenario, n_configs=1),
        acquisition_maximizer=RandomArms(scenario.configspace, seed=session.seed),
        logging_level=False,
        overwrite=True,
    )
    _follow(session, facade, scenario.configspace)


METHODS = {"multi-fidelity": multi_fidelity, "hyperband": hyperband}
