"""Hydra's sweeper: what overrides mean, folders of jobs, and a real `--multirun`."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bhpt
from bhpt.domain import Misuse

pytest.importorskip("hydra")
pytestmark = pytest.mark.filterwarnings("default")

APP = """
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

import hydra
from hydra.core.config_store import ConfigStore


@dataclass
class Model:
    lr: float = 0.1
    kind: str = "sgd"
    width: int = 8


@dataclass
class Config:
    model: Model = field(default_factory=Model)
    epochs: int = 3
    folder: str = ""


ConfigStore.instance().store(name="config", node=Config)


@hydra.main(version_base=None, config_name="config")
def train(cfg):
    state = Path(cfg.folder) / "state.json"
    weight, epoch = json.loads(state.read_text()) if state.exists() else (0.0, 0)
    losses = []
    while epoch < cfg.epochs:
        epoch += 1
        weight += cfg.model.lr * (3.0 - weight)
        losses.append({"err": (3.0 - weight) ** 2, "epoch": epoch})
    state.write_text("half")
    if os.environ.get("KILL_AT") == str(epoch):
        os.kill(os.getpid(), 9)
    state.write_text(json.dumps([weight, epoch]))
    if cfg.model.kind == "broken":
        raise RuntimeError("out of luck")
    return losses


if __name__ == "__main__":
    train()
