"""Curves: what was reported, in which order, and nothing else."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bhpt.domain import Curves, Misuse, View
from bhpt.domain.curves import EXPLODED


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), max_size=12),
    st.integers(0, 12),
)
@settings(max_examples=100, deadline=None)
def test_the_past_is_never_lost(reports: list[tuple[int, int]], keep: int) -> None:
    """`first(n)` of the grown curves equals the curves as they were."""
    curves, at_keep, number, kept = Curves.empty(5, 40), Curves.empty(5, 40), 0.0, 0
    for arm, epochs in reports:
        curves = curves.extend(arm, number + np.arange(epochs, dtype=np.float64))
        number += epochs
        kept += 1
        if kept == keep:
            at_keep = curves
    earlier = curves.first(min(keep, kept))
    expected = at_keep if 0 < keep <= kept else (curves if keep else Curves.empty(5, 40))
    np.testing.assert_array_equal(earlier.count_by_arm, expected.count_by_arm)
    for arm in range(5):
        np.testing.assert_array_equal(earlier.of_arm(arm), expected.of_arm(arm))
    assert earlier.best == expected.best


Reports = tuple[tuple[int, tuple[float, ...]], ...]


def _untrained(firsts: list[float]) -> float:
    """A twentieth above the worst first epoch, of those that are not far above the middle one.

    The middle one is of those below the first that is a thousand times the one before it.
    """
    learning: list[float] = []
    for first in sorted(firsts):
        if learning and first > 1000 * max(abs(learning[-1]), 1e-3):
            break
        learning.append(first)
    middle = float(np.median(learning))
    worst = min(max(firsts), middle + 3 * abs(middle))
    return worst + (1.05 - 1) * abs(worst)


def _check_against_copying(curves: Curves, reports: Reports) -> None:
    """Every property of curves against lists that are copied at each report."""
    seen: dict[int, list[float]] = {}
    for arm, losses in reports:
        seen[arm] = [*seen.get(arm, []), *losses]
    rows = {arm: row for row, arm in enumerate(seen)}
    best = [min((x for x in losses if np.isfinite(x)), default=np.inf) for losses in seen.values()]
    assert curves.visited.tolist() == list(seen)
    assert curves.counts.tolist() == [len(losses) for losses in seen.values()]
    assert curves.reports.tolist() == [[rows[arm], len(losses)] for arm, losses in reports]
    assert curves.best_by_row.tolist() == best
    assert curves.best == min(best, default=np.inf)
    assert curves.longest == max(map(len, seen.values()), default=0)
    assert curves.row_of == rows
    firsts = [losses[0] for losses in seen.values() if abs(losses[0]) < EXPLODED]
    assert curves.untrained == (_untrained(firsts) if firsts else 1.0)
    assert [curves.visited_after(count) for count in range(len(reports) + 1)] == [
        len({arm for arm, _ in reports[:count]}) for count in range(len(reports) + 1)
    ]
    for arm in range(curves.arms):
        own = np.array(seen.get(arm, []))
        np.testing.assert_array_equal(curves.of_arm(arm), own)
        assert curves.count(arm) == curves.count_by_arm[arm] == len(own)
        assert curves.row(arm) == rows.get(arm)
        assert curves.best_by_arm[arm] == own.min(initial=np.inf, where=np.isfinite(own))


_LOSS = st.sampled_from([0.5, -1.0, 2.0, 40.0, 1e101, np.nan, np.inf, -np.inf])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 30),
            st.integers(0, 5),
            st.lists(_LOSS, min_size=1, max_size=3),
            st.sampled_from(["extend", "look first", "with arms", "first"]),
        ),
        max_size=40,
    )
)
@settings(max_examples=200, deadline=None)
def test_any_interleaving_of_old_and_new_curves_equals_copying(
    steps: list[tuple[int, int, list[float], str]],
) -> None:
    """Whichever curves are extended, in whatever order: none of the others ever changes."""
    made: list[tuple[Curves, Reports]] = [(Curves.empty(6, 200), ())]
    for pick, arm, losses, what in steps:
        curves, reports = made[-1 - pick % len(made)]
        if what == "first":
            kept = arm % (len(reports) + 1)
            curves, reports = curves.first(kept), reports[:kept]
        if what == "with arms":
            curves = curves.with_arms(curves.arms + 1)
        if what == "look first":  # what is worked out once must not go stale either
            _check_against_copying(curves, reports)
        made.append((curves.extend(arm, np.array(losses)), (*reports, (arm, tuple(losses)))))
    for curves, reports in made:
        _check_against_copying(curves, reports)


def test_nobody_can_write_into_shared_curves() -> None:
    curves = Curves.of([[1.0, 2.0], [3.0]], 5)
    for array in (curves.losses, curves.visited, curves.reports):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_best_counts_finite_losses_only() -> None:
    curves = Curves.of([[np.nan, 2.0], [np.inf], [], [-np.inf, 3.0]], 5)
    assert curves.best == 2.0
    np.testing.assert_array_equal(curves.best_by_row, [2, np.inf, 3])
    assert Curves.empty(2, 3).best == np.inf


@pytest.mark.parametrize(
    ("arm", "losses"), [(7, [1.0]), (-1, [1.0]), (0, []), (0, [1.0] * 4), (1, [1.0] * 2)]
)
def test_a_report_that_cannot_be_is_refused(arm: int, losses: list[float]) -> None:
    curves = Curves.of([[], [1.0, 2.0], []], 3)
    with pytest.raises(Misuse):
        curves.extend(arm, np.array(losses))


def test_curves_need_an_arm_and_an_epoch() -> None:
    with pytest.raises(Misuse):
        Curves.empty(0, 3)
    with pytest.raises(Misuse):
        Curves.empty(3, 0)


def view(**changes: object) -> View:
    settings: dict[str, object] = {
        "curves": Curves.of([[1.0] * 5, [1.0] * 2, []], 5),
        "unit": 2,
        "left": 3.0,
        "costs": np.array([1.0, 1.0, 2.0]),
        "features": np.zeros((3, 1)),
    }
    return View(**{**settings, **changes})  # type: ignore[arg-type]


def test_horizons_are_bounded_by_money_and_by_the_last_epoch() -> None:
    np.testing.assert_array_equal(view().remaining, [0, 2, 3])
    np.testing.assert_array_equal(view().horizon, [0, 2, 1])
    np.testing.assert_array_equal(view(left=100.0).horizon, [0, 2, 3])
    np.testing.assert_array_equal(view().choosable, [False, True, True])
    np.testing.assert_array_equal(view(pending=np.array([1])).choosable, [False, False, True])


def test_the_price_of_a_unit_is_that_of_arms_that_can_run_one() -> None:
    fresh = Curves.empty(3, 40)
    one = view(curves=fresh, costs=np.array([99.0, 99.0, 2.0]), left=9.0)
    assert one.price == 2.0
    assert one.units_left == 4
    nobody = view(curves=fresh, costs=np.full(3, 99.0), left=9.0)
    assert nobody.units_left == 0


def test_units_left_are_those_of_all_workers() -> None:
    """A deadline leaves each of four workers 9 s, a total of 9 is shared by them."""
    fresh = Curves.empty(3, 40)
    assert view(curves=fresh, costs=np.full(3, 2.0), left=9.0, lanes=4).units_left == 16
    assert view(curves=fresh, costs=np.full(3, 2.0), left=9.0, split=4).units_left == 4


def test_ten_tenths_are_one() -> None:
    tenth = view(costs=np.full(3, 0.1), left=sum([0.1] * 10), curves=Curves.empty(3, 100))
    np.testing.assert_array_equal(tenth.horizon, [10, 10, 10])


def test_a_total_is_split_but_never_below_the_next_unit() -> None:
    fresh = {"curves": Curves.empty(3, 40), "costs": np.array([1.0, 1.0, 2.0])}
    np.testing.assert_array_equal(view(left=8.0, split=2, **fresh).horizon, [4, 4, 2])
    np.testing.assert_array_equal(view(left=2.0, split=4, **fresh).horizon, [1, 1, 1])
    np.testing.assert_array_equal(view(left=1.0, split=4, **fresh).horizon, [1, 1, 0])


def test_a_shared_clock_shortens_the_others_by_a_part() -> None:
    assert view().left_after(1.0) == 2.0
    assert view(lanes=2).left_after(1.0) == 2.5


@pytest.mark.parametrize(
    "changes",
    [
        {"unit": 0},
        {"costs": np.ones(2)},
        {"costs": np.zeros(3)},
        {"features": np.zeros((2, 1))},
        {"tokens": np.zeros((2, 1))},
        {"startable": np.ones(2, np.bool_)},
    ],
)
def test_a_view_that_cannot_be_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(Misuse):
        view(**changes)


def test_tokens_need_not_be_there_and_may_be_unknown() -> None:
    assert view().tokens is None
    told = view(tokens=np.full((3, 4), np.nan)).tokens
    assert told is not None
    assert told.shape == (3, 4)


def test_randomness_comes_from_seed_and_step() -> None:
    assert view(seed=1).rng().random() == view(seed=1).rng().random()
    assert view(seed=1).rng().random() != view(seed=2).rng().random()
    assert view().rng().random() != view(pending=np.array([1])).rng().random()


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=9), st.floats(0.005, 200.0))
@settings(deadline=None)
def test_a_typical_price_is_the_median_of_those_that_can_be_paid(
    costs: list[float], left: float
) -> None:
    arms = len(costs)
    view = View(Curves.empty(arms, 4), 1, left, np.array(costs), np.zeros((arms, 1)))
    payable = [cost for cost, can in zip(costs, view.choosable, strict=True) if can] or costs
    assert view.price == pytest.approx(np.median(payable), rel=1e-12)


def test_arms_that_may_not_start_keep_their_price_and_have_no_horizon() -> None:
    fresh = {"curves": Curves.empty(3, 40), "costs": np.array([1.0, 1.0, 2.0]), "left": 8.0}
    may = np.array([False, False, True])
    barred = view(startable=may, **fresh)
    np.testing.assert_array_equal(barred.costs, [1.0, 1.0, 2.0])
    np.testing.assert_array_equal(barred.horizon, [0, 0, 4])
    np.testing.assert_array_equal(barred.affordable(4.0), [0, 0, 2])
    np.testing.assert_array_equal(barred.choosable, [False, False, True])
    assert barred.price == 2.0


def test_an_arm_in_flight_has_a_horizon_though_it_may_not_start() -> None:
    fresh = {"curves": Curves.empty(3, 40), "left": 8.0}
    flying = view(startable=np.array([False, False, True]), pending=np.array([0]), **fresh)
    np.testing.assert_array_equal(flying.horizon, [8, 0, 4])
    np.testing.assert_array_equal(flying.choosable, [False, False, True])


@given(
    st.lists(
        st.tuples(st.floats(0.01, 100.0), st.booleans(), st.booleans()), min_size=1, max_size=9
    ),
    st.floats(0.005, 200.0),
    st.integers(1, 4),
)
@settings(deadline=None)
def test_a_mask_does_what_a_price_that_nobody_can_pay_would_do(
    arms: list[tuple[float, bool, bool]], left: float, split: int
) -> None:
    costs, may, flies = (np.array(part) for part in zip(*arms, strict=True))
    pending = np.flatnonzero(flies)
    common = (Curves.empty(len(arms), 4), 1, left)
    features = np.zeros((len(arms), 1))
    masked = View(*common, costs, features, pending=pending, split=split, startable=may & ~flies)
    unpayable = np.where(may | flies, costs, 2 * (left + costs.max()))
    priced = View(*common, unpayable, features, pending=pending, split=split)
    for part in (1.0, 0.5, 0.01):
        np.testing.assert_array_equal(masked.bought(part * left), priced.bought(part * left))
    np.testing.assert_array_equal(masked.horizon, priced.horizon)
    np.testing.assert_array_equal(masked.choosable, priced.choosable)
    if masked.choosable.any():
        assert masked.price == priced.price


def test_a_digest_tells_curves_and_what_else_is_told_apart() -> None:
    curves = Curves.of([[0.5, 0.4], [0.9], []], epochs=4)
    again = Curves.of([[0.5, 0.4], [0.9], []], epochs=4)
    features = np.array([[0.1], [0.2]])
    known = curves.digest(features, 7, None)
    assert known == again.digest(features.copy(), 7, None)
    others = (
        curves.extend(1, np.array([0.8])).digest(features, 7, None),
        Curves.of([[0.5, 0.3], [0.9], []], epochs=4).digest(features, 7, None),
        Curves.of([[0.5, 0.4], [], [0.9]], epochs=4).digest(features, 7, None),
        Curves.of([[0.5, 0.4], [0.9], []], epochs=5).digest(features, 7, None),
        curves.digest(features + 1, 7, None),
        curves.digest(features, 8, None),
        curves.digest(features, 7, 1.0),
    )
    assert len({known, *others}) == 1 + len(others)


def test_what_later_reports_hold_is_no_part_of_an_earlier_digest() -> None:
    curves = Curves.of([[0.5], [0.9]], epochs=4)
    known = curves.digest()
    assert curves.extend(0, np.array([0.3])).first(2).digest() == known == curves.digest()


def test_the_leader_is_the_first_arm_with_the_lowest_loss() -> None:
    assert Curves.of([[], [0.9, 0.4, 0.6], [np.nan], [0.4]], epochs=4).leader == 1
    assert Curves.of([[], [0.9], [0.5], [0.4]], epochs=4).leader == 3


@pytest.mark.parametrize(
    ("firsts", "typical"),
    [
        ([8e48, 0.69], 0.69),
        ([8e48, 0.69, 5e10], 0.69),
        ([5e10, 0.7, 8e48, 6e60, 0.69], 0.695),
        ([0.0, 0.5, 7e9], 0.25),  # no leap from nothing to a half
        ([-200.0, -180.0, 3e8], -190.0),
    ],
)
def test_trainings_that_fail_at_once_do_not_tell_the_untrained_loss(
    firsts: list[float], typical: float
) -> None:
    curves = Curves.of([[first] for first in firsts], 4)
    worst = typical + 3 * abs(typical)
    assert curves.untrained == pytest.approx(worst + 0.05 * abs(worst))


def test_first_losses_without_a_leap_all_count() -> None:
    curves = Curves.of([[0.01], [2.0], [900.0]], 4)
    assert curves.untrained == pytest.approx(1.05 * 8.0)  # four times the one in the middle
