"""Whether a study runs, waits to be resumed, or is done."""

import pytest

import bhpt
from bhpt.reports.phase import interrupted_text, phase_of
from bhpt.reports.progress import progress_of
from bhpt.study.deciding import is_exhausted


def _study(workers: int = 1) -> bhpt.Study:
    return bhpt.Study([{"x": 1}, {"x": 2}], "4 epochs", policy="random", workers=workers)


@pytest.mark.parametrize(("alive", "phase"), [(True, "running"), (None, "held")])
def test_a_study_that_is_held_is_with_its_driver(alive: bool | None, phase: str) -> None:
    assert phase_of(_study().state, alive) == phase


def test_a_study_without_a_driver_is_left_in_the_middle_or_in_good_order() -> None:
    study = _study()
    assert phase_of(study.state, alive=False) == "paused"
    unit = study.ask()
    assert unit is not None
    assert phase_of(study.state, alive=False) == "interrupted"
    study.tell(unit, [0.5] * unit.epochs)
    assert phase_of(study.state, alive=False) == "paused"
    while (unit := study.ask()) is not None:
        study.tell(unit, [0.5] * unit.epochs)
    assert phase_of(study.state, alive=False) == "done"


def test_a_study_that_no_arm_can_go_on_with_is_done_whatever_is_left() -> None:
    study = bhpt.Study([{"x": 1}], "10 epochs", max_epochs=2, policy="random")
    while (unit := study.ask()) is not None:
        study.tell(unit, [0.5] * unit.epochs)
    assert study.state.ledger.left == 8.0
    assert phase_of(study.state, alive=False) == "done"
    progress = progress_of(study.state)
    assert (progress.final, progress.left_s) == (None, None)


def test_money_that_pays_for_no_further_unit_is_spent() -> None:
    budget = bhpt.Budget(10, "dollars", price_per_hour=3600)
    study = bhpt.Study([{"x": 1}, {"x": 2}], budget, policy="random")
    for _ in range(3):
        assert phase_of(study.state, alive=False) == "paused"
        unit = study.ask()
        assert unit is not None
        study.tell(unit, 0.5, seconds=3.0)
    assert study.state.ledger.left == pytest.approx(1.0)  # a tenth of the budget
    assert study.ask() is None
    assert phase_of(study.state, alive=False) == "done"
    assert not is_exhausted(study.state)
    assert progress_of(study.state).left_s is None


def test_a_study_goes_on_while_its_space_has_more() -> None:
    study = bhpt.Study({"x": (0.0, 1.0)}, "8 epochs", max_epochs=1, policy="random", seed=1)
    first = len(study.state.configs)
    study.add_budget(f"{first} epochs")
    for _ in range(first):
        unit = study.ask()
        assert unit is not None
        study.tell(unit, 0.5)
    assert study.state.untried == 0
    assert phase_of(study.state, alive=False) == "paused"
    assert not is_exhausted(study.state)
    assert study.ask() is not None


@pytest.mark.parametrize(("workers", "text"), [(1, "1 unit"), (2, "2 units")])
def test_units_in_flight_are_counted(workers: int, text: str) -> None:
    study = _study(workers)
    while study.ask() is not None:
        pass
    assert interrupted_text(study.state) == f"interrupted with {text} in flight"
