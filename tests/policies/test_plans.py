"""Plans: their price against brute force, and the rule that chooses between them."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.freeze_thaw.hypers import Structure
from bhpt.policies.plans import DEPTHS, WIDTHS, Plans, normal_draws
from tests.beliefs.cases import STRUCTURES, draw


def test_the_fixed_draws_are_standard_normal() -> None:
    z = normal_draws(128)
    assert z.shape == (128, 128)
    np.testing.assert_allclose(z.mean(axis=1), 0, atol=0.05)
    np.testing.assert_allclose(z.std(axis=1), 1, atol=0.1)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_common_moves_equal_the_dense_gaussian_where_arms_are_far_apart_or_alike(
    structure: Structure,
) -> None:
    """The correlation of two moves, from the covariance that observing both removes."""
    case = draw(structure, 4)
    posterior = case.mixture().components[0]
    arms, epochs = case.values.shape
    ends = posterior.ends(np.full(arms, epochs))
    able = np.flatnonzero(case.counts + 2 <= epochs)
    found = posterior.common_moves(ends, 2, able)
    assert np.allclose(found, found.T)
    np.testing.assert_array_equal(found.diagonal(), 1)
    _, before = case.dense.predict(case.values, case.counts)
    at = able * epochs + case.counts[able] + ends.tau[able] - 1
    for i in range(len(able)):
        for j in range(i):
            more = case.counts.copy()
            more[[able[i], able[j]]] += 2
            _, after = case.dense.predict(case.values, more)
            removed = before[np.ix_(at, at)] - after[np.ix_(at, at)]
            pair = removed[np.ix_([i, j], [i, j])]
            expected = pair[0, 1] / np.sqrt(pair[0, 0] * pair[1, 1])
            assert found[i, j] == pytest.approx(expected, abs=0.25)
            if not structure.correlated:
                assert found[i, j] == pytest.approx(0, abs=1e-12)


def test_with_one_unit_left_there_is_nothing_to_plan() -> None:
    for structure in STRUCTURES:
        case = draw(structure, 6)
        decision = Plans(case.belief()).decide(case.view(left=1.0))
        assert decision is not None
        ends = decision.explanation.end
        assert ends[decision.arm] == pytest.approx(np.nanmin(ends))
        assert "commit" in decision.explanation.why


def test_a_long_budget_is_spent_on_what_is_worth_knowing() -> None:
    case = draw(Structure("none"), 6)
    decision = Plans(case.belief()).decide(case.view(left=500.0))
    assert decision is not None
    assert "worth knowing" in decision.explanation.why


def test_wide_plans_are_chosen_while_nothing_is_known() -> None:
    """Many arms of wide spread and a budget of one full training: try some first."""
    case = draw(Structure("none"), 1, arms=40, epochs=20)
    view = case.view(left=20.0)
    nothing = replace(view, curves=view.curves.first(0))
    decision = Plans(case.belief()).decide(nothing)
    assert decision is not None
    assert "first of" in decision.explanation.why


def test_the_shapes_hold_the_simple_rules() -> None:
    assert WIDTHS[0] == DEPTHS[0] == 1
    assert sorted(WIDTHS) == list(WIDTHS)