"""
WORDS = (
    "hydra/sweeper=bhpt",
    "hydra.sweep.dir=out",
    "hydra.sweeper.budget=8 epochs",
    "hydra.sweeper.max_epochs=4",
    "hydra.sweeper.metric=err",
    "hydra.sweeper.policy=sh",
    "hydra.sweeper.epochs_key=epochs",
    "hydra.sweeper.folder_key=folder",
)


def _multirun(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "app.py").write_text(APP)
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "app.py", "--multirun", *WORDS, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def _parsed(*words: str) -> tuple[dict[str, object], list[str]]:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    from bhpt.integrations.hydra import space_of_overrides

    return space_of_overrides(OverridesParser.create().parse_overrides(list(words)))


def test_overrides_are_a_space() -> None:
    space, same = _parsed(
        "model.lr=tag(log,interval(0.001,0.1))",
        "drop=interval(0,1)",
        "width=tag(int,interval(8,64))",
        "depth=range(1,5)",
        "step=range(0,1,0.25)",
        "units=tag(log,range(16,65,16))",
        "rounds=tag(log,range(1,100))",
        "kind=choice(sgd,adam,'a b')",
        "on=true,false",
        "data=digits",
        "+more=[1,2]",
    )
    assert space == {
        "model.lr": {"min": 0.001, "max": 0.1, "log": True},
        "drop": {"min": 0.0, "max": 1.0, "log": False},
        "width": {"min": 8, "max": 64, "log": False},
        "depth": {"min": 1, "max": 4, "log": False},
        "step": {"ordered": [0.0, 0.25, 0.5, 0.75]},
        "units": {"ordered": [16, 32, 48, 64]},
        "rounds": {"min": 1, "max": 99, "log": True},
        "kind": ["sgd", "adam", "a b"],
        "on": [True, False],
    }
    assert same == ["data=digits", "+more=[1,2]"]
    bhpt.Study(space, "3 epochs")  # it is a space of ours


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("lr=0.1", "nothing to choose from"),
        ("lr=range(0,1,0.00001)", "lr: this range has over 10000 values: use interval"),
        ("lr=range(2,1)", "lr: this range has no values"),
    ],
)
def test_what_cannot_be_searched_is_refused(word: str, line: str) -> None:
    with pytest.raises(Misuse, match=line):
        _parsed(word)


def test_values_survive_the_way_through_hydra(tmp_path: Path) -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    from bhpt.integrations.hydra import JobKeys

    config: dict[str, Any] = {
        "text": "it's a \\ b,c=d",
        "none": None,
        "on": True,
        "rate": 1e-05,
        "many": [1, "x"],
    }
    study = bhpt.Study([config], "1 epochs")
    unit = study.ask()
    assert unit is not None
    words = JobKeys("epochs", "where").overrides(unit, ["a=b"], tmp_path)
    overrides = OverridesParser.create().parse_overrides(words)
    read = {one.key_or_group: one.value() for one in overrides}
    plain = {name: getattr(value, "text", value) for name, value in read.items()}
    plain["many"] = [getattr(value, "text", value) for value in plain["many"]]
    assert plain == {"a": "b", **config, "epochs": 1, "where": str(tmp_path)}


@pytest.mark.parametrize(
    ("value", "epochs", "found"),
    [
        (0.5, 1, [0.5]),
        ({"loss": 1.0}, 1, [{"loss": 1.0}]),
        ((1.0, 0.5), 2, [1.0, 0.5]),
        (np.float32(0.5), 1, [0.5]),
        (np.array(0.5), 1, [0.5]),
        (np.array([1.0, 0.5]), 2, [1.0, 0.5]),
        ("0.5", 1, ["0.5"]),  # which `tell` refuses in words
        (None, 1, "returned nothing"),
        (0.5, 2, "returned 1 values where 2 epochs were trained"),
    ],
)
def test_what_a_task_returns_is_one_report_an_epoch(value: Any, epochs: int, found: Any) -> None:
    from bhpt.integrations.hydra import returned

    study = bhpt.Study([{"x": 1}], "4 epochs", unit=epochs)
    unit = study.ask()
    assert unit is not None
    if isinstance(found, str):
        with pytest.raises(Misuse, match=found):
            returned(value, unit)
    else:
        assert returned(value, unit) == found


@pytest.mark.slow
def test_a_multirun_that_is_killed_goes_on(tmp_path: Path) -> None:
    words = ("model.lr=tag(log,interval(0.01,1))", "model.width=8,16", "model.kind=adam")
    killed = _multirun(tmp_path, *words, KILL_AT="2")
    assert killed.returncode == -9, killed.stderr
    done = _multirun(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    results = (tmp_path / "out" / "optimization_results.yaml").read_text()
    assert "spent: 8 epochs" in results
    with bhpt.open_study(tmp_path / "out" / "study.db") as study:
        assert study.state.ledger.spent == 8
        assert study.state.failures == 0
        assert study.state.curves is not None
        for arm in study.state.curves.visited.tolist():
            rate, weight = study.state.configs[arm]["model.lr"], 0.0
            for loss in study.state.curves.of_arm(arm).tolist():
                weight += rate * (3.0 - weight)
                assert loss == pytest.approx((3.0 - weight) ** 2)
        for arm in study.state.curves.visited.tolist():
            (left,) = (tmp_path / "out" / "checkpoints" / f"arm-{arm:04d}").iterdir()
            assert json.loads((left / "state.json").read_text())[1] == study.state.count(arm)


class _Context:
    """What Hydra hands to a sweeper, as far as ours looks at it."""

    config_loader = None


class _Launcher:
    """Runs jobs in this process: `train` gets the epoch to train up to and its folder."""

    def launch(self, jobs: list[list[str]], **_place: int) -> list[Any]:
        from hydra.core.utils import JobReturn, JobStatus

        return [
            JobReturn(overrides=job, status=JobStatus.COMPLETED, _return_value=self._train(job))
            for job in jobs
        ]

    def _train(self, job: list[str]) -> list[float]:
        words = dict(word.split("=", 1) for word in job)
        state = Path(words["folder"].strip("'")) / "epoch"
        done = int(state.read_text()) if state.exists() else 0
        state.write_text(words["epochs"])
        return [1.0 / epoch for epoch in range(done + 1, int(words["epochs"]) + 1)]


def _sweeper(place: Path, budget: str) -> Any:
    from omegaconf import OmegaConf

    module = importlib.import_module("hydra_plugins.bhpt_sweeper.bhpt_sweeper")
    settings = {"budget": budget, "max_epochs": 8, "policy": "random", "unit": 2}
    sweeper = module.BhptSweeper("study.db", "epochs", "folder", {}, **settings)
    sweeper.config = OmegaConf.create({"hydra": {"sweep": {"dir": str(place)}}})
    sweeper.hydra_context, sweeper.launcher = _Context(), _Launcher()
    sweeper.validate_batch_is_legal = lambda _: None
    return sweeper


def _swept_until_folders_are_gone(place: Path) -> None:
    """A sweep of 4 epochs, all on one configuration, whose folder is then removed."""
    _sweeper(place, "4 epochs").sweep(["width=8,16"])
    shutil.rmtree(place / "checkpoints")


def test_a_second_sweep_in_a_folder_goes_on_with_the_larger_budget(tmp_path: Path) -> None:
    for budget, spent in (("4 epochs", 4), ("4 epochs", 4), ("6 epochs", 6)):
        assert _sweeper(tmp_path, budget).sweep(["width=8,16"])["spent"] == f"{spent} epochs"
    with pytest.raises(Misuse, match="has a budget of 6 epochs, more than 4 epochs: name at least"):
        _sweeper(tmp_path, "4 epochs").sweep(["width=8,16"])
    with pytest.raises(Misuse, match="exists and has other configurations"):
        _sweeper(tmp_path, "8 epochs").sweep(["width=8,32"])


def test_a_folder_that_is_gone_is_said_and_its_epochs_are_charged_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _swept_until_folders_are_gone(tmp_path)
    _sweeper(tmp_path, "10 epochs").sweep(["width=8,16"])
    with bhpt.open_study(tmp_path / "study.db") as study:
        assert study.state.ledger.spent == 10
        assert study.state.curves is not None
        (arm,) = study.state.curves.visited.tolist()
        assert study.state.count(arm) == 6
        assert study.state.curves.of_arm(arm).tolist() == [1.0 / n for n in range(1, 7)]
    (said,) = [record.message for record in caplog.records]
    assert said.startswith(f"configuration {arm} has lost its folder {tmp_path}")
    assert said.endswith("it starts over and pays for 4 epochs once more")


def test_a_folder_that_is_gone_and_cannot_be_paid_for_ends_its_configuration(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _swept_until_folders_are_gone(tmp_path)
    _sweeper(tmp_path, "6 epochs").sweep(["width=8,16"])
    with bhpt.open_study(tmp_path / "study.db") as study:
        assert study.state.ledger.spent == 6  # the rest went to another one
        assert study.state.failures == 1
    (said,) = [record.message for record in caplog.records]
    assert said.endswith("does not pay for 4 epochs once more, so it is given up")


@pytest.mark.slow
def test_a_task_that_never_works_is_said(tmp_path: Path) -> None:
    done = _multirun(tmp_path, "model.lr=interval(0.1,1)", "model.kind=broken")
    assert done.returncode == 1
    assert "out of luck" in done.stderr
