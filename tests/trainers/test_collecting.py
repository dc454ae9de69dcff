import pytest

from bhpt.domain.reports import BadReport, EpochReport
from bhpt.trainers.collecting import collect


def _reports(*losses: float) -> tuple[EpochReport, ...]:
    return tuple(EpochReport(loss) for loss in losses)


def test_losses_are_collected_until_there_are_enough() -> None:
    batches = iter([_reports(1.0), _reports(2.0, 3.0), _reports(4.0)])
    assert collect(lambda: next(batches), 3, "step()") == [*_reports(1.0, 2.0, 3.0)]


def test_more_losses_than_were_due_are_refused() -> None:
    with pytest.raises(BadReport, match="gave 4 losses, not 3"):
        collect(lambda: _reports(1.0, 2.0), 3, "step()")
