"""Studies of Optuna as curves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bhpt
from bhpt.domain import Misuse

optuna = pytest.importorskip("optuna")
from bhpt.integrations.optuna import earlier_trials, load_trials, trials_of  # noqa: E402


def _objective(trial: Any) -> float:
    rate: float = trial.suggest_float("rate", 0.01, 1.0, log=True)
    kind = trial.suggest_categorical("kind", ["a", "b"])
    for step in range(1, 5):
        trial.report(rate / step, 10 * step)  # every tenth step is reported
        if kind == "b" and step == 2:
            raise optuna.TrialPruned
    return rate / 4


def _study(direction: str, storage: Any = None) -> Any:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(
        study_name="old", direction=direction, storage=storage, sampler=sampler
    )
    study.optimize(_objective, n_trials=8)
    study.enqueue_trial({"rate": 0.5})  # waits: nothing to learn from yet
    return study


@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1), ("maximize", -1)])
def test_trials_are_curves(direction: str, sign: int) -> None:
    study = _study(direction)
    curves, configs = trials_of(study)
    assert len(configs) == 8 == curves.arms
    for arm, config in enumerate(configs):
        length = 2 if config["kind"] == "b" else 4
        expected = sign * config["rate"] / np.arange(1, length + 1)
        assert curves.of_arm(arm) == pytest.approx(expected)


def test_a_trial_without_reports_is_its_value(tmp_path: Path) -> None:
    place = str(tmp_path / "journal.log")
    backend = optuna.storages.journal.JournalFileBackend(place)
    storage = optuna.storages.JournalStorage(backend)
    for name in ("one", "two"):
        study = optuna.create_study(study_name=name, storage=storage)
        study.add_trial(
            optuna.trial.create_trial(
                params={"x": 2.0},
                distributions={"x": optuna.distributions.FloatDistribution(0, 3)},
                value=0.5,
            )
        )
    curves, configs = load_trials(f"{place}#one")
    assert curves.of_arm(0).tolist() == [0.5]
    assert configs == [{"x": 2.0}]
    with pytest.raises(Misuse, match=r"there is no study of Optuna at .*log#STUDY: one, two"):
        load_trials(place)  # which of the two?
    with pytest.raises(Misuse, match="there is no study of Optuna at"):
        load_trials(f"{place}#three")


@pytest.mark.parametrize("place", ["{}/none.log", "sqlite:///{}/none.db"])
def test_a_storage_that_is_not_there_is_not_made(tmp_path: Path, place: str) -> None:
    with pytest.raises(Misuse, match="no such file"):
        load_trials(place.format(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_database_is_read(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path}/some.db"
    (tmp_path / "some.db").touch()
    with pytest.raises(Misuse, match="it has none"):
        load_trials(place)
    study = optuna.create_study(study_name="one", storage=place)
    study.add_trial(optuna.trial.create_trial(value=0.5))
    curves, _ = load_trials(place)
    assert curves.of_arm(0).tolist() == [0.5]


def test_a_new_study_learns_from_it(tmp_path: Path) -> None:
    """Low rates ended best there; so one is tried before a high one."""
    place = str(tmp_path / "journal.log")
    backend = optuna.storages.journal.JournalFileBackend(place)
    study = _study("minimize", optuna.storages.JournalStorage(backend))
    arms = [{"rate": rate, "kind": "a"} for rate in (0.9, 0.6, 0.011, 0.8)]
    for source in (study, place):
        learned = bhpt.Study(arms, "8 epochs", max_epochs=4, learn_from=[earlier_trials(source)])
        asked = learned.ask()
        assert asked is not None
        assert asked.config["rate"] == 0.011


def test_what_cannot_be_learned_from_is_refused() -> None:
    with pytest.raises(Misuse, match="has no trial that ended with a value"):
        trials_of(optuna.create_study(study_name="new"))
    with pytest.raises(Misuse, match="has several objectives"):
        trials_of(optuna.create_study(study_name="two", directions=["minimize", "maximize"]))
