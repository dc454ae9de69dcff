"""`BHPTScheduler`: Ray Tune starts, pauses and resumes trials by our decisions."""

import logging
from pathlib import Path
from typing import Any

from bhpt.domain import Misuse, Objective
from bhpt.domain.budget import Budget
from bhpt.policies.interface import Policy
from bhpt.ray.trial_study import TrialPlan, TrialStudy, TrialVerdict

try:
    import ray
    from ray.tune.experiment import Trial
    from ray.tune.schedulers import TrialScheduler
except ImportError:
    raise Misuse("BHPTScheduler needs Ray Tune: pip install 'bhpt[ray]'") from None

_log = logging.getLogger(__name__)
_DECISIONS = {
    TrialVerdict.CONTINUE: TrialScheduler.CONTINUE,
    TrialVerdict.PAUSE: TrialScheduler.PAUSE,
    TrialVerdict.STOP: TrialScheduler.STOP,
}
_ITERATION, _SECONDS = "training_iteration", "time_this_iter_s"


class BHPTScheduler(TrialScheduler):  # type: ignore[misc]  # Ray has no types
    """A trial scheduler under a hard total budget of epochs; a result of a trial is an epoch.

    Trials that were paused go on from the checkpoint that they reported last, so report one with
    every result: `tune.report(metrics, checkpoint=…)`. Epochs that have to be trained again are
    charged.

    Args:
        budget: "200 epochs": results of all trials together, reruns included.
        metric: What decides; as in `TuneConfig` if None.
        mode: "min" or "max"; as in `TuneConfig` if None.
        max_epochs: How far a trial may train.
        policy: By name, or a policy object.
        seed: Of all randomness.
        workers: How many trials run side by side; what the cluster has room for if None.
        study: A file that keeps the study, so that `Tuner.restore` goes on after a kill with what
            was spent. Also read by `bhpt status`, `export` and the like.
    """

    _supports_buffered_results = False  # one result, one decision

    def __init__(
        self,
        budget: str,
        metric: str | None = None,
        mode: str | None = None,
        max_epochs: int | None = None,
        policy: str | Policy = "default",
        seed: int = 0,
        workers: int | None = None,
        study: str | Path | None = None,
    ) -> None:
        super().__init__()
        self._budget = Budget.parse(budget)
        self._metric, self._mode = metric, mode
        self._max_epochs, self._policy, self._seed = max_epochs, policy, seed
        self._workers = workers
        self._file = None if study is None else Path(study).absolute()
        self._study: TrialStudy | None = None
        self._plan(Objective(metric or "loss"), 1)  # refuses bad input before anything runs

    def __getstate__(self) -> dict[str, Any]:
        """Without the study: a restored scheduler reads it from its file."""
        return {**self.__dict__, "_study": None}

    def set_search_properties(self, metric: str | None, mode: str | None, **_: Any) -> bool:
        """Take metric and mode from `TuneConfig`, unless they were given here."""
        if (self._metric and metric) or (self._mode and mode):
            return False
        self._metric, self._mode = self._metric or metric, self._mode or mode
        return True

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        """Take a trial in and let it wait: only what was decided on is started."""
        if self._study is None:
            self._study = TrialStudy(self._plan(self._objective(), self._room(trial)), trial.config)
        is_new = self._study.add(trial.trial_id, trial.config)
        if not is_new:
            _log.warning("trial %s has the configuration of another one", trial.trial_id)
            _end_waiting(trial)
        elif trial.status in {Trial.TERMINATED, Trial.ERROR}:
            self._study.ended(trial.trial_id)
        elif self._study.is_over:
            _end_waiting(trial)
            tune_controller.search_alg.set_finished()
        else:
            trial.set_status(Trial.PAUSED)

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """Charge the unit of a trial that failed for good."""
        self._opened.failed(trial.trial_id, f"trial {trial.trial_id} failed")

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Log a result, and decide whether its trial goes on at once."""
        if result.get("done") and result[_ITERATION] <= self._epochs_of(trial):
            return str(TrialScheduler.CONTINUE)  # reported once more at the end of a function
        return str(_DECISIONS[self._take(trial, result)])

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:
        """Log the last result of a trial that something else stopped; it trains no more."""
        if result.get(_ITERATION, 0) > self._epochs_of(trial):
            self._take(trial, result)
        self._opened.ended(trial.trial_id)

    def on_trial_remove(self, tune_controller: Any, trial: Any) -> None:
        """A waiting trial was stopped."""
        self._opened.ended(trial.trial_id)

    def choose_trial_to_run(self, tune_controller: Any) -> Any:
        """The first trial that was decided on and does not run yet; stops all when all is spent."""
        if self._study is None:
            return None
        trials = {trial.trial_id: trial for trial in tune_controller.get_trials()}
        for name in self._study.granted():
            trial = trials.get(name)
            waits = trial is not None and trial.status in {Trial.PAUSED, Trial.PENDING}
            if trial is not None and waits and not trial.is_saving:
                return trial
        if self._study.is_over:
            tune_controller.search_alg.set_finished()
            for trial in trials.values():
                if trial.status in {Trial.PAUSED, Trial.PENDING}:
                    trial.init_local_path()
                    tune_controller.stop_trial(trial)
        return None

    def debug_string(self) -> str:
        """One line for Tune's status."""
        if self._study is None:
            return f"bhpt: {self._budget}"
        ledger = self._study.state.ledger
        rules = ledger.budget.rules
        return f"bhpt: {rules.used_text(ledger.spent)} spent"

    def save(self, checkpoint_path: str) -> None:
        """Nothing: every result is in the study's file already."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing: the study is read from its file."""

    @property
    def study(self) -> TrialStudy | None:
        """What is known of the trials; None before the first."""
        return self._study

    @property
    def _opened(self) -> TrialStudy:
        if self._study is None:
            raise Misuse("no trial was added to this scheduler")
        return self._study

    def _take(self, trial: Any, result: dict[str, Any]) -> TrialVerdict:
        metric = self._objective().metric
        if metric not in result:
            raise Misuse(f"trial {trial.trial_id} reported no {metric!r}")
        return self._opened.epoch(
            trial.trial_id,
            int(result[_ITERATION]),
            result[metric],
            float(result.get(_SECONDS, 0.0)),
        )

    def _epochs_of(self, trial: Any) -> int:
        return self._opened.epochs_of(trial.trial_id)

    def _objective(self) -> Objective:
        if self._metric is None or self._mode not in ("min", "max"):
            raise Misuse("give BHPTScheduler or TuneConfig a metric and a mode, min or max")
        return Objective(self._metric, self._mode)  # type: ignore[arg-type]  # one of both

    def _plan(self, objective: Objective, workers: int) -> TrialPlan:
        return TrialPlan(
            self._budget,
            objective,
            self._max_epochs,
            self._policy,
            self._seed,
            workers,
            self._file,
        )

    def _room(self, trial: Any) -> int:
        """How many trials run side by side: as given, or as the cluster has room for."""
        if self._workers is not None:
            return self._workers
        needs = trial.placement_group_factory.required_resources
        has = ray.cluster_resources()
        counts = [int(has.get(name, 0.0) // need) for name, need in needs.items() if need > 0]
        return max(1, min(counts, default=1))


def _end_waiting(trial: Any) -> None:
    """End a trial that does not run.

    Tune's results ask each trial for its folder, which Tune makes when a trial is started.
    """
    trial.init_local_path()
    trial.set_status(Trial.TERMINATED)
