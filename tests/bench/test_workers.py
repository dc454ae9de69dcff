"""Worker processes of a benchmark."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from bhpt.bench.workers import workers

_BENCHMARK = """
import os, sys, time
from bhpt.bench.workers import workers

if __name__ == "__main__":
    with workers(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(60)
"""


def test_a_pool_computes() -> None:
    with workers(2) as pool:
        assert list(pool.map(abs, [-1, 2, -3])) == [1, 2, 3]


def test_workers_end_when_the_benchmark_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "benchmark.py"
    script.write_text(_BENCHMARK)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as benchmark:
        assert benchmark.stdout is not None
        worker = int(benchmark.stdout.readline())
        os.kill(worker, 0)
        benchmark.send_signal(signal.SIGKILL)
    limit = time.monotonic() + 30
    while _is_there(worker):
        assert time.monotonic() < limit
        time.sleep(0.05)


def _is_there(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
