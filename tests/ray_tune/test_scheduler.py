"""Ray Tune under a hard budget: a real `Tuner.fit()`, and `Tuner.restore` after a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.storage import read_store
from bhpt.study import State, fold

pytest.importorskip("ray.tune", reason="needs ray[tune]")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
_BUDGET = 24
_ROOT = Path(__file__).parents[2]


def _start(root: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.ray_tune.tune_script", str(root), *words],
        cwd=_ROOT,
        stdout=subprocess.PIPE,
        stderr=(root / "stderr").open("a"),
        text=True,
        start_new_session=True,
    )


def _said(root: Path, process: subprocess.Popen[str]) -> dict[str, float]:
    out, _ = process.communicate(timeout=200)
    assert process.returncode == 0, (root / "stderr").read_text()[-3000:]
    said: dict[str, float] = json.loads(out.strip().splitlines()[-1])
    return said


def _state(root: Path) -> State:
    with read_store(root / "study.db") as reader:
        return fold(reader.read())


def test_a_tuner_spends_its_budget_exactly(tmp_path: Path) -> None:
    said = _said(tmp_path, _start(tmp_path))
    state = _state(tmp_path)
    assert len((tmp_path / "count").read_text()) == _BUDGET
    assert (state.ledger.spent, state.reports, state.failures) == (_BUDGET, _BUDGET, 0)
    assert said["errors"] == 0
    assert state.best is not None
    assert state.configs[state.best.arm]["x"] == said["best"]


def test_a_budget_that_does_not_reach_every_trial_has_results(tmp_path: Path) -> None:
    said = _said(tmp_path, _start(tmp_path, "short"))
    state = _state(tmp_path)
    assert len((tmp_path / "count").read_text()) == state.ledger.spent == 3
    assert state.curves is not None
    assert len(state.curves.visited) <= 3 < said["trials"] == 5
    assert said["errors"] == 0


def test_a_killed_tuner_is_restored_with_what_was_spent(tmp_path: Path) -> None:
    process = _start(tmp_path, "slow")
    count = tmp_path / "count"
    until = time.monotonic() + 150
    while not (count.exists() and len(count.read_text()) >= 8):
        assert time.monotonic() < until, (tmp_path / "stderr").read_text()[-3000:]
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    time.sleep(1.0)
    killed = _state(tmp_path)
    assert killed.reports >= 4
    _said(tmp_path, _start(tmp_path, "restore"))
    state = _state(tmp_path)
    assert state.ledger.left == 0
    assert state.ledger.spent == _BUDGET
    assert state.reports >= killed.reports


def test_bad_input_is_refused_before_anything_runs() -> None:
    from bhpt.ray import BHPTScheduler

    with pytest.raises(Misuse, match="a budget of epochs"):
        BHPTScheduler("2h")
    with pytest.raises(Misuse, match="metric and a mode"):
        BHPTScheduler("5 epochs")._objective()
