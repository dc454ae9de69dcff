import json
import math

import pytest

from bhpt.study import State, Study
from bhpt.study.tables import as_json, table
from tests.reports.cases import SPACE, loss_at


@pytest.fixture(scope="module")
def state() -> State:
    study = Study(SPACE, "12 epochs", unit=2, max_epochs=6)
    for losses in ("good", "nan", "fail", "good", "good"):
        unit = study.ask()
        assert unit is not None
        if losses == "fail":
            study.fail(unit, "no luck", seconds=1.0)
            continue
        value = math.nan if losses == "nan" else loss_at(unit.config, unit.done + 1)
        study.tell(unit, [value, value], seconds=1.0)
    return study.state


def test_every_epoch_once(state: State) -> None:
    found = table(state, "epochs")
    keys = [(row["arm"], row["epoch"]) for row in found.rows]
    assert len(keys) == len(set(keys)) == 8
    assert {"config.rate", "config.depth"} <= set(found.columns)
    for row in found.rows:
        assert tuple(row) == found.columns
        arm, epoch = row["arm"], row["epoch"]
        assert isinstance(arm, int)
        assert isinstance(epoch, int)
        assert row["config.rate"] == state.configs[arm]["rate"]
        assert row["unit"] == (epoch - 1) // 2


@pytest.fixture(scope="module")
def maximised() -> State:
    """Accuracies, most of them with other metrics beside."""
    study = Study(SPACE, "8 epochs", unit=2, max_epochs=6, metric="acc", mode="max")
    for turn in range(3):
        unit = study.ask()
        assert unit is not None
        best = 0.5 + 0.1 * turn
        epochs = [{"acc": 0.25, "f1": math.nan}, {"acc": best, "size": 3}]
        study.tell(unit, epochs if turn else [0.25, best], seconds=1.0)
    return study.state


def test_all_metrics_are_exported_in_the_users_direction(maximised: State) -> None:
    found = table(maximised, "epochs")
    assert found.columns[:9] == (
        *("arm", "unit", "epoch", "loss", "attempt", "seconds"),
        *("metric.acc", "metric.f1", "metric.size"),
    )
    assert [row["loss"] for row in found.rows] == [0.25, 0.5, 0.25, 0.6, 0.25, 0.7]
    assert [row["metric.acc"] for row in found.rows] == [None, None, 0.25, 0.6, 0.25, 0.7]
    assert [row["metric.size"] for row in found.rows] == [None, None, None, 3.0, None, 3.0]
    assert math.isnan(float(str(found.rows[2]["metric.f1"])))
    assert max(float(str(row["best"])) for row in table(maximised, "arms").rows) == 0.7
    read = json.loads(json.dumps(as_json(maximised), allow_nan=False))
    assert read["best"]["loss"] == 0.7
    assert read["plan"]["objective"] == {"metric": "acc", "mode": "max"}
    by_arm = {arm["arm"]: arm for arm in read["arms"]}
    assert by_arm[read["best"]["arm"]]["metrics"][-1] == {"acc": 0.7, "size": 3.0}


def test_metrics_can_be_read_by_arm_and_epoch(maximised: State) -> None:
    assert maximised.best is not None
    assert maximised.best.loss == -0.7
    metrics = maximised.metrics_of(maximised.best.arm)
    assert metrics[maximised.best.epoch - 1] == {"acc": 0.7, "size": 3.0}
    assert maximised.metrics_of(max(maximised.tried) + 1) == ()


def test_costs_add_up(state: State) -> None:
    attempts, arms = table(state, "attempts"), table(state, "arms")
    assert len(attempts.rows) == 5
    assert [row["status"] for row in attempts.rows].count("failed") == 1
    for found in (attempts, arms):
        assert math.fsum(float(str(row["cost"])) for row in found.rows) == state.ledger.spent
        assert all(tuple(row) == found.columns for row in found.rows)


def test_json_is_strict_and_whole(state: State) -> None:
    text = json.dumps(as_json(state), allow_nan=False)
    read = json.loads(text)
    assert read["spent"] == state.ledger.spent
    assert read["best"]["loss"] == state.best.loss  # type: ignore[union-attr]
    assert "nan" in [loss for arm in read["arms"] for loss in arm["losses"]]
    assert read["plan"]["budget"]["amount"] == 12
