"""Training functions and trainers without a name, with real processes and files."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import bhpt
from bhpt.domain import Misuse
from bhpt.storage import read_store
from bhpt.study.events import Failed, Observed
from bhpt.tuning import Options, resume, tune
from tests.study.cases import Greedy
from tests.tuning.cases import check_invariants, essence
from tests.tuning.trainers import Net, generator, reporting, reporting_alive

_CONFIGS = [{"x": value / 10} for value in range(5)]
_QUICK = Options(grace_s=1.0)


def _events(file: Path) -> list[bhpt.Event]:
    with read_store(file) as store:
        return store.read()


def test_a_function_that_saves_is_tuned_like_a_class(tmp_path: Path) -> None:
    logs = []
    for name, trainer in (("class", Net), ("function", reporting)):
        file = tmp_path / f"{name}.db"
        tune(trainer, _CONFIGS, "8 epochs", 1, file, max_epochs=8, policy=Greedy(), options=_QUICK)
        result = resume(file, "4 epochs", policy=Greedy(), options=_QUICK)
        check_invariants(result.state)
        assert result.best_checkpoint is not None
        assert (result.best_checkpoint / "net.json").is_file()
        logs.append(_events(file))
    assert essence(logs[0]) == essence(logs[1])
    assert all(event.saved for event in logs[1] if isinstance(event, Observed))
    assert sum(event.rerun for event in logs[1] if isinstance(event, Observed)) == 0


def test_a_function_that_does_not_save_is_tuned_like_a_generator(tmp_path: Path) -> None:
    logs = []
    for name, trainer in (("generator", generator), ("function", reporting_alive)):
        file = tmp_path / f"{name}.db"
        tune(trainer, _CONFIGS, "8 epochs", 1, file, max_epochs=8, policy=Greedy(), options=_QUICK)
        result = resume(file, "4 epochs", policy=Greedy(), options=_QUICK)
        assert result.best_checkpoint is None
        logs.append(_events(file))
    assert essence(logs[0]) == essence(logs[1])
    reruns = [[e.rerun for e in log if isinstance(e, Observed)] for log in logs]
    assert reruns[0] == reruns[1]
    assert sum(reruns[1]) > 0  # what lived in the worker of the first session


def test_a_closure_is_tuned_and_asked_for_again(tmp_path: Path) -> None:
    shift = 0.25
    file = tmp_path / "closure.db"

    def train(config: dict[str, float]) -> None:
        net = Net(config)
        if (folder := bhpt.checkpoint()) is not None:
            net.load(folder)
        while True:
            bhpt.report(net.step() + shift, checkpoint=net.save)

    result = tune(train, _CONFIGS, "5 epochs", 2, file, policy=Greedy(), options=_QUICK)
    assert result.best_loss > shift
    assert result.state.plan.trainer == {"by_value": "train"}
    with pytest.raises(Misuse, match=r"'train' was a closure .* trainer=\.\.\."):
        resume(file, "2 epochs")
    again = resume(file, "2 epochs", trainer=train, policy=Greedy(), options=_QUICK)
    assert again.state.ledger.spent == 7


def test_a_function_whose_worker_is_killed_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    marker = tmp_path / "killed"

    def train(config: dict[str, float]) -> None:
        net = Net(config)
        if (folder := bhpt.checkpoint()) is not None:
            net.load(folder)
        while True:
            loss = net.step()
            if net.epoch == 3 and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            bhpt.report(loss, checkpoint=net.save)

    file = tmp_path / "killed.db"
    result = tune(train, _CONFIGS[:1], "5 epochs", 1, file, policy=Greedy(), options=_QUICK)
    events = _events(file)
    assert marker.exists()
    assert sum(isinstance(event, Failed) for event in events) == 1
    losses = [loss for event in events if isinstance(event, Observed) for loss in event.losses]
    net = Net(dict(_CONFIGS[0]))
    assert losses == [net.step() for _ in losses]
    assert sum(event.rerun for event in events if isinstance(event, Observed)) == 0
    assert result.state.ledger.spent == 5


def test_a_partial_is_tuned(tmp_path: Path) -> None:
    trainer = partial(reporting_alive)
    result = tune(trainer, _CONFIGS, "4 epochs", 1, tmp_path / "p.db", policy=Greedy())
    assert result.state.ledger.spent == 4


PROMPT = """
import bhpt

class Net:
    def __init__(self, config):
        self.config, self.epoch = config, 0
    def step(self):
        self.epoch += 1
        return self.config["x"] + 1 / self.epoch
    def save(self, folder):
        (folder / "epoch").write_text(str(self.epoch))
    def load(self, folder):
        self.epoch = int((folder / "epoch").read_text())

result = bhpt.tune(Net, {"x": (0.0, 1.0)}, "6 epochs", study="net.db", policy="sh")
print(result.status, result.state.plan.trainer)
"""


def test_a_class_that_was_typed_in_is_tuned(tmp_path: Path) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-"],
        input=PROMPT,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "done {'by_value': 'Net'}", done.stderr
