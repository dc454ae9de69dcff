"""What is tried first, when it is enough, who is told, and a study that is there already."""

import math
from pathlib import Path

import pytest

from bhpt.domain import Misuse
from bhpt.storage import Exists
from bhpt.tuning import Options, Result, tune
from bhpt.tuning.finished_units import FinishedUnit
from tests.study.cases import Greedy
from tests.tuning.trainers import Accurate, Net, raising

_CONFIGS = [{"x": value / 10} for value in range(11)]
_QUICK = Options(grace_s=1.0)


def _tuned(folder: Path, budget: str = "8 epochs", **more: object) -> Result:
    return tune(Net, _CONFIGS, budget, 1, folder / "n.db", policy=Greedy(), options=_QUICK, **more)  # type: ignore[arg-type]


def test_every_unit_is_told_after_it_is_written(tmp_path: Path) -> None:
    told: list[FinishedUnit] = []
    result = _tuned(tmp_path, on_unit=told.append, initial=[{"x": 0.7}], unit=2)
    assert [one.attempt for one in told] == [0, 1, 2, 3]
    assert told[0].config == {"x": 0.7}
    assert told[0].epoch == len(told[0].values) == 2
    assert told[-1].left == 0
    assert told[-1].best == result.best_loss
    assert min(min(one.values) for one in told) == result.best_loss
    assert sum(one.cost for one in told) == 8
    assert all(one.failure is None for one in told)


def test_a_failed_unit_is_told_too(tmp_path: Path) -> None:
    told: list[FinishedUnit] = []
    with pytest.raises(RuntimeError):
        tune(raising, _CONFIGS, "8 epochs", 1, tmp_path / "r.db", on_unit=told.append)
    assert "no data for" in str(told[0].failure)
    assert told[0].values == ()
    assert math.isinf(told[0].best)


def test_enough_is_enough(tmp_path: Path) -> None:
    full = _tuned(tmp_path / "full", "20 epochs")
    part = _tuned(tmp_path / "part", "20 epochs", stop_when=full.best_loss + 0.3)
    assert part.status == "done"
    assert part.best_loss <= full.best_loss + 0.3
    assert part.state.ledger.spent < 20


def test_enough_of_what_is_maximised(tmp_path: Path) -> None:
    result = tune(
        Accurate,
        _CONFIGS,
        "20 epochs",
        1,
        tmp_path / "a.db",
        policy=Greedy(),
        metric="acc",
        mode="max",
        stop_when=-5.0,
    )
    assert result.state.ledger.spent == 1


def test_a_script_that_is_run_again_goes_on(tmp_path: Path) -> None:
    first = _tuned(tmp_path, "4 epochs")
    with pytest.raises(Exists, match="exists already"):
        _tuned(tmp_path, "4 epochs")
    again = _tuned(tmp_path, "4 epochs", if_exists="resume")
    assert again.state.ledger.spent == 4
    assert again.best_loss == first.best_loss
    more = _tuned(tmp_path, "6 epochs", if_exists="resume")
    assert more.state.ledger.spent == more.state.ledger.budget.amount == 6


@pytest.mark.parametrize(
    ("more", "match"),
    [
        ({"budget": "2 epochs"}, "more than 2 epochs"),
        ({"budget": "2h"}, "counts epochs"),
        ({"metric": "acc"}, r"is about loss \(min\)"),
        ({"initial": [{"x": 0.55}]}, "other configurations"),
        ({"if_exists": "maybe"}, "use 'error' or 'resume'"),
    ],
)
def test_another_study_is_not_gone_on_with(
    tmp_path: Path, more: dict[str, object], match: str
) -> None:
    _tuned(tmp_path, "4 epochs")
    with pytest.raises(Misuse, match=match):
        _tuned(tmp_path, **{"budget": "4 epochs", "if_exists": "resume", **more})  # type: ignore[arg-type]


def test_a_result_as_a_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    result = _tuned(tmp_path)
    frame = result.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 8
    assert frame["loss"].min() == result.best_loss
    assert {"arm", "epoch", "config.x"} <= set(frame.columns)
    assert result.best_params == result.best_config


def test_progress_is_plain_lines_where_there_is_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _tuned(tmp_path, progress=True)
    said = capsys.readouterr().err
    assert "of 8 epochs" in said


def test_rising_curves_are_noted_once(tmp_path: Path) -> None:
    notes: list[str] = []
    tune(
        Accurate,
        _CONFIGS,
        "44 epochs",
        1,
        tmp_path / "a.db",
        policy="sh",
        metric="acc",
        unit=4,
        max_epochs=4,
        note=notes.append,
        options=_QUICK,
    )
    assert len(notes) == 1
    assert "'acc' rise while it is minimised" in notes[0]
