"""The short form of `make soak`: a driver killed at random ends as if nobody had touched it."""

import os
import subprocess
import sys


def _soak(*arguments: str) -> str:
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", *arguments],
        env={**os.environ, **threads},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


def test_a_driver_killed_at_random_ends_as_the_uninterrupted_one() -> None:
    said = _soak("--kills", "10", "--units", "40", "--worker-kills", "0")
    assert "10 over table" in said
    assert "decisions and result as uninterrupted" in said


def test_a_driver_killed_with_its_workers_ends_as_the_uninterrupted_one() -> None:
    said = _soak("--kills", "0", "--worker-kills", "3", "--worker-units", "15")
    assert "3 over workers" in said
    assert "decisions and result as uninterrupted" in said
