"""On another system than Linux, all but local workers is there: a Mac is faked."""

import os
import subprocess
import sys
from pathlib import Path

FAKED = """
import os, pathlib, platform
for name in ("waitid", "P_PID", "WNOWAIT", "sched_getaffinity", "pidfd_open", "posix_fadvise"):
    if hasattr(os, name):
        delattr(os, name)
platform.system = lambda: "Darwin"
read_text, readlink = pathlib.Path.read_text, os.readlink

def refused(path):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(path)

pathlib.Path.read_text = lambda path, *a, **b: refused(path) or read_text(path, *a, **b)
os.readlink = lambda path, *a, **b: refused(path) or readlink(path, *a, **b)
"""
PYTHON = """
import bhpt
assert all(getattr(bhpt, name) is not None for name in bhpt.__all__)
space = {"x": (0.0, 1.0)}
with bhpt.Study(space, "6 epochs", policy="sh", keep=bhpt.stored("kept.db")) as study:
    for _ in range(3):
        unit = study.ask()
        study.tell(unit, [unit.config["x"]] * unit.epochs)
with bhpt.open_study("kept.db") as study:
    while (unit := study.ask()) is not None:
        study.tell(unit, [unit.config["x"]] * unit.epochs)
    assert study.best_loss < 1
    assert study.state.ledger.spent == 6
try:
    bhpt.tune("job:Net", space, "4 epochs", study="x.db")
except bhpt.Misuse as error:
    print(error)
"""
SIMULATED = """
import numpy as np
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.policies.registry import make_policy
losses = np.linspace(1.0, 0.1, 24).reshape(4, 6)
made = Task("made", losses, 1.5, 1, np.arange(4.0)[:, None] / 4)
assert len(simulate(made, make_policy("default"), 5, 0).arms) == 5
from bhpt.cli.main import run
assert run(["status", "kept.db"]) == 0
assert run(["export", "kept.db", "--out", "kept.csv"]) == 0
"""
NEEDS = "local workers need Linux, not Darwin: run bhpt there or in a container"


def _python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [sys.executable, "-c", FAKED + code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_ask_and_tell_simulation_and_reading_work(tmp_path: Path) -> None:
    done = _python(PYTHON, tmp_path)
    assert done.stdout.startswith(NEEDS), done.stderr
    assert {file.name for file in tmp_path.iterdir()} == {"kept.db"}
    done = _python(SIMULATED, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "kept.db: done" in done.stdout
    assert (tmp_path / "kept.csv").read_text().startswith("arm,")
