"""MLflow: an experiment a study, a run an arm; a local folder or database, or a server."""

import logging
import time
from typing import Any

from mlflow.entities import Metric, Param
from mlflow.tracking import MlflowClient

from bhpt.trackers.interface import ArmRun, TrackedStudy

_PLACE = "sqlite:///mlflow.db"
_ARM = "bhpt.arm"  # a tag
_MOST = 1000  # metrics in one call, as MLflow allows
_LONGEST = 6000  # characters of a parameter, as MLflow allows


class MLflow:
    """Writes runs through MLflow's client; `mlflow ui --backend-store-uri PLACE` shows them.

    Args:
        place: A tracking address; the file `mlflow.db` in the current folder if empty.
    """

    def __init__(self, place: str = "") -> None:
        logging.getLogger("mlflow").setLevel(logging.WARNING)  # not into the view of a session
        self._client: Any = MlflowClient(place or _PLACE)
        self._study: TrackedStudy | None = None
        self._experiment = ""
        self._runs: dict[int, str] = {}
        self._open: set[int] = set()

    def begin(self, study: TrackedStudy) -> None:
        """Find or make the study's experiment, and the runs that it has."""
        self._study = study
        found = self._client.get_experiment_by_name(study.label)
        self._experiment = (
            self._client.create_experiment(study.label, tags={"bhpt.study": study.identity})
            if found is None
            else found.experiment_id
        )
        token = None
        while True:
            page = self._client.search_runs([self._experiment], page_token=token)
            for run in page:
                self._runs[int(run.data.tags[_ARM])] = run.info.run_id
            token = page.token
            if not token:
                return

    def epochs(self, arm: int) -> int:
        """The last step of the metric that decides."""
        if arm not in self._runs or self._study is None:
            return 0
        history = self._client.get_metric_history(self._runs[arm], self._study.metric)
        return max((point.step for point in history), default=0)

    def write(self, run: ArmRun) -> None:
        """Log every metric at its epoch."""
        where = self._run(run)
        now = int(time.time() * 1000)
        points = [
            Metric(name, value, now, epoch)
            for epoch, metrics in run
            for name, value in metrics.items()
        ]
        for start in range(0, len(points), _MOST):
            self._client.log_batch(where, metrics=points[start : start + _MOST])

    def close(self) -> None:
        """Mark the runs of this session as finished."""
        for arm in self._open:
            self._client.set_terminated(self._runs[arm])

    def _run(self, run: ArmRun) -> str:
        """The run of an arm, marked as running."""
        if run.arm not in self._runs:
            made = self._client.create_run(
                self._experiment,
                run_name=f"arm-{run.arm:04d}",
                tags={_ARM: str(run.arm)},
            )
            self._runs[run.arm] = made.info.run_id
            self._client.log_batch(
                made.info.run_id,
                params=[Param(key, str(value)[:_LONGEST]) for key, value in run.config.items()],
            )
        elif run.arm not in self._open:
            self._client.update_run(self._runs[run.arm], status="RUNNING")
        self._open.add(run.arm)
        return self._runs[run.arm]
