"""An ask/tell script that is run again goes on, also with what a kill has cut short."""

from pathlib import Path

import pytest

import bhpt
from bhpt.domain import Misuse
from tests.study.cases import CONFIGS, Greedy, loss_at


def _study(file: Path, budget: str = "6 epochs") -> bhpt.Study:
    keep = bhpt.stored(file, if_exists="resume")
    return bhpt.Study(CONFIGS, budget, policy=Greedy(), keep=keep)


def _train(study: bhpt.Study) -> int:
    units = 0
    while (unit := study.ask()) is not None:
        study.tell(unit, [loss_at(unit.config, unit.done + 1)])
        units += 1
    return units


def test_what_was_asked_for_and_never_told_is_given_out_again(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    with _study(file) as study:
        first = study.ask()
        assert first is not None
        study.tell(first, [1.0])
        lost = study.ask()
    with _study(file) as again:
        assert again.ask() == lost
        assert again.ask() is None  # it is in flight, and there is one worker
        assert lost is not None
        again.tell(lost, [0.5])
        assert _train(again) == 4
        assert again.state.ledger.spent == 6
    with _study(file, "8 epochs") as more:
        assert _train(more) == 2
        assert more.state.ledger.spent == 8


def test_restarting_is_asked_for_where_others_may_still_train(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    with _study(file) as study:
        unit = study.ask()
    with bhpt.open_study(file, Greedy()) as other:
        assert other.ask() is None
    with bhpt.open_study(file, Greedy(), restart=True) as again:
        assert again.ask() == unit
    with bhpt.open_study(file, Greedy(), restart=True) as told:
        assert unit is not None
        told.tell(unit, [1.0])
        after = told.ask()
        assert after is not None
        assert after.attempt == unit.attempt + 1


def test_another_study_is_not_gone_on_with(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    _study(file).close()
    with pytest.raises(Misuse, match="has other configurations"):
        bhpt.Study([{"x": 9.0}], "6 epochs", keep=bhpt.stored(file, if_exists="resume"))
    with pytest.raises(Misuse, match="has a budget of 6 epochs, more than 3 epochs"):
        _study(file, "3 epochs")
    with pytest.raises(Misuse, match="exists"):
        bhpt.Study(CONFIGS, "6 epochs", keep=bhpt.stored(file))
    with pytest.raises(Misuse, match="use 'error' or 'resume'"):
        bhpt.stored(file, if_exists="maybe")  # type: ignore[arg-type]
