"""Optuna: a study in a journal file, for optuna-dashboard and Optuna's plots; a trial an arm.

Trials of Optuna that have ended cannot go on, arms can. So a session that tracks a study writes its
trials anew, in the same file: the journal keeps what came before, and readers follow it.
"""

import json
import math
from pathlib import Path
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import StudyDirection
from optuna.trial import TrialState, create_trial

from bhpt.spaces.ranges import Choices, NumberRange, Range
from bhpt.trackers.interface import ArmRun, TrackedStudy

_PLACE = "runs/optuna.log"
_PLAIN = (bool, int, float, str, type(None))  # what Optuna takes as a choice


class OptunaJournal:
    """Writes to Optuna's journal storage.

    Args:
        place: The journal file; `runs/optuna.log` if empty.
    """

    def __init__(self, place: str = "") -> None:
        self._place = Path(place or _PLACE)
        self._storage: Any = None
        self._study: TrackedStudy | None = None
        self._number = 0
        self._trials: dict[int, int] = {}
        self._values: dict[int, list[float]] = {}

    def begin(self, study: TrackedStudy) -> None:
        """Make the study in the journal, instead of one that an earlier session wrote."""
        self._place.parent.mkdir(parents=True, exist_ok=True)
        self._storage = JournalStorage(JournalFileBackend(str(self._place)))
        for one in self._storage.get_all_studies():
            if one.study_name == study.label:
                self._storage.delete_study(one._study_id)  # Optuna has no other way
        mode = study.plan.objective.mode
        direction = StudyDirection.MAXIMIZE if mode == "max" else StudyDirection.MINIMIZE
        self._number = self._storage.create_new_study([direction], study.label)
        self._storage.set_study_user_attr(self._number, "bhpt.study", study.identity)
        self._storage.set_study_user_attr(self._number, "metric", study.metric)
        self._study = study

    def epochs(self, arm: int) -> int:  # noqa: ARG002
        """None: all trials are written anew."""
        return 0

    def write(self, run: ArmRun) -> None:
        """Report each epoch as an intermediate value."""
        if self._study is None:
            return
        values = {epoch: metrics[self._study.metric] for epoch, metrics in run}
        self._values.setdefault(run.arm, []).extend(values.values())
        if run.arm in self._trials:
            for epoch, value in values.items():
                self._storage.set_trial_intermediate_value(self._trials[run.arm], epoch, value)
            return
        params = {name: _plain(value) for name, value in run.config.items()}
        trial = create_trial(
            state=TrialState.RUNNING,
            params=params,
            distributions={
                name: _distribution(self._study.ranges.get(name), value)
                for name, value in params.items()
            },
            user_attrs={"arm": run.arm},
            intermediate_values=values,
        )
        self._trials[run.arm] = self._storage.create_new_trial(self._number, trial)

    def close(self) -> None:
        """End the trials, each with the best of its finite values."""
        best = max if self._study is not None and self._study.plan.objective.mode == "max" else min
        for arm, trial in self._trials.items():
            finite = [value for value in self._values[arm] if math.isfinite(value)]
            self._storage.set_trial_user_attr(trial, "epochs", len(self._values[arm]))
            if finite:
                self._storage.set_trial_state_values(trial, TrialState.COMPLETE, [best(finite)])
            else:
                self._storage.set_trial_state_values(trial, TrialState.FAIL)


def _plain(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    return value if isinstance(value, _PLAIN) else json.dumps(value)


def _distribution(known: Range | None, value: Any) -> Any:  # noqa: ANN401  # Optuna's
    """What a hyper-parameter can be, in Optuna's terms; a value beyond that stands for itself."""
    match known:
        case NumberRange() if known.low <= value <= known.high:
            log = known.scale == "log"
            if known.whole:
                return IntDistribution(int(known.low), int(known.high), log=log)
            return FloatDistribution(known.low, known.high, log=log)
        case Choices() if value in (choices := [_plain(one) for one in known.values]):
            return CategoricalDistribution(choices)
    return CategoricalDistribution([value])
