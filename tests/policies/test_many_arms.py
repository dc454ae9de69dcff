"""Very many arms: the next unit's value without the lines that cannot matter is the value."""

import numpy as np
import pytest

from bhpt.beliefs.freeze_thaw.hypers import Structure
from bhpt.domain import FloatArray
from bhpt.policies import next_unit
from bhpt.policies.action_values import expected_min_lines
from bhpt.policies.bhpt import horizon_epochs
from bhpt.policies.next_unit import UnitMoves, joint_values, unit_values
from tests.beliefs.cases import Case, draw

CASES = [
    draw(structure, seed, arms=60)
    for structure in (Structure("se", anchored=True), Structure("matern52", anchored=False))
    for seed in range(4)
]


def by_all_lines(case: Case) -> tuple[FloatArray, FloatArray]:
    """V of every arm with the lines of all arms, and as `joint_values` has it."""
    view, mixture = case.view(), case.mixture()
    posterior = mixture.components[0]
    own = posterior.ends(horizon_epochs(view, view.horizon))
    rest = posterior.ends(horizon_epochs(view, view.affordable(view.left_after(1.0))))
    moves = posterior.moves(own, view.unit)
    arms = np.flatnonzero(view.choosable)
    slopes = posterior.asymptotes.covariance(arms, np.arange(view.arms)) * moves.pull[arms, None]
    slopes *= np.where(np.isfinite(rest.mean), posterior.exposure(rest), 0.0)
    intercepts = np.tile(rest.mean, (len(arms), 1))
    here = np.arange(len(arms))
    intercepts[here, arms], slopes[here, arms] = own.mean[arms], moves.own[arms]
    best = mixture.scaled.best
    expected = expected_min_lines(
        np.column_stack([intercepts, np.full(len(arms), best)]),
        np.column_stack([slopes, np.zeros(len(arms))]),
    )
    units = UnitMoves(arms, own.mean[arms], moves.own[arms], moves.pull[arms])
    return expected, joint_values(posterior, rest, units, best)


@pytest.mark.parametrize("cells", [2**21, 50])
@pytest.mark.parametrize("case", CASES)
def test_lines_that_cannot_matter_are_left_out(
    case: Case, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_unit, "_CELLS", cells)
    monkeypatch.setattr(next_unit, "_CELLS_AT_ONCE", cells)
    expected, found = by_all_lines(case)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
    whole = unit_values(case.view(), case.mixture())
    np.testing.assert_allclose(whole[case.view().choosable], expected, rtol=1e-10, atol=1e-10)
