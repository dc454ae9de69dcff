import json
import math

import pytest

from bhpt.reports.tables import as_json, table
from bhpt.study import State, Study
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
