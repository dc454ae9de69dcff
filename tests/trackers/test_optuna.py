"""What is special about the mirror of a study in Optuna's journal."""

from pathlib import Path
from typing import Any

import pytest

import bhpt
from bhpt.spaces import Space
from bhpt.trackers import TrackedStudy, find_tracker
from bhpt.trackers.thread import TrackedRuns

optuna = pytest.importorskip("optuna")
SPACE = {
    "rate": (1e-4, 1e-1, "log"),
    "width": (8, 64),
    "kind": ["a", "b"],
    "size": {"ordered": [16, 32]},
    "data": "digits",
    "slope": {"min": 0.1, "max": 0.2, "when": {"kind": "a"}},
}


def _loaded(file: Path) -> Any:
    backend = optuna.storages.journal.JournalFileBackend(str(file))
    return optuna.load_study(study_name=None, storage=optuna.storages.JournalStorage(backend))


def test_a_space_and_failures_are_mirrored(tmp_path: Path) -> None:
    study = bhpt.Study(SPACE, "12 epochs", max_epochs=2, policy="random", seed=1)
    while (unit := study.ask()) is not None:
        nan = float("nan") if unit.config["width"] < 20 else 1.0
        study.tell(unit, [nan * unit.config["rate"]] * unit.epochs)
    runs = TrackedRuns(
        find_tracker(f"optuna:{tmp_path / 'o.log'}"),
        TrackedStudy("net", "abc", study.state.plan, Space.of(SPACE).ranges),
    )
    runs.update(study.state)
    running = _loaded(tmp_path / "o.log").trials
    assert {trial.state.name for trial in running} == {"RUNNING"}
    runs.close()
    mirrored = _loaded(tmp_path / "o.log")
    assert mirrored.best_value == study.best_loss
    assert mirrored.best_params == study.best_config
    names = {trial.state.name for trial in mirrored.trials}
    assert names == {"COMPLETE", "FAIL"}
    (rate,) = {trial.distributions["rate"] for trial in mirrored.trials}
    assert rate == optuna.distributions.FloatDistribution(1e-4, 1e-1, log=True)
    (size,) = {trial.distributions["size"] for trial in mirrored.trials}
    assert size == optuna.distributions.IntDistribution(16, 32)
    assert any("slope" in trial.params for trial in mirrored.trials)
    assert any("slope" not in trial.params for trial in mirrored.trials)


def test_a_value_beyond_what_was_declared_stands_for_itself(tmp_path: Path) -> None:
    study = bhpt.Study([{"x": 1.0, "many": [1, 2]}, {"x": 2.0, "many": [1]}], "2 epochs")
    unit = study.ask()
    assert unit is not None
    study.tell(unit, [0.5] * unit.epochs)
    runs = TrackedRuns(
        find_tracker(f"optuna:{tmp_path / 'o.log'}"), TrackedStudy("n", "abc", study.state.plan)
    )
    runs.update(study.state)
    runs.close()
    (trial,) = _loaded(tmp_path / "o.log").trials
    assert trial.params in ({"x": 1.0, "many": "[1, 2]"}, {"x": 2.0, "many": "[1]"})
