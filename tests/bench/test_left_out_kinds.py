"""Kinds are judged by networks that were trained without them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bhpt.beliefs.learned.passport import TrainedOn
from bhpt.beliefs.learned.weights import NETWORKS, shipped, write_weights
from bhpt.bench.left_out_kinds import (
    KindsPlan,
    fold_for,
    fold_without,
    regrets_by_kind,
    tables_by_kind,
)
from bhpt.bench.runner import Source, run_missing
from bhpt.bench.table import Results
from bhpt.domain import Misuse


def fold(folder: Path, *trained: str, left_out: tuple[str, ...] = ()) -> Path:
    """The shipped networks, as if they had been trained on these kinds without some tables."""
    folder.mkdir()
    for network in NETWORKS:
        weights = shipped(network)
        trained_on = TrainedOn(kinds=dict.fromkeys(trained, 1), left_out=left_out)
        write_weights(
            folder / f"{network}.npz", weights, replace(weights.passport, trained_on=trained_on)
        )
    return folder


def table(folder: Path, name: str, kind: str) -> None:
    loss = np.linspace(1, 0.1, 6)[None, :] ** np.arange(1, 9)[:, None]
    np.savez(folder / f"{name}.npz", loss=loss)
    configs = [{"lr": 10.0 ** -(k + 1)} for k in range(8)]
    words = {"configs": configs, "metric": "loss", "epochs_per_unit": 1, "kind": kind, "how": "x"}
    (folder / f"{name}.json").write_text(json.dumps(words))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(3):
        table(folder, f"a{number}", "trees")
        table(folder, f"b{number}", "nets")
    return folder


def test_a_kind_gets_the_networks_that_have_not_seen_it(data: Path, tmp_path: Path) -> None:
    saw_nets, saw_trees = fold(tmp_path / "n", "nets"), fold(tmp_path / "t", "trees")
    folds = (saw_nets, saw_trees)
    assert fold_without("trees", folds) == saw_nets
    assert fold_without("nets", folds) == saw_trees
    plan = KindsPlan(tables_by_kind(data, 2), folds, ("default", "asha"), (4,), 1)
    used = {(run.task[0], run.policy) for run in plan.runs()}
    assert used == {
        ("a", f"default:{saw_nets}"),
        ("b", f"default:{saw_trees}"),
        ("a", "asha"),
        ("b", "asha"),
    }


def test_a_kind_that_all_networks_have_seen_is_refused(tmp_path: Path) -> None:
    folds = (fold(tmp_path / "n", "nets", "trees"), fold(tmp_path / "t", "trees"))
    with pytest.raises(Misuse, match="kind trees: no networks were trained without it"):
        fold_without("trees", folds)


def test_a_table_of_a_known_kind_gets_networks_that_were_kept_from_it(tmp_path: Path) -> None:
    folds = (fold(tmp_path / "t", "trees"), fold(tmp_path / "k", "trees", left_out=("a0",)))
    assert fold_for("a0", "trees", folds) == folds[1]
    assert fold_for("b0", "nets", folds) == folds[0]
    with pytest.raises(Misuse, match="kind trees: no networks were trained without it"):
        fold_for("a1", "trees", folds)


def test_tables_are_grouped_and_few(data: Path) -> None:
    found = tables_by_kind(data, 2)
    assert {kind: len(tasks) for kind, tasks in found.items()} == {"nets": 2, "trees": 2}
    assert tables_by_kind(data, 2) == found
    gone = next(iter(found["nets"]))
    for file in data.glob(f"{gone}.*"):
        file.unlink()
    assert tables_by_kind(data, 2)["trees"] == found["trees"]
    with pytest.raises(Misuse, match=r"no NAME\.npz"):
        tables_by_kind(data / "nothing", 2)


def test_regrets_are_means_over_tables_and_rows_are_not_run_again(
    data: Path, tmp_path: Path
) -> None:
    plan = KindsPlan(tables_by_kind(data, 2), (fold(tmp_path / "f"),), ("default", "sh"), (3,), 2)
    out = tmp_path / "out"
    rows = run_missing(plan.runs(), out, 1, lambda *_: None, Source(data))
    assert len(rows) == 2 * 2 * 2 * 2
    regrets = regrets_by_kind(plan, rows)
    mine = [r.score.regret for r in rows if r.run.task[0] == "a" and r.run.policy == "sh"]
    assert regrets["trees", "sh", 3] == pytest.approx(np.mean(mine))
    assert len(run_missing(plan.runs(), out, 1, lambda *_: None, Source(data))) == len(rows)
    assert len(Results(out).rows()) == len(rows)
