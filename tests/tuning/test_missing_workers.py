"""Executors whose workers come and go, and how an executor is chosen."""

from pathlib import Path

import pytest

import bhpt
from bhpt.cli.session_options import executor_from
from bhpt.domain import Misuse
from bhpt.executors import Report, SimulatedExecutor
from bhpt.tuning import Options, Paused
from bhpt.tuning.executor_choice import executor_maker, local_executor
from tests.study.cases import CONFIGS, loss_at
from tests.tuning.cases import check_invariants, new_log, session


class Flaky(SimulatedExecutor):
    """Its workers are away at times: for so many looks after each report."""

    def __init__(self, away: int) -> None:
        super().__init__(lambda arm, epoch: loss_at(CONFIGS[arm], epoch), 1.0, 2)
        self._away, self._left = away, away

    @property
    def free(self) -> int:
        return 0 if self._left > 0 else super().free

    def poll(self, timeout: float | None = None) -> list[Report]:
        self._left -= 1
        came = super().poll(timeout)
        if came:
            self._left = self._away
        return came


def test_a_session_waits_for_workers_and_spends_all(tmp_path: Path) -> None:
    state = session(new_log("20 epochs", workers=2), tmp_path, Flaky(5))
    assert state.ledger.spent == 20
    check_invariants(state)


def test_a_session_without_workers_pauses(tmp_path: Path) -> None:
    with pytest.raises(Paused, match="no worker was to be had for 1 s"):
        session(new_log(), tmp_path, Flaky(10**6), options=Options(patience_s=1.0))


def test_nobody_waits_for_workers_when_nothing_is_left(tmp_path: Path) -> None:
    log = new_log("4 epochs")
    assert session(log, tmp_path, Flaky(0)).ledger.left == 0
    assert session(log, tmp_path, Flaky(10**6)).ledger.left == 0


def test_executors_are_chosen_by_name_or_given() -> None:
    def own(*_: object) -> SimulatedExecutor:
        return Flaky(0)

    assert executor_maker("local") is local_executor
    assert executor_maker(own) is own
    assert callable(executor_maker("ray"))
    assert callable(executor_maker(bhpt.Ray(num_gpus=0.5)))
    with pytest.raises(Misuse, match="no executor 'slurm'"):
        executor_maker("slurm")  # type: ignore[arg-type]


def test_what_no_node_could_have_is_refused() -> None:
    with pytest.raises(Misuse, match="cannot need -1 of GPU"):
        bhpt.Ray(num_gpus=-1)
    with pytest.raises(Misuse, match="must need something"):
        bhpt.Ray(num_cpus=0)
    assert bhpt.Ray(resources={"tpu": 2}).needs == {"CPU": 1.0, "GPU": 0.0, "tpu": 2}


def test_options_of_a_cluster_need_a_cluster() -> None:
    made = executor_from("ray", "host:1", 2.0, ["tpu=1"], True)
    assert made == bhpt.Ray("host:1", num_cpus=2.0, resources={"tpu": 1.0}, shared_files=True)
    for words in [("local", "host:1", None, None, False), ("local", None, 1.0, None, False)]:
        with pytest.raises(Misuse, match="need --executor ray"):
            executor_from(*words)
    with pytest.raises(Misuse, match="use local or ray"):
        executor_from("slurm", None, None, None, False)
    with pytest.raises(Misuse, match="write NAME=N"):
        executor_from("ray", None, None, ["tpu"], False)
