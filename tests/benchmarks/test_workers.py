"""Several workers under one deadline on the virtual clock: what the benchmark measures."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import workers
from bhpt.bench.tasks import packaged

CELL = workers.Cell("kind", "vae_mnist", "random", 3, 0)


def test_what_is_reachable_is_the_best_of_arms_trained_without_a_pause() -> None:
    task = replace(packaged("vae_mnist"), losses=np.array([[0.9, 0.5, 0.1], [0.8, np.nan, 0.7]]))
    assert workers.reachable(task, np.array([300.0, 60.0])) == 0.5  # two epochs, and all
    assert workers.reachable(task, np.array([60.0, 60.0])) == 0.1
    assert workers.reachable(task, np.array([800.0, 800.0])) == task.untrained


@pytest.mark.parametrize("count", [1, 4])
def test_a_study_is_charged_for_what_its_workers_trained(count: int) -> None:
    task = packaged("vae_mnist")
    outcome = workers.run(task, "random", replace(CELL, workers=count))
    assert 0.0 <= outcome.regret <= 1.0
    assert 0.7 < outcome.busy <= 1.0
    usual = workers.epoch_seconds(task.arms, 0)
    assert outcome.epochs >= count * 12 * 60 * outcome.busy / usual.max()


def test_rows_are_kept_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    assert workers.rows_of(file) == {}
    with file.open("a") as lines:
        lines.write("kind,vae_mnist,random,3,0,0.25,0.9,40\nkind,vae_mnist,asha,3,0,0.5,0.8,41\n")
        lines.write("kind,vae_mnist,sh,3")  # interrupted
    rows = workers.rows_of(file)
    assert rows[CELL] == workers.Outcome(0.25, 0.9, 40)
    head, mean, kind, busy = workers.table(rows)
    assert head.split() == ["asha", "x", "3", "random", "x", "3"]
    assert mean.split()[-2:] == kind.split()[-2:] == ["0.500", "0.250"]
    assert busy.split()[-2:] == ["0.800", "0.900"]
    some = workers.table({**rows, replace(CELL, workers=64, kind="other"): rows[CELL]})
    assert [line.split()[-1] for line in some] == ["64", "0.250", "-", "0.250", "0.900"]


def test_more_workers_than_arms_have_nothing_to_decide() -> None:
    small = replace(packaged("vae_mnist"), kind="a")  # 49 arms
    tasks = [small, replace(small, kind="b"), replace(small, name="other")]
    found = workers.cells(tasks, 2, (4, 64), ("asha", "random"))
    assert {cell.workers for cell in found} == {4}
    assert len(found) == len(set(found)) == 3 * 2 * 2
    assert [cell.seed for cell in found if cell.kind == "a"] == [0, 0, 1, 1, 2, 2, 3, 3]
