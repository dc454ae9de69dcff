"""The driver is killed: nothing that it started may survive it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bhpt.executors import guard
from tests.executors.helpers import NET, eventually, lives

DRIVER = """
import os, sys, time
from pathlib import Path
from bhpt.executors import Job, LocalExecutor
from bhpt.trainers import Imported

folder = Path(sys.argv[1])
executor = LocalExecutor(Imported(sys.argv[2]), 2, folder / "logs")
executor.start()
for attempt, then in enumerate(sys.argv[3].split(",")):
    freeze_to = folder / f"attempt-{attempt}" / "files"
    freeze_to.mkdir(parents=True)
    pids = str(folder / f"pids-{attempt}")
    config = {"rate": 1.0, "mode": "children", "then": then, "pids": pids}
    executor.submit(Job(attempt, attempt, config, 1, 0, freeze_to))
until = time.monotonic() + 20
while not all((folder / f"pids-{attempt}").exists() for attempt in range(2)):
    assert time.monotonic() < until
    executor.poll(0.05)
executor.poll(0.2)
print(executor._token, executor._guard._process.pid, flush=True)
if sys.argv[4] == "leave":
    os._exit(0)
if sys.argv[4] == "raise":
    raise RuntimeError
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("modes", "end"),
    [
        ("hang,good", "kill"),
        ("deaf,freeze", "kill"),
        ("hang,deaf", "leave"),
        ("hang,good", "raise"),
        ("hang,good", "interrupt"),
    ],
)
def test_nothing_survives_the_driver(tmp_path: Path, modes: str, end: str) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path), NET.name, modes, end],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as driver:
        assert driver.stdout is not None
        token, keeper = driver.stdout.readline().split()
        children = [
            int(pid) for i in range(2) for pid in (tmp_path / f"pids-{i}").read_text().split()
        ]
        assert len(children) == 8
        if end in {"kill", "interrupt"}:
            assert all(lives(pid) for pid in children)
            assert len(guard.members(token)) >= 2 + len(children)
            driver.send_signal(signal.SIGKILL if end == "kill" else signal.SIGINT)
        driver.wait(10)
    eventually(lambda: not guard.members(token), within=30)
    eventually(lambda: not any(lives(pid) for pid in (*children, int(keeper))), within=30)


@pytest.mark.slow
@pytest.mark.parametrize("tenth", range(12))
def test_nothing_survives_a_driver_killed_while_it_starts(tmp_path: Path, tenth: int) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path), NET.name, "hang,deaf", "kill"],
        env={**os.environ, "PYTHONPATH": paths, "BHPT_WORKER": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as driver:
        time.sleep(tenth / 10)
        driver.kill()
    eventually(lambda: not guard.members(str(tmp_path)), within=30)
