"""Worker processes of a benchmark."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bhpt.bench.workers import workers

_BENCHMARK = """
import os, sys, time
from bhpt.bench.workers import workers

if __name__ == "__main__":
    with workers(1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""


def test_a_pool_computes() -> None:
    with workers(2) as pool:
        assert list(pool.map(abs, [-1, 2, -3])) == [1, 2, 3]


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_benchmark(tmp_path: Path, sent: signal.Signals) -> None:
    script = tmp_path / "benchmark.py"
    script.write_text(_BENCHMARK)
    words, pipe = [sys.executable, str(script)], subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, start_new_session=True) as benchmark:
        assert benchmark.stdout is not None
        worker = int(benchmark.stdout.readline())
        os.kill(worker, 0)
        if sent == signal.SIGINT:
            os.killpg(benchmark.pid, sent)  # as a terminal does
        else:
            benchmark.send_signal(sent)
        _, errors = benchmark.communicate(timeout=60)  # what runs would take ten minutes
    assert errors.count(b"Traceback") == (sent == signal.SIGINT)  # none of the worker's
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
