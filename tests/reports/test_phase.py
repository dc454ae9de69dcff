"""Whether a study runs, waits to be resumed, or is done."""

import pytest

import bhpt
from bhpt.reports.phase import interrupted_text, phase_of
from bhpt.reports.progress import progress_of


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


@pytest.mark.parametrize(("workers", "text"), [(1, "1 unit"), (2, "2 units")])
def test_units_in_flight_are_counted(workers: int, text: str) -> None:
    study = _study(workers)
    while study.ask() is not None:
        pass
    assert interrupted_text(study.state) == f"interrupted with {text} in flight"
