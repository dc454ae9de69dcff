"""Tables of the live view and of `bhpt status`."""

import numpy as np
import pytest

from bhpt.reports.prediction import Interval
from bhpt.reports.progress import ArmStanding
from bhpt.views.consoles import SafeConsole
from bhpt.views.renderables import standings_table

_END = Interval(middle=0.01037, low=0.00286, high=0.0125)
_STANDINGS = [ArmStanding(40, 5, 0.01254, _END, np.geomspace(0.1, 0.01, 5))]


@pytest.mark.parametrize("width", [44, 60, 100])
def test_where_it_is_narrow_predictions_are_cut_and_not_what_was_seen(width: int) -> None:
    console = SafeConsole(width=width)
    with console.capture() as captured:
        console.print(standings_table(_STANDINGS, "loss"))
    title, row = captured.get().splitlines()
    assert title.split()[:4] == ["best", "arms", "epochs", "loss"]
    assert row.split()[:4] == ["arm", "40", "5", "0.01254"]
    assert row.rstrip().endswith("▁")
    assert ("0.01037 (0.00286 to 0.0125)" in row) == (width > 60)


def test_an_arm_that_diverged_has_no_best_value() -> None:
    console = SafeConsole(width=60)
    with console.capture() as captured:
        console.print(
            standings_table([ArmStanding(4, 2, np.inf, None, np.full(2, np.nan))], "loss")
        )
    assert captured.get().splitlines()[1].split() == ["arm", "4", "2", "none", "!!"]
