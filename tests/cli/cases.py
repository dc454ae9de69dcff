"""A folder with quick training jobs, and command lines run in it."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from bhpt.cli.main import run

TERMINAL = "xterm"
JOB = """
import json
import time

SPACE = {"rate": (0.01, 1.0, "log"), "depth": [1, 2, 3]}
PAUSE_S = 0.0


def loss_of(config, epoch):
    return (config["rate"] - 0.3) ** 2 + 0.1 * config["depth"] + 1.0 / epoch


class Net:
    def __init__(self, config):
        self.config, self.epoch = config, 0

    def step(self):
        time.sleep(PAUSE_S)
        self.epoch += 1
        return loss_of(self.config, self.epoch)

    def save(self, folder):
        (folder / "epoch.json").write_text(json.dumps(self.epoch))

    def load(self, folder):
        self.epoch = json.loads((folder / "epoch.json").read_text())


class Slow(Net):
    def step(self):
        time.sleep(0.3)
        return super().step()


class Accurate(Net):
    def step(self):
        loss = super().step()
        return {"val_acc": -loss, "loss": loss}


class Broken(Net):
    def step(self):
        raise RuntimeError("out of luck")


class Diverging(Net):
    def step(self):
        return float("nan")


class NoStep:
    def __init__(self, config):
        pass

    def save(self, folder):
        pass

    def load(self, folder):
        pass


def losses(config):
    epoch = 0
    while True:
        epoch += 1
        yield loss_of(config, epoch)
"""

COMMAND = """
import json, os, pathlib

config = json.loads(os.environ["BHPT_CONFIG"])
done = int(os.environ["BHPT_EPOCHS_DONE"])
for epoch in range(done, done + int(os.environ["BHPT_EPOCHS"])):
    print("bhpt loss", (config["rate"] - 0.3) ** 2 + 1 / (epoch + 1))
pathlib.Path(os.environ["BHPT_CHECKPOINT_OUT"], "done").write_text(str(done))
"""

SPACE = {"rate": {"min": 0.01, "max": 1.0, "log": True}, "depth": [1, 2, 3]}
LISTED = [{"rate": rate, "depth": 1} for rate in (0.05, 0.1, 0.2, 0.4, 0.8)]


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    status: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        return self.err.splitlines()


@dataclass(frozen=True)
class Folder:
    """A place with jobs in it."""

    path: Path
    capture: pytest.CaptureFixture[str]

    def bhpt(self, *words: str) -> Answer:
        """Run a command line in this process."""
        self.capture.readouterr()
        status = run(list(words))
        out, err = self.capture.readouterr()
        return Answer(status, out, err)

    def tune(self, *words: str, trainer: str = "job:Net", study: str = "s.db") -> Answer:
        """Tune a quick job on a short list, 8 epochs unless told otherwise."""
        given = {"--space": "listed.json", "--budget": "8 epochs", "--study": study}
        rest = [
            word for name, value in given.items() if name not in words for word in (name, value)
        ]
        return self.bhpt("tune", trainer, *rest, *words)

    def files(self) -> dict[str, bytes]:
        """Everything there, with its content."""
        return {
            str(file.relative_to(self.path)): file.read_bytes() if file.is_file() else b""
            for file in sorted(self.path.rglob("*"))
            if "__pycache__" not in file.parts
        }

    def write(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)


def fill(folder: Path) -> None:
    """Jobs and spaces to tune."""
    (folder / "job.py").write_text(JOB)
    (folder / "train.py").write_text(COMMAND)
    (folder / "space.json").write_text(json.dumps(SPACE))
    (folder / "listed.json").write_text(json.dumps(LISTED))


def spawn(folder: Path, *words: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """Run a command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "bhpt.cli.main", *words],
        cwd=folder,
        env={**os.environ, "TERM": TERMINAL, "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
