"""Studies that were asked and told, with curves that anyone could learn."""

import math

from bhpt.study import MemoryLog, State, Study
from bhpt.study.log import Keep

SPACE = {"rate": (0.01, 1.0, "log"), "depth": (1, 4)}


def loss_at(config: dict[str, float], epoch: int) -> float:
    """Falls towards an end that is best at a rate of 0.2."""
    end = 0.1 + 0.1 * abs(math.log10(config["rate"] / 0.2)) + 0.02 * config["depth"]
    return float(end + (2.0 - end) * (1 + epoch) ** -0.8)


def told(budget: str = "20 epochs", units: int = 100, **more: object) -> Study:
    """A study after so many units, or at the end of its budget; negated if it is maximised."""
    sign = -1 if more.get("mode") == "max" else 1
    study = Study(SPACE, budget, max_epochs=30, policy="default", **more)  # type: ignore[arg-type]
    for _ in range(units):
        unit = study.ask()
        if unit is None:
            break
        losses = [sign * loss_at(unit.config, unit.done + i + 1) for i in range(unit.epochs)]
        study.tell(unit, losses, seconds=2.0 * unit.epochs)
    return study


def state_of(budget: str = "20 epochs", units: int = 100, **more: object) -> State:
    return told(budget, units, **more).state


def flat_study(keep: Keep = MemoryLog) -> Study:
    """A study whose three curves have long stopped falling, with a part of its budget left."""
    configs = [{"rate": rate} for rate in (0.01, 0.1, 0.3)]
    study = Study(configs, "80 epochs", max_epochs=30, policy="bhpt", keep=keep)
    for _ in range(70):
        unit = study.ask()
        assert unit is not None
        end = 0.4 + 0.1 * unit.arm
        losses = [max(end, 1 - 0.3 * (unit.done + i + 1)) for i in range(unit.epochs)]
        study.tell(unit, losses, seconds=1.0)
    return study
