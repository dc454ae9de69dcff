"""The tuner's side of a live run; run as `python open_space.py TUNER` in its environment.

One JSON object a line. The benchmark begins a run, the tuner asks for training:

    benchmark  {"begin": {"tuner", "space", "first", "epochs", "budget", "seed", "folder"}}
    tuner      {"train": {"trial", "config", "to"}}   train this trial until it has had `to` epochs
    benchmark  {"losses": [...]}                      all losses of the trial, one an epoch
    benchmark  {"begin": ...}                         at any time: the run is over

`space` has `[low, high, log, whole]` or `{"choices": [...]}` by name. Only the tuner's package and
the standard library are used here.
"""

import json
import math
import sys
from collections.abc import Callable
from typing import Any

_AWFUL = 1e6  # what a loss that is no number counts as


class RunOver(BaseException):
    """Leaves a tuner's loop when the budget is gone; no package catches it by accident."""

    def __init__(self, following: dict[str, Any]) -> None:
        """Carry the message that begins the next run."""
        super().__init__()
        self.following = following


def _send(message: dict[str, Any]) -> None:
    sys.__stdout__.write(json.dumps(message) + "\n")  # type: ignore[union-attr]  # it is open
    sys.__stdout__.flush()  # type: ignore[union-attr]


def _receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        raise SystemExit(0)
    message: dict[str, Any] = json.loads(line)
    if "begin" in message:
        raise RunOver(message["begin"])
    return message


def train(trial: int, config: dict[str, Any], to: int) -> list[float]:
    """The losses of a trial after `to` epochs, lowest so far, all finite."""
    _send({"train": {"trial": trial, "config": config, "to": to}})
    lowest, best = [], _AWFUL
    for loss in _receive()["losses"]:
        best = min(best, loss) if loss is not None and math.isfinite(loss) else best
        lowest.append(best)
    return lowest


def optuna(run: dict[str, Any]) -> None:
    """Optuna's TPE with its Hyperband pruner, epoch by epoch."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=run["seed"]),
        pruner=optuna.pruners.HyperbandPruner(1, run["epochs"], 3),
    )
    if run["first"]:
        study.enqueue_trial(run["first"])
    while True:
        trial = study.ask(_distributions(optuna.distributions, run["space"]))
        for epoch in range(1, run["epochs"] + 1):
            losses = train(trial.number, trial.params, epoch)
            trial.report(losses[-1], epoch)
            if trial.should_prune():
                break
        study.tell(trial, losses[-1])


def _distributions(made: Any, space: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, axis in space.items():
        if isinstance(axis, dict):
            found[name] = made.CategoricalDistribution(axis["choices"])
        elif axis[3]:
            found[name] = made.IntDistribution(axis[0], axis[1], log=axis[2])
        else:
            found[name] = made.FloatDistribution(axis[0], axis[1], log=axis[2])
    return found


def smac(run: dict[str, Any]) -> None:
    """SMAC's multi-fidelity facade; a trial goes on where it stands at a higher budget."""
    from ConfigSpace import Categorical, Configuration, ConfigurationSpace, Float, Integer
    from smac import MultiFidelityFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    space = ConfigurationSpace(seed=run["seed"])
    for name, axis in run["space"].items():
        if isinstance(axis, dict):
            space.add(Categorical(name, axis["choices"]))
        else:
            kind = Integer if axis[3] else Float
            space.add(kind(name, (axis[0], axis[1]), log=axis[2]))
    trials = max(10, round(run["budget"] / 4))
    scenario = Scenario(
        space,
        output_directory=run["folder"],
        deterministic=True,
        min_budget=1,
        max_budget=run["epochs"],
        n_trials=trials,
        seed=run["seed"],
    )
    first = [Configuration(space, run["first"])] if run["first"] else []
    facade = MultiFidelityFacade(
        scenario,
        _never_called,
        initial_design=MultiFidelityFacade.get_initial_design(scenario, additional_configs=first),
        logging_level=False,
        overwrite=True,
    )
    numbers: dict[Any, int] = {}
    while True:
        info = facade.ask()
        trial = numbers.setdefault(info.config, len(numbers))
        config = {name: _plain(value) for name, value in dict(info.config).items()}
        cost = train(trial, config, max(1, round(info.budget)))[-1]
        facade.tell(info, TrialValue(cost=cost), save=False)


def _never_called(config: Any, seed: int = 0, budget: float = 0.0) -> float:
    """SMAC requires a function to minimise; here its ask and tell are used instead."""
    raise NotImplementedError(f"{config} {seed} {budget}")


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


TUNERS: dict[str, Callable[[dict[str, Any]], None]] = {"optuna": optuna, "smac": smac}


def main(tuner: str) -> None:
    """Serve run after run until the input is closed; what a package prints goes elsewhere."""
    sys.stdout = sys.stderr
    _send({"ready": tuner})
    following: dict[str, Any] | None = None
    while True:
        try:
            if following is None:
                _receive()
            else:
                TUNERS[tuner](following)
                _send({"done": True})
                following = None
        except RunOver as over:
            following = over.following
        except Exception as error:  # noqa: BLE001  # the boundary to the package
            _send({"failed": f"{type(error).__name__}: {error}"[:300]})
            following = None


if __name__ == "__main__":
    main(sys.argv[1])
