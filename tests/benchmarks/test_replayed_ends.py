"""Stored studies whose predictions are made again: what is read, counted and printed."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import replayed_ends
from bhpt.bench.catalogue import load
from bhpt.bench.tasks import Task
from bhpt.reports.prediction import predict_study


def small() -> Task:
    return load("vae_mnist", 0).sample(12, 0)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of a small table that went to its end."""
    made = tmp_path_factory.mktemp("studies") / "vae@small-20.db"
    replayed_ends.look_up(small(), "default", 20, made)
    return made


def test_a_log_is_read_up_to_each_part_of_the_budget(file: Path) -> None:
    states, end = replayed_ends.states_at(file)
    amount = end.ledger.budget.amount
    assert [part for part, _ in states] == [0.25, 0.5, 0.75]
    assert [state.ledger.used for _, state in states] == [amount / 4, amount / 2, amount * 3 / 4]
    assert end.ledger.used == amount


def test_what_was_predicted_then_is_beside_what_came(file: Path) -> None:
    states, end = replayed_ends.states_at(file)
    found = list(replayed_ends.replayed(file))
    assert end.best is not None
    assert [one.part for one in found] == [part for part, _ in states]
    for one, (_, state) in zip(found, states, strict=True):
        said = predict_study(state)
        assert said is not None
        assert state.best is not None
        assert (one.expected, one.low) == (said.final.middle, said.final.low)
        assert (one.group, one.best, one.reached) == ("vae", state.best.loss, end.best.loss)


def test_lines_say_how_good_predictions_were() -> None:
    one = replayed_ends.ReplayedEnd("a", 0.25, best=1.0, expected=0.8, low=0.5, reached=0.6)
    ends = [one, replace(one, group="b", part=0.5, reached=0.4), replace(one, reached=1.0)]
    whole, first, second, a, b = replayed_ends.lines(ends)
    assert whole == (
        "all: 3 predictions, 67% of 90% intervals held, median of predicted over actual gain "
        "0.42, wrong by a factor of 2.4 (2 gains)"
    )
    assert first.startswith("at 25% of the budget: 2 predictions, 100%")
    assert second.startswith("at 50% of the budget: 1 predictions, 0%")
    assert a.startswith("a: 2 predictions")
    assert b.startswith("b: 1 predictions")
    assert next(replayed_ends.lines([ends[2]])).endswith("held, nothing was gained")


def test_the_command_records_what_is_missing_and_replays_all(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(replayed_ends, "tables_by_kind", lambda *_: {"vae": ("vae_mnist",)})
    monkeypatch.setattr(replayed_ends, "load", lambda *_: small())
    monkeypatch.setattr(replayed_ends, "fold_for", lambda *_: Path("x"))
    monkeypatch.setattr(replayed_ends, "with_fold", lambda *_: "default")
    arguments = [str(file.parent), "--data", "x", "--networks", "x", "--budgets", "8"]
    monkeypatch.setattr(sys, "argv", ["replayed_ends", *arguments, "--jobs", "sgd-regression"])
    replayed_ends.main()
    there = {one.name for one in file.parent.glob("*.db")}
    assert there == {file.name, "vae@vae_mnist-8.db", "sgd-regression@8w1s0.db"}
    assert "all: 9 predictions" in capsys.readouterr().out
