"""Ten jobs as a new user writes them: at most six lines of ours, and a kill changes nothing.

The scripts are ordinary training code; what is ours is marked `# bhpt`. Each is run until it has a
few reports, killed with everything it has started, and run again.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from bhpt.storage import read_store
from bhpt.study import State, fold

SCRIPTS = Path(__file__).parent / "scripts"
PYTHON = ("python",)
JOBS = [
    ("torch", "torch_loop.py", PYTHON),
    ("lightning", "lightning_job.py", PYTHON),
    ("transformers", "hf_job.py", PYTHON),
    ("keras", "keras_job.py", PYTHON),
    ("xgboost", "xgboost_job.py", PYTHON),
    ("lightgbm", "lightgbm_job.py", PYTHON),
    ("sklearn", "sklearn_job.py", PYTHON),
    ("bhpt", "argparse_script.sh", ("bash",)),
    ("bhpt", "notebook_cell.py", ("bash", "-c", 'python - < "$0"')),
    ("bhpt", "ask_and_tell.py", PYTHON),
]
_WAIT_S = 240.0
_MOST_LINES = 6


def _state(folder: Path) -> State | None:
    if not (folder / "study.db").exists():
        return None
    with read_store(folder / "study.db") as reader:
        return fold(reader.read())


def _curves(state: State | None) -> dict[int, list[float]]:
    assert state is not None
    assert state.curves is not None
    return {arm: state.curves.of_arm(arm).tolist() for arm in state.curves.visited.tolist()}


def _start(folder: Path, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
    """A job in a session of its own, so that all of it can be killed at once."""
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    paths = os.pathsep.join(path for path in sys.path if path)
    variables = {**os.environ, "PATH": programs, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    with (folder / "printed").open("ab") as printed:
        return subprocess.Popen(
            words, cwd=folder, env=variables, stdout=printed, stderr=printed, start_new_session=True
        )


def _kill_after(reports: int, folder: Path, job: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _WAIT_S
    while job.poll() is None and time.monotonic() < until:
        state = _state(folder)
        if state is not None and state.reports >= reports:
            break
        time.sleep(0.05)
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()


@pytest.mark.parametrize("name", [name for _, name, _ in JOBS])
def test_it_takes_six_lines_at_most(name: str) -> None:
    text = (SCRIPTS / name).read_text().splitlines()
    ours = [line for line in text if line.endswith("# bhpt")]
    assert 0 < len(ours) <= _MOST_LINES
    assert all("bhpt" not in line for line in text if line not in ours)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("package", "name", "words"), JOBS, ids=[name for _, name, _ in JOBS])
def test_a_kill_changes_nothing(
    package: str, name: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        shutil.copytree(SCRIPTS, folder)
    assert _start(whole, (*words, name)).wait(_WAIT_S) == 0, (whole / "printed").read_text()
    _kill_after(3, killed, _start(killed, (*words, name)))
    assert _start(killed, (*words, name)).wait(_WAIT_S) == 0, (killed / "printed").read_text()
    first, second = _state(whole), _state(killed)
    assert first is not None
    assert second is not None
    assert second.ledger.spent == first.ledger.spent == first.plan.budget.amount
    assert second.failures == 0
    expected = _curves(first)
    shared = {arm: curve for arm, curve in _curves(second).items() if arm in expected}
    assert shared
    for arm, curve in shared.items():
        both = min(len(curve), len(expected[arm]))
        assert curve[:both] == pytest.approx(expected[arm][:both], rel=1e-3)
    assert max(map(len, _curves(second).values())) > 1  # something was frozen and thawed
