"""Studies on a Ray cluster of several nodes: a node or the head is lost, the driver is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import bhpt
from bhpt.storage import read_store
from bhpt.study import State, fold
from bhpt.study.events import Failed
from bhpt.tuning import Options, resume, tune
from tests.executors.ray_clusters import OBJECTS
from tests.study.cases import Greedy
from tests.tuning.trainers import Net

pytest.importorskip("ray", reason="needs ray")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
_CONFIGS = [{"x": value / 10, "sleep": 0.3} for value in range(11)]
_QUICK = Options(grace_s=1.0)
_ROOT = Path(__file__).parents[2]


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A head without cores, and two nodes with two each."""
    with _cluster(nodes=2) as made:
        yield made


@contextmanager
def _cluster(nodes: int) -> Iterator[Any]:
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": OBJECTS, "include_dashboard": False},
    )
    for _ in range(nodes):
        made.add_node(num_cpus=2, object_store_memory=OBJECTS)
    made.wait_for_nodes()
    yield made
    ray.shutdown()
    made.shutdown()


def _state(file: Path) -> State:
    with read_store(file) as reader:
        return fold(reader.read())


def test_a_node_is_lost_and_the_budget_is_exact(tmp_path: Path, cluster: Any) -> None:
    file = tmp_path / "net.db"
    worker_nodes = list(cluster.worker_nodes)

    def lose() -> None:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if file.exists() and _state(file).reports >= 4:
                cluster.remove_node(worker_nodes[0], allow_graceful=False)
                return
            time.sleep(0.2)

    thief = threading.Thread(target=lose)
    thief.start()
    where = bhpt.Ray(address=cluster.address)
    result = tune(
        Net, _CONFIGS, "24 epochs", 4, file, policy=Greedy(), options=_QUICK, executor=where
    )
    thief.join()
    state = result.state
    with read_store(file) as reader:
        lost = [event for event in reader.read() if isinstance(event, Failed)]
    assert state.ledger.spent == 24
    assert state.reports == 24 - len(lost)  # what was lost is charged, and nothing else failed
    assert {event.kind for event in lost} <= {"lost"}
    assert len(lost) <= 2  # the node had two workers
    assert result.best_checkpoint is not None


def _driver(
    file: Path, address: str, epochs: int = 16, workers: int = 2
) -> "subprocess.Popen[str]":
    """A driver in a process of its own, which has taken some reports."""
    space = file.with_suffix(".json")
    space.write_text('{"x": {"min": 0.0, "max": 1.0}, "sleep": {"choices": [0.3]}}')
    words = ["tune", "tests.tuning.trainers:Net", "--space", str(space)]
    words += ["--budget", f"{epochs} epochs", "--workers", str(workers)]
    words += ["--study", str(file), "--policy", "random", "--progress", "off"]
    words += ["--executor", "ray", "--address", address]
    command = [sys.executable, "-m", "bhpt", *words]
    process = subprocess.Popen(command, cwd=_ROOT, stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 150
    while not (file.exists() and _state(file).reports >= 3):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < until
        time.sleep(0.2)
    return process


def test_the_head_is_lost_and_another_cluster_goes_on(tmp_path: Path) -> None:
    """Ray ends the driver at once; a line says how to go on, and the budget is exact."""
    file = tmp_path / "net.db"
    with _cluster(nodes=1) as first:
        address = first.address
        process = _driver(file, address)
        first.remove_node(first.head_node, allow_graceful=False)
        _, printed = process.communicate(timeout=150)
    assert process.returncode != 0
    assert f"bhpt resume {file} --executor ray --address {address}" in printed
    assert _state(file).reports >= 3
    with _cluster(nodes=1) as second:
        where = bhpt.Ray(address=second.address)
        state = resume(file, options=_QUICK, executor=where).state
    assert state.ledger.spent == 16
    assert state.reports == 16 - state.failures


def test_a_killed_driver_is_resumed_on_the_cluster(tmp_path: Path, cluster: Any) -> None:
    file = tmp_path / "net.db"
    process = _driver(file, cluster.address)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = _state(file)
    assert before.open
    state = resume(file, options=_QUICK, executor=bhpt.Ray(address=cluster.address)).state
    assert (state.ledger.spent, state.reports) == (16, 16)


def test_two_drivers_share_a_cluster_fairly(tmp_path: Path, cluster: Any) -> None:
    """Both want all of it; while both run, neither gets much more than the other."""
    files = [tmp_path / "first.db", tmp_path / "second.db"]
    first = _driver(files[0], cluster.address, epochs=90, workers=4)
    second = _driver(files[1], cluster.address, epochs=90, workers=4)
    assert first.poll() is None, first.communicate()[1]
    before = [_state(file).reports for file in files]
    while first.poll() is None and second.poll() is None:
        time.sleep(0.2)
    done = [_state(file).reports - known for file, known in zip(files, before, strict=True)]
    for process in (first, second):
        _, printed = process.communicate(timeout=150)
        assert process.returncode == 0, printed
    assert [_state(file).ledger.spent for file in files] == [90, 90]
    assert min(done) > max(done) / 2, (before, done)


def test_studies_share_a_cluster(cluster: Any) -> None:
    """The one that comes second gets its half while the first still runs."""
    import ray

    from bhpt.executors.ray_cluster import RayExecutor
    from bhpt.trainers.specs import Imported

    ray.init(cluster.address, log_to_driver=False, configure_logging=False)
    trainer = Imported("tests.tuning.trainers:Net")
    with RayExecutor(trainer, 4) as first:
        first.start(4)
        with RayExecutor(trainer, 4) as second:
            until = time.monotonic() + 120
            while (first.free, second.free) != (2, 2):
                assert time.monotonic() < until, (first.free, second.free)
                first.poll(0.1)
                second.poll(0.1)
                time.sleep(0.2)
        until = time.monotonic() + 120
        while first.free != 4:  # and gets all back when the other is done
            assert time.monotonic() < until
            first.poll(0.1)
            time.sleep(0.2)
