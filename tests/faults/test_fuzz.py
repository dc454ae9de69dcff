"""The short form of the fuzzer in `make soak`."""

import os
import subprocess
import sys


def test_attacked_studies_keep_every_invariant() -> None:
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.fuzz", "--steps", "8", "--seed", "3", "--no-server"],
        env={**os.environ, **threads},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "every invariant held" in done.stdout
