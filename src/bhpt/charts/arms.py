"""The arms of a study as columns: their settings, how far they came and how good they are."""

from dataclasses import dataclass

import numpy as np

from bhpt.domain import FloatArray, IntArray
from bhpt.study import State


@dataclass(frozen=True, eq=False)
class Arms:
    """Arms that were tried, in order of first trial.

    Attributes:
        arm: Their numbers, [V].
        epochs: Observed epochs, [V].
        best: The best finite value of the metric, NaN where there is none, [V].
        closed: Why an arm is given up, by arm.
        settings: Value of every hyper-parameter of each, None where it has none, by name.
    """

    arm: IntArray
    epochs: IntArray
    best: FloatArray
    closed: dict[int, str]
    settings: dict[str, list[object]]

    def of(self, arms: IntArray) -> "Arms":
        """Some of the arms."""
        places = np.flatnonzero(np.isin(self.arm, arms))
        return Arms(
            arm=self.arm[places],
            epochs=self.epochs[places],
            best=self.best[places],
            closed={arm: why for arm, why in self.closed.items() if arm in arms},
            settings={
                name: [values[place] for place in places.tolist()]
                for name, values in self.settings.items()
            },
        )


def arms_of(state: State) -> Arms:
    """Every arm of which a unit was started."""
    flying = (attempt.unit.arm for attempt in state.flying)
    numbers = list(dict.fromkeys([*state.tried, *flying]))
    configs = [state.configs[arm] for arm in numbers]
    names = dict.fromkeys(name for config in configs for name in config)
    arm = np.array(numbers, np.int64)
    epochs, best = np.zeros(len(arm), np.int64), np.full(len(arm), np.nan)
    if state.curves is not None:
        epochs = state.curves.count_by_arm[arm]
        lowest = state.curves.best_by_arm[arm]
        value = lowest if state.plan.objective.mode == "min" else -lowest
        best = np.where(np.isfinite(lowest), value, np.nan)
    closed = {one: state.arm(one).closed for one in numbers}
    return Arms(
        arm=arm,
        epochs=epochs,
        best=best,
        closed={one: why for one, why in closed.items() if why is not None},
        settings={name: [config.get(name) for config in configs] for name in names},
    )
