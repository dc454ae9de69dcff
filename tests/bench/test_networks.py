"""networks.json: rows of retrained weights are not rows of the old ones."""

import json
from pathlib import Path

import pytest

from bhpt.bench.networks import note_networks
from bhpt.bench.runner import BenchmarkPlan, run_plan
from bhpt.domain import Misuse
from bhpt.policies.registry import networks
from tests.study.test_networks import weights_in


def plan(*policies: str) -> BenchmarkPlan:
    return BenchmarkPlan(("vae_mnist",), policies, (2,), 1)


def run(out: Path, *policies: str) -> int:
    """How many rows were there before."""
    done: list[int] = []
    run_plan(plan(*policies), out, 1, lambda before, *_: done.append(before))
    return done[0]


def test_rows_of_other_weights_are_refused(tmp_path: Path) -> None:
    """Weights are read once in a process: folders stand for a folder that was retrained."""
    out, old, new = (tmp_path / name for name in ("out", "old", "new"))
    before, now = weights_in(old, 2.0), weights_in(new, 3.0)
    assert run(out, before, "random") == 0
    assert json.loads((out / "networks.json").read_text()) == {before: networks(before)}
    assert run(out, before, "random") == 2
    table = out / "results.csv"
    table.write_text(table.read_text().replace(before, now))
    noted = json.loads((out / "networks.json").read_text())
    (out / "networks.json").write_text(json.dumps({now: noted[before]}))
    kept = table.read_text()
    with pytest.raises(Misuse) as error:
        run(out, now, "random")
    text = str(error.value)
    assert "\n" not in text
    assert networks(before)["policy"][:12] in text
    assert networks(now)["policy"][:12] in text
    assert "choose another --out" in text
    assert table.read_text() == kept
    assert run(out, "random") == 1  # rows that no weights made are still good


def test_rows_of_weights_that_nobody_noted_are_refused(tmp_path: Path) -> None:
    held_out = Path(__file__).parents[2] / "benchmarks" / "policy" / "held_out"
    other = weights_in(tmp_path / "other", 2.0)
    for policy in (f"nameless:{held_out}", "default", other):
        with pytest.raises(Misuse, match="weights that nobody noted"):
            note_networks(tmp_path, [policy], [policy])
        note_networks(tmp_path, [policy], [])  # no rows yet
        note_networks(tmp_path, [policy], [policy])
    assert len(json.loads((tmp_path / "networks.json").read_text())) == 3


def test_a_note_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for text in ("{", "[1]", '{"default": 3}'):
        (tmp_path / "networks.json").write_text(text)
        with pytest.raises(Misuse, match=r"networks\.json cannot be read"):
            note_networks(tmp_path, ["default"], ["default"])


def test_without_networks_there_is_no_note(tmp_path: Path) -> None:
    note_networks(tmp_path, ["random", "optuna-tpe"], ["random"])
    assert not (tmp_path / "networks.json").exists()
