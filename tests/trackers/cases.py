"""A study to track, and readers of what trackers write, by means of their own packages."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bhpt.study import State
from bhpt.testing import trackers

Curves = dict[int, dict[int, dict[str, float]]]
"""Metrics by arm and epoch."""

CONFIGS: list[dict[str, Any]] = [dict(config) for config in trackers.CONFIGS]
study, train = trackers.study_to_track, trackers.train_units


def expected(state: State) -> Curves:
    """What runs must hold of a study."""
    assert state.curves is not None
    return {
        arm: {
            at: {"acc": CONFIGS[arm]["rate"] * at, "step": at}
            for at in range(1, state.count(arm) + 1)
        }
        for arm in state.curves.visited.tolist()
    }


def read_tensorboard(place: Path) -> Curves:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found: Curves = {}
    for folder in place.glob("*/arm-*"):
        events = EventAccumulator(str(folder)).Reload()
        curve = found.setdefault(int(folder.name[-4:]), {})
        for tag in events.Tags()["scalars"]:
            for point in events.Scalars(tag):
                curve.setdefault(point.step, {})[tag] = point.value
    return found


def read_mlflow(place: Path) -> Curves:
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{place}")
    found: Curves = {}
    (experiment,) = (one for one in client.search_experiments() if one.name != "Default")
    for run in client.search_runs([experiment.experiment_id]):
        assert run.info.status == "FINISHED"
        arm = int(run.data.tags["bhpt.arm"])
        assert run.data.params["rate"] == str(CONFIGS[arm]["rate"])
        curve = found.setdefault(arm, {})
        for metric in run.data.metrics:
            for point in client.get_metric_history(run.info.run_id, metric):
                curve.setdefault(point.step, {})[metric] = point.value
    return found


def read_wandb(place: Path) -> Curves:
    from wandb.proto.wandb_internal_pb2 import Record

    found: Curves = {}
    for file in sorted(place.glob("wandb/offline-run-*/*.wandb")):
        curve = found.setdefault(int(file.stem[-4:]), {})
        records: list[Any] = []
        while not (records and records[-1].WhichOneof("record_type") == "exit"):
            records = [Record.FromString(data) for data in _records(file.read_bytes())]
            time.sleep(0.05)  # wandb's own process may still write
        for record in records:
            if record.WhichOneof("record_type") == "history":
                items = record.history.item
                row = {
                    item.key or item.nested_key[0]: json.loads(item.value_json) for item in items
                }
                curve[row["_step"]] = {"acc": row["acc"], "step": row["step"]}
    return found


def read_optuna(place: Path) -> Curves:
    import optuna

    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(place)))
    (name,) = optuna.get_all_study_names(storage)
    study = optuna.load_study(study_name=name, storage=storage)
    assert study.direction == optuna.study.StudyDirection.MAXIMIZE
    found: Curves = {}
    for trial in study.trials:
        arm = trial.user_attrs["arm"]
        assert trial.params == CONFIGS[arm]
        assert trial.state == optuna.trial.TrialState.COMPLETE
        assert trial.value == max(trial.intermediate_values.values())
        assert trial.user_attrs["epochs"] == len(trial.intermediate_values)
        curve = trial.intermediate_values.items()
        found[arm] = {epoch: {"acc": value, "step": epoch} for epoch, value in curve}
    spans = optuna.search_space.intersection_search_space(study.trials)
    assert set(spans) == {"rate", "kind"}
    return found


def _records(data: bytes) -> list[bytes]:
    """The records of a file of wandb, which has the form of LevelDB's logs."""
    block, at, found, part = 32768, 7, [], b""
    while at + 7 <= len(data):
        if block - at % block < 7:
            at += block - at % block
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        part += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            found.append(part)
            part = b""
    return found


Reader = Callable[[Path], Curves]


def values_of(read: Reader) -> Callable[[Path], trackers.TrackedCurves]:
    """A reader of the metric that decides, which sees to it that the other one is there, too."""

    def read_values(place: Path) -> trackers.TrackedCurves:
        found = read(place)
        assert all(row["step"] == at for curve in found.values() for at, row in curve.items())
        return {arm: {at: row["acc"] for at, row in curve.items()} for arm, curve in found.items()}

    return read_values
