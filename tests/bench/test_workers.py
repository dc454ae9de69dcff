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
    configs: list[dict[str, object]] = [{"x": float(arm)} for arm in range(task.arms)]
    outcome = workers.run(task, configs, "random", replace(CELL, workers=count))
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
