"""BHPT and the value of the next unit: formulas, rules and edges."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.freeze_thaw.belief import FreezeThaw
from bhpt.beliefs.freeze_thaw.hypers import LINEAR_PRIORS, Hypers, Sampling, Structure, Unknown
from bhpt.beliefs.scale import Scale
from bhpt.bench.baselines.registry import make_rule, names
from bhpt.domain import Curves, Memory, View
from bhpt.policies.bhpt import Bhpt, action_values
from bhpt.policies.next_unit import NextUnit, price_levels, unit_values
from tests.beliefs.cases import STRUCTURES, Case, draw

RAW = Scale("identity", running=False)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_q_equals_monte_carlo(structure: Structure) -> None:
    case = draw(structure, 2)
    horizon = np.full(len(case.values), 4)
    mixture = case.mixture()
    posterior = mixture.components[0]
    ends = posterior.ends(horizon)
    found = action_values(mixture, horizon)
    rng = np.random.default_rng(0)
    mean, covariance = case.dense.predict(case.values, case.counts)
    drawn = rng.multivariate_normal(mean, covariance, size=100_000, method="svd")
    for arm in range(len(case.values)):
        if not ends.tau[arm]:
            continue
        at = arm * case.values.shape[1] + case.counts[arm] + ends.tau[arm] - 1
        others = np.delete(ends.mean, arm).min()
        value = np.minimum(drawn[:, at], others)
        assert abs(found[arm] - value.mean()) < 5 * value.std() / np.sqrt(len(value)) + 1e-6


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("seed", [1, 2])
def test_next_unit_equals_really_observing_it(structure: Structure, seed: int) -> None:
    """V[a]: draw the next epoch of arm a, update the dense posterior, look at all ends.

    The ends are read at the epochs of the lowest means before the observation, as the closed
    form does.
    """
    case = draw(structure, seed)
    view = case.view(left=4.0)
    mixture = case.belief().condition(view)
    posterior = mixture.components[0]
    found = unit_values(view, mixture)
    arms, epochs = case.values.shape
    own = posterior.ends(view.horizon)
    rest = posterior.ends(view.affordable(3.0))
    mean, covariance = case.dense.predict(case.values, case.counts)
    z = np.random.default_rng(0).standard_normal(40_000)
    for arm in range(arms):
        n = int(case.counts[arm])
        if n >= epochs:
            assert np.isinf(found[arm])
            continue
        seen = arm * epochs + n
        gain = covariance[:, seen] / np.sqrt(covariance[seen, seen])
        value = np.full(len(z), mixture.scaled.best)
        for k in range(arms):
            ends = own if k == arm else rest
            if ends.tau[k]:
                at = k * epochs + case.counts[k] + ends.tau[k] - 1
                value = np.minimum(value, mean[at] + gain[at] * z)
        assert abs(found[arm] - value.mean()) < 5 * value.std() / np.sqrt(len(z)) + 1e-7


def test_next_unit_counts_what_the_others_lose() -> None:
    """With one unit left nothing is learned for later: it runs the lowest predicted end."""
    for structure in STRUCTURES:
        case = draw(structure, 7)
        view = case.view(left=1.0)
        decision = NextUnit(case.belief()).decide(view)
        assert decision is not None
        ends = case.mixture().components[0].ends(np.ones(len(case.values), np.int64))
        best = expected_best(case, view)
        assert decision.arm in best
        assert np.isfinite(ends.mean[decision.arm])


def expected_best(case: Case, view: View) -> list[int]:
    values = unit_values(view, case.belief().condition(view))
    return np.flatnonzero(values <= values.min() + 1e-9).tolist()


def test_an_expensive_unit_must_be_worth_more() -> None:
    """Two arms alike but for the price: the cheap one is run."""
    hypers = Hypers(0.0, 1.0, 1.0, 2.0, 1.0, 0.1)
    belief = FreezeThaw(Structure("none"), RAW, hypers)
    view = View(
        curves=Curves.empty(3, 20),
        unit=1,
        left=12.0,
        costs=np.array([4.0, 1.0, 4.0]),
        features=np.zeros((3, 1)),
        untrained=3.0,
    )
    decision = NextUnit(belief).decide(view)
    assert decision is not None
    assert decision.arm == 1
    np.testing.assert_array_equal(view.horizon, [3, 12, 3])


def test_many_prices_are_rounded_to_a_few() -> None:
    costs = np.random.default_rng(0).lognormal(size=500)
    rounded = price_levels(costs)
    assert len(np.unique(rounded)) <= 32
    assert np.median(np.abs(np.log(rounded / costs))) < 0.1
    np.testing.assert_array_equal(price_levels(costs[:5]), costs[:5])


def test_prices_of_arms_that_may_not_start_do_not_count() -> None:
    """Neither for the levels that many prices are rounded to, nor for any value."""
    hypers = Hypers(0.0, 1.0, 1.0, 2.0, 1.0, 0.1)
    belief = FreezeThaw(Structure("none"), RAW, hypers)
    costs = np.random.default_rng(0).lognormal(size=80)
    view = View(
        curves=Curves.empty(80, 20),
        unit=1,
        left=40.0,
        costs=costs,
        features=np.zeros((80, 1)),
        untrained=3.0,
        startable=np.arange(80) < 40,
    )
    dear = replace(view, costs=np.where(np.arange(80) < 40, costs, 1e6))
    found, other = (unit_values(one, belief.condition(one)) for one in (view, dear))
    np.testing.assert_array_equal(found, other)
    assert np.isfinite(found[:40]).all()
    assert np.isinf(found[40:]).all()


def two_arms(losses: list[list[float]], left: float) -> View:
    return View(
        curves=Curves.of(losses, 10),
        unit=1,
        left=left,
        costs=np.ones(len(losses)),
        features=np.zeros((len(losses), 1)),
        untrained=3.0,
    )


SHARP = FreezeThaw(Structure("none"), RAW, Hypers(0.0, 1.0, 1.0, 2.0, 0.5, 0.01))


def test_bhpt_commits_when_the_best_arm_needs_all_that_is_left() -> None:
    view = two_arms([[2.0, 1.5, 1.2], [2.9, 2.8, 2.75], []], left=3)
    decision = Bhpt(SHARP).decide(view)
    assert decision is not None
    assert decision.arm == int(np.nanargmin(decision.explanation.end))
    assert "commit" in decision.explanation.why


def test_q_alone_never_commits_by_rule() -> None:
    view = two_arms([[2.0, 1.5, 1.2], [2.9, 2.8, 2.75], []], left=3)
    decision = Bhpt(SHARP, exhaustion=False).decide(view)
    assert decision is not None
    assert "commit" not in decision.explanation.why
    assert decision.arm == int(np.argmin(decision.explanation.value))


def test_bhpt_explores_while_the_last_unit_of_the_leader_is_worth_next_to_nothing() -> None:
    """Means that fall to the last epoch would have it commit from the first unit on."""
    view = two_arms([[2.0, 1.5, 1.2], [2.9, 2.8, 2.75], []], left=6)  # of 10 epochs an arm
    ends = SHARP.condition(view).ends(view.horizon)
    top = int(ends.mean.argmin())
    later = SHARP.condition(view).ends(view.affordable(5.0)).mean[top]
    part = (later - ends.mean[top]) / np.sqrt(ends.variance[top])
    for spared, commits in ((0.0, True), (0.9 * part, True), (1.1 * part, False)):
        decision = Bhpt(SHARP, spared=spared).decide(view)
        assert decision is not None
        assert ("commit" in decision.explanation.why) == commits
    enough = two_arms([[2.0, 1.5, 1.2], [2.9, 2.8, 2.75], [2.9, 2.8]], left=6)
    explored = Bhpt(SHARP, spared=1e9).decide(enough)
    assert explored is not None
    assert "commit" in explored.explanation.why
    last = Bhpt(SHARP, spared=1e9).decide(replace(view, left=1.0))
    assert last is not None
    assert "commit" in last.explanation.why  # without its only unit it ends nowhere


def test_bhpt_epsilon_explores_half_of_the_time() -> None:
    """20 units left but only 10 epochs an arm: there is always something to spare."""
    base = two_arms([[2.0, 1.5, 1.2], [2.4, 2.1, 2.0], [2.9, 2.8, 2.7]], left=20)
    chosen = [Bhpt(SHARP, epsilon=0.5).decide(replace(base, seed=s)) for s in range(200)]
    top = int(np.nanargmin(chosen[0].explanation.end)) if chosen[0] else -1
    share = np.mean([d.arm == top for d in chosen if d])
    assert 0.38 < share < 0.62


def test_looks_are_taken_while_they_are_worth_what_they_take_from_the_leader() -> None:
    """The leader needs all that is left; nothing was seen of the third arm."""
    fast = FreezeThaw(Structure("none"), RAW, Hypers(0.0, 1.0, 1.0, 0.3, 0.5, 0.01))
    base = two_arms([[1.5, 0.7, 0.5], [2.9, 2.8, 2.75], []], left=6)
    top = int(fast.condition(base).ends(base.horizon).mean.argmin())

    def arms(policy: Bhpt, view: View = base) -> list[int]:
        decided = [policy.decide(replace(view, seed=s)) for s in range(16)]
        return [decision.arm for decision in decided if decision]

    assert set(arms(Bhpt(fast))) == {top}
    assert set(arms(Bhpt(fast, looks=1.0))) == {2}
    assert set(arms(Bhpt(fast, looks=1e-6))) == {top}  # a promise that counts for nothing
    assert set(arms(Bhpt(fast, looks=1.0), replace(base, left=1.0))) == {top}
    assert set(arms(Bhpt(fast, epsilon=0.5))) == {top}
    assert 0.2 < np.mean(np.array(arms(Bhpt(fast, 0.5, looks=1.0))) == top) < 0.8
    slow = two_arms([[2.0, 1.5, 1.2], [2.9, 2.8, 2.75], []], left=6)
    assert set(arms(Bhpt(SHARP, looks=1.0), slow)) == {0}  # one unit tells little of the end


def test_a_look_needs_another_arm() -> None:
    alone = two_arms([[2.0, 1.5, 1.2]], left=6)
    decision = Bhpt(SHARP, looks=1.0).decide(alone)
    assert decision is not None
    assert decision.arm == 0


@pytest.mark.parametrize("name", names())
def test_every_policy_stops_when_all_arms_are_finished(name: str) -> None:
    view = two_arms([[1.0] * 10, [2.0] * 10], left=5)
    assert make_rule(name).decide(view) is None


BELIEF_POLICIES = ["default", "bhpt", "bhpt-eps", "q-alone", "q-eps-alone", "next-unit"]
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("name", ["bhpt", "next-unit", "default"])
@pytest.mark.parametrize(
    ("losses", "untrained"),
    [
        ([[NAN] * 3, [NAN] * 2, []], 3.0),
        ([[NAN] * 3, [NAN] * 2, []], None),
        ([[INF, 1e30, NAN], [1.0], []], 3.0),
        ([[INF, 1e30, NAN], [1.0], []], None),
        ([[1.0] * 5, [1.0] * 5, [1.0] * 5], 1.0),
        ([[0.0] * 4, [3.0, 1e300], []], 0.0),
        ([[-1.0, -2.0], [-1.0, -1.5], []], -0.5),
        ([[-1.0, -2.0], [-1.0, -1.5], []], None),
        ([[3.0]], 3.0),
    ],
)
def test_no_loss_is_too_strange(
    name: str, losses: list[list[float]], untrained: float | None
) -> None:
    view = replace(two_arms(losses, left=6), untrained=untrained)
    decision = make_rule(name).decide(view)
    assert decision is not None
    assert view.choosable[decision.arm]
    predicted = np.isfinite(decision.explanation.end[view.choosable])
    start = view.curves.untrained if untrained is None else untrained
    improved = view.curves.best < start
    assert predicted.all() if improved or name != "default" else not predicted.any()


def test_a_diverged_arm_is_predicted_to_be_bad() -> None:
    losses = [[2.0, 1.5, 1.2], [2.0, float("nan"), float("nan")], [2.1, 1.6, 1.3]]
    for name in ("bhpt", "next-unit"):
        decision = make_rule(name).decide(two_arms(losses, left=5))
        assert decision is not None
        end = decision.explanation.end
        assert end[1] > max(end[0], end[2])


def test_sampled_decisions_do_not_depend_on_what_was_decided_before() -> None:
    """A resumed study decides as the uninterrupted one: fits are replayed, not remembered."""
    unknown = Unknown(LINEAR_PRIORS, Sampling(samples=2, burn=2, warm=1))
    rng = np.random.default_rng(3)
    steady = Bhpt(FreezeThaw(Structure("none"), Scale("linear"), unknown))
    memory = Memory()
    curves = Curves.empty(4, 12)
    for step in range(14):
        view = View(
            curves=curves,
            unit=1,
            left=20.0,
            costs=np.ones(4),
            features=np.zeros((4, 1)),
            untrained=3.0,
            seed=5,
        )
        fresh = Bhpt(FreezeThaw(Structure("none"), Scale("linear"), unknown))
        one, other = steady.decide(replace(view, memory=memory)), fresh.decide(view)
        assert one is not None
        assert other is not None
        assert one.arm == other.arm
        np.testing.assert_allclose(one.explanation.value, other.explanation.value, rtol=1e-9)
        curves = curves.extend(one.arm, np.array([3.0 / (2 + step) + rng.uniform() * 0.1]))


def test_pending_arms_are_not_chosen_again() -> None:
    view = two_arms([[2.0, 1.5, 1.2], [2.9, 2.8, 2.75], []], left=6)
    for name in BELIEF_POLICIES:
        first = make_rule(name).decide(view)
        assert first is not None
        second = make_rule(name).decide(replace(view, pending=np.array([first.arm])))
        assert second is not None
        assert second.arm != first.arm
