"""The sweeper that Hydra finds: asks a study for units, and has Hydra's launcher run them."""

import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

import bhpt
from bhpt.domain.words import counted
from bhpt.integrations.hydra import JobFolders, JobKeys, returned, space_of_overrides

_log = logging.getLogger(__name__)
_HOPELESS = 3  # jobs that fail before any has worked


@dataclass
class BhptSweeperConfig:
    """What `hydra.sweeper` takes.

    Attributes:
        budget: The hard limit of all sweeps in a folder together: "40 epochs", "2h".
        max_epochs: How far one configuration may train.
        metric: Which of the returned metrics decides, if a task returns several.
        mode: Whether it is minimised ("min") or maximised ("max").
        workers: Jobs that are launched together; they run side by side if the launcher can.
        seed: Of all randomness.
        policy: By name.
        study: The study's file within `hydra.sweep.dir`; one that is there is gone on with.
        epochs_key: The key of your configuration that says up to which epoch to train; without it
            a job is trained as a whole, and counts as one epoch.
        folder_key: The key of your configuration that takes the folder to go on from.
        params: Overrides, instead of or beside those of the command line.
    """

    _target_: str = "hydra_plugins.bhpt_sweeper.bhpt_sweeper.BhptSweeper"
    budget: str = "20 epochs"
    max_epochs: int | None = None
    metric: str = "loss"
    mode: str = "min"
    workers: int = 1
    seed: int = 0
    policy: str = "default"
    study: str = "study.db"
    epochs_key: str = ""
    folder_key: str = ""
    params: dict[str, Any] = field(default_factory=dict)


ConfigStore.instance().store(
    group="hydra/sweeper", name="bhpt", node=BhptSweeperConfig, provider="bhpt"
)


class BhptSweeper(Sweeper):  # type: ignore[misc]
    """Runs a study whose units are jobs of Hydra; the arguments are `BhptSweeperConfig`'s."""

    def __init__(
        self,
        study: str,
        epochs_key: str,
        folder_key: str,
        params: dict[str, Any] | None,
        **settings: Any,  # noqa: ANN401  # those of a study, as they are
    ) -> None:
        self._file = study
        self._keys = JobKeys(epochs_key, folder_key)
        self._params = dict(params or {})
        self._settings = settings
        self._failed = 0

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Remember what Hydra hands over."""
        self.hydra_context = hydra_context
        self.config = config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> dict[str, Any]:
        """Spend the budget.

        Args:
            arguments: Overrides of the command line.

        Returns:
            What is written to `optimization_results.yaml`: the best configuration and its value.
        """
        given = [f"{name}={value}" for name, value in self._params.items()] + arguments
        parser = OverridesParser.create(config_loader=self.hydra_context.config_loader)
        space, same = space_of_overrides(parser.parse_overrides(given))
        place = Path(self.config.hydra.sweep.dir).absolute()
        place.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, place / "multirun.yaml")
        with self._study(place / self._file, space) as study:
            folders = JobFolders(place / "checkpoints")
            while units := self._next_units(study):
                if whole := self._with_their_past(study, units, folders):
                    self._launch(study, whole, same, folders)
            results = {
                "name": "bhpt",
                "best_params": study.best_config,
                "best_value": study.best_loss,
                "spent": study.state.ledger.budget.rules.text(study.state.ledger.spent),
            }
        OmegaConf.save(OmegaConf.create(results), place / "optimization_results.yaml")
        return results

    def _study(self, file: Path, space: dict[str, object]) -> bhpt.Study:
        """A new study, or the one that an earlier sweep in this folder has begun, with more budget.

        Raises:
            Misuse: The one that is there has another space or metric, or a larger budget.
        """
        settings = dict(self._settings)
        if not self._keys.epochs:
            settings["max_epochs"] = 1
        return bhpt.Study(space, keep=bhpt.stored(file, if_exists="resume"), **settings)

    def _next_units(self, study: bhpt.Study) -> list[bhpt.AskedUnit]:
        """Units to launch together: what a killed sweep has begun, then what the study asks for."""
        while study.ask() is not None:
            pass
        return list(study.in_flight)

    def _with_their_past(
        self, study: bhpt.Study, units: list[bhpt.AskedUnit], folders: JobFolders
    ) -> list[bhpt.AskedUnit]:
        """The units that can be trained; those whose folder is gone train from nothing, if paid."""
        if not self._keys.folder:  # where its models are is the application's own affair
            return units
        found = []
        for unit in units:
            lost = unit.done > 0 and not folders.last(unit).is_dir()
            ready = study.start_over(unit) if lost else unit
            if lost:
                _log.warning(_what_is_lost(unit, folders.last(unit), affordable=ready is not None))
            if ready is not None:
                found.append(ready)
        return found

    def _launch(
        self,
        study: bhpt.Study,
        units: list[bhpt.AskedUnit],
        same: list[str],
        folders: JobFolders,
    ) -> None:
        jobs = [self._keys.overrides(unit, same, folders.prepare(unit)) for unit in units]
        self.validate_batch_is_legal(jobs)
        began = time.monotonic()
        first = len(study.state.attempts) - len(units)
        results = self.launcher.launch(jobs, initial_job_idx=first)
        seconds = (time.monotonic() - began) / len(units)
        for unit, result in zip(units, results, strict=True):
            if self._take(study, unit, result, seconds):
                folders.settle(unit)

    def _take(
        self, study: bhpt.Study, unit: bhpt.AskedUnit, result: JobReturn, seconds: float
    ) -> bool:
        """Tell the study what a job returned; says whether it was a result.

        Raises:
            Exception: What the job raised, if no job has worked so far and several were tried.
        """
        if result.status == JobStatus.COMPLETED:
            study.tell(unit, returned(result.return_value, unit), seconds)
            return True
        self._failed += 1
        study.fail(unit, f"job {result.overrides}: failed", seconds)
        if not study.state.reports and self._failed >= _HOPELESS:
            _ = result.return_value  # raises what the job raised
        return False


def _what_is_lost(unit: bhpt.AskedUnit, folder: Path, *, affordable: bool) -> str:
    """One line about a configuration whose folder is gone."""
    epochs = counted(unit.done, "epoch")
    then = (
        f"it starts over and pays for {epochs} once more"
        if affordable
        else f"what is left does not pay for {epochs} once more, so it is given up"
    )
    return f"configuration {unit.arm} has lost its folder {folder}: {then}"
