import pytest

from bhpt.study import Study
from bhpt.study.rising_curves import note_of_rising_curves
from tests.study.cases import CONFIGS

pytestmark = pytest.mark.filterwarnings("ignore:.*curves of")


def _told(losses: list[float], mode: str, arms: int = 8) -> list[str]:
    """Train every arm to the end; every note that is due on the way."""
    study = Study(
        CONFIGS[:arms],
        f"{arms * len(losses)} epochs",
        unit=len(losses),
        mode=mode,  # type: ignore[arg-type]
        max_epochs=len(losses),
    )
    notes = []
    while (unit := study.ask()) is not None:
        study.tell(unit, losses)
        note = note_of_rising_curves(study.state)
        notes += [note] if note else []
    return notes


def test_an_accuracy_that_is_minimised_is_noticed() -> None:
    notes = _told([0.3, 0.5, 0.6, 0.7], "min")
    assert notes[0] == (
        "4 of 4 curves of 'loss' rise while it is minimised: if higher is better, start a new "
        'study with mode="max" (--mode max)'
    )


@pytest.mark.parametrize(
    ("losses", "mode"),
    [
        ([0.7, 0.6, 0.5, 0.3], "min"),
        ([0.3, 0.5, 0.6, 0.7], "max"),
        ([0.3, 0.5], "min"),
        ([float("nan"), 0.5, float("inf"), 0.7], "min"),
        ([0.9, 0.3, 0.4, 0.5], "min"),
    ],
)
def test_other_curves_are_not(losses: list[float], mode: str) -> None:
    assert _told(losses, mode) == []


def test_three_curves_tell_nothing() -> None:
    assert _told([0.3, 0.5, 0.6, 0.7], "min", arms=3) == []
