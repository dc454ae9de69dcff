"""What BHPT with shapes adds to the printed rule, on ends that are given: closed forms decide."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bhpt.beliefs.expected_min import best_other, expected_min
from bhpt.beliefs.freeze_thaw.posterior import GaussianEnds
from bhpt.beliefs.predictor import Ends
from bhpt.beliefs.scale import Scaled
from bhpt.domain import Curves, FloatArray, IntArray, View
from bhpt.policies.bhpt import Bhpt, q_values

EPOCHS = 10


@dataclass(frozen=True, eq=False)
class Known:
    """Belief, mixture and posterior at once: Gaussian ends with these means and deviations."""

    mean: FloatArray
    deviation: FloatArray
    best: float
    needed: int | tuple[int, ...] = EPOCHS
    others: "tuple[Known, ...]" = ()  # further settings, each as likely
    shared: float = 0.0

    @property
    def scaled(self) -> Scaled:
        return Scaled(np.zeros((0, 0)), 1.0, self.best, 0.0, 1.0, log=False)

    def condition(self, view: View) -> "Known":
        assert view.arms == len(self.mean)
        return self

    def predict(self, view: View) -> Ends:
        raise NotImplementedError

    def average(self, found: "Callable[[Known], FloatArray]") -> FloatArray:
        averaged: FloatArray = np.mean([found(each) for each in (self, *self.others)], axis=0)
        return averaged

    def ends(self, horizon: IntArray) -> GaussianEnds:
        tau = np.minimum(horizon, self.needed)
        return GaussianEnds(tau, self.mean, self.deviation**2)

    def mean_at_most(self, horizon: IntArray, most: FloatArray) -> FloatArray:
        assert horizon.shape == most.shape
        return expected_min(self.mean, self.deviation, most)


def _view(counts: list[int], left: float) -> View:
    return View(
        curves=Curves.of([[1.0] * n for n in counts], epochs=EPOCHS),
        unit=1,
        left=left,
        costs=np.ones(len(counts)),
        features=np.zeros((len(counts), 1)),
        untrained=3.0,
    )


def _arm(policy: Bhpt, view: View) -> int:
    decision = policy.decide(view)
    assert decision is not None
    return decision.arm


@pytest.mark.parametrize(
    ("deviations", "chosen"),
    [
        ([0.0, 0.5, 0.1, 9.0], 1),  # the leader has stopped at ζ; arm 1 may yet fall below it
        ([0.0, 0.1, 0.5, 9.0], 2),
        ([0.9, 0.1, 0.1, 9.0], 0),  # the leader may itself
    ],
)
def test_a_leader_that_has_stopped_gives_way_to_a_tried_arm(
    deviations: list[float], chosen: int
) -> None:
    known = Known(np.array([1.0, 1.1, 1.2, 1.05]), np.array(deviations), best=1.0)
    view = _view([4, 1, 1, 0], left=3)
    assert _arm(Bhpt(known), view) == 0
    assert _arm(Bhpt(known, keeps=True), view) == chosen


def test_the_arm_that_takes_over_is_the_lowest_below_what_is_reached() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        mean, deviation = rng.uniform(1, 2, 6), rng.uniform(0, 1, 6)
        known = Known(mean, deviation, best=float(rng.uniform(0.8, 1.5)))
        tried = [2] * 5 + [0]
        below = [
            float(expected_min(m, d, np.array(known.best)))
            for m, d in zip(mean[:5], deviation[:5], strict=True)
        ]
        expected = int(np.argmin(below)) if mean.argmin() < 5 else 5
        assert _arm(Bhpt(known, keeps=True), _view(tried, left=2)) == expected


def test_nothing_is_kept_while_there_is_something_to_spare() -> None:
    known = Known(np.array([1.0, 1.1]), np.array([0.0, 0.5]), best=1.0, needed=2)
    view = _view([4, 1], left=6)
    assert _arm(Bhpt(known, keeps=True), view) == _arm(Bhpt(known), view)


def test_a_part_of_what_untried_arms_promise_counts_where_units_are_few() -> None:
    mean = np.array([1.0, 1.3, 1.2, *[2.0] * 7])
    deviation = np.array([0.02, 0.6, 0.7, *[0.0] * 7])
    known = Known(mean, deviation, best=1.0, needed=1)
    few, enough = (_view([3, 1] + [0] * 8, left) for left in (9, 10))
    q = expected_min(mean, deviation, best_other(mean))
    assert q.argmin() == 2
    assert (1 - q[2]) / 2 < 1 - q[1]  # so that half of its promise is less than the other's
    assert _arm(Bhpt(known), few) == 2
    assert _arm(Bhpt(known, untried=0.5), few) == 1
    assert _arm(Bhpt(known, untried=0.5), enough) == 2  # every arm can be looked at
    found = q_values(few, known).discounted(0.5).values
    np.testing.assert_allclose(found, [q[0], q[1], *(1 + q[2:]) / 2])


def _three(needed: tuple[int, ...], spread: float = 0.5) -> Known:
    """A leader that is known well, and two arms whose ends are worth knowing."""
    return Known(np.array([1.0, 1.3, 1.3]), np.array([0.01, 0.6, spread]), 1.0, needed)


def test_a_promise_is_divided_by_the_units_that_it_takes_and_by_their_price() -> None:
    view = _view([3, 1, 1], left=30)
    assert _arm(Bhpt(_three((1, 8, 2))), view) == 1  # an end is worth what it is worth
    assert _arm(Bhpt(_three((1, 8, 2)), priced=True), view) == 2  # but it may take longer to know
    assert _arm(Bhpt(_three((1, 8, 8)), priced=True), view) == 1
    dear = replace(view, costs=np.array([1.0, 1.0, 5.0]))
    assert _arm(Bhpt(_three((1, 8, 2)), priced=True), dear) == 1
    assert _arm(Bhpt(_three((1, 8, 8), spread=0.601), priced=True), dear) == 1
    assert _arm(Bhpt(_three((1, 8, 8), spread=0.601), priced=True), view) == 2


def test_where_one_decay_is_all_but_certain_the_lowest_q_runs() -> None:
    view = _view([3, 1, 1], left=30)
    for shared, chosen in ((0.0, 2), (0.9, 2), (0.995, 1), (1.0, 1)):
        known = replace(_three((1, 8, 2)), shared=shared)
        assert _arm(Bhpt(known, priced=True, untried=0.5), view) == chosen
    mean, deviation = np.array([1.0, 1.3, 1.2, 2.0]), np.array([0.02, 0.6, 0.7, 0.0])
    few = _view([3, 1, 0, 0], left=3)
    for shared, chosen in ((0.0, 1), (1.0, 2)):
        known = Known(mean, deviation, best=1.0, needed=1, shared=shared)
        assert _arm(Bhpt(known, untried=0.5), few) == chosen


def test_values_by_the_unit_equal_their_formula() -> None:
    known = _three((1, 8, 2))
    view = replace(_view([3, 1, 1], left=100), costs=np.array([3.0, 6.0, 9.0]))
    q = expected_min(known.mean, known.deviation, best_other(known.mean))
    found = q_values(view, known).by_the_unit().values
    np.testing.assert_allclose(found, 1 - (1 - q) / np.array([1 * 1, 8 * 2, 2 * 3]))


def test_what_the_settings_disagree_on_is_no_promise_of_an_arm() -> None:
    one = Known(np.array([1.0, 1.2, 1.1]), np.array([0.0, 0.0, 0.3]), 1.0, (1, 1, 9))
    other = Known(np.array([1.3, 1.2, 1.4]), np.array([0.0, 0.0, 0.3]), 1.0, (1, 1, 9))
    both = replace(one, others=(other,))
    look = q_values(_view([3, 1, 1], left=30), both)
    assert look.unknowing == pytest.approx((1.0 + 1.2) / 2)  # below the mean of either leader
    values = look.by_the_unit().values
    np.testing.assert_allclose(values[:2], 1.1)
    assert values[2] < 1.1 - 1e-3
    assert _arm(Bhpt(both, priced=True), look.view) == 2


def test_arms_that_promise_nothing_are_drawn() -> None:
    known = Known(np.array([1.0, 1.1, 1.2]), np.zeros(3), 1.0, 1)
    view = _view([3, 1, 1], left=30)
    chosen = {_arm(Bhpt(known, priced=True), replace(view, seed=seed)) for seed in range(40)}
    assert chosen == {0, 1, 2}
