"""The default: names where they tell something, and a second opinion while there is time."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.learned.arm_opinions import names_tell
from bhpt.beliefs.learned.weights import shipped_policy, without_names
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import packaged
from bhpt.domain import Curves, View
from bhpt.policies.default import DefaultPolicy
from bhpt.policies.learned import Learned
from bhpt.policies.promising import Promising
from bhpt.policies.registry import make_policy, make_rule
from bhpt.policies.sensible import SensiblePolicy
from bhpt.policies.staged import StagedPolicy
from bhpt.policies.whole_trainings import WholeTrainings
from bhpt.spaces import encode_tokens, infer_ranges
from tests.policies.test_staged import PARTS, Says

# of the nameless parts 1 is first, 2 last, 3 where budgets are large
POLICY = DefaultPolicy(Says(7), Says(5), Says(None), PARTS, Learned().names_tell)


def view_of(name: str, left: float, done: int = 0) -> View:
    """A study of 15 arms that differ in one hyper-parameter, after some units of the first.

    A colour is the same for all of them.
    """
    configs = [{name: 1.0 if name == "colour" else 10.0 ** (-k / 3)} for k in range(15)]
    curves = Curves.empty(15, 20)
    for _ in range(done):
        curves = curves.extend(0, np.array([0.5]))
    return View(
        curves=curves,
        unit=1,
        left=left,
        costs=np.ones(15),
        features=np.zeros((15, 1)),
        untrained=1.0,
        tokens=encode_tokens(configs, infer_ranges(configs)),
    )


def guard_of_default() -> SensiblePolicy:
    """The default without whole trainings."""
    default = make_policy("default")
    assert isinstance(default, WholeTrainings)
    assert isinstance(default.usual, SensiblePolicy)
    assert default.predictor is default.usual.predictor
    return default.usual


def decided(view: View, policy: DefaultPolicy = POLICY) -> int:
    decision = policy.decide(view)
    assert decision is not None
    return decision.arm


def test_names_that_tell_nothing_are_not_asked() -> None:
    assert decided(view_of("learning_rate", 20.0)) == 7
    assert decided(view_of("colour", 20.0)) == 2
    assert decided(view_of("colour", 21.0)) == 1
    assert decided(view_of("colour", 60.0)) == 3
    assert decided(replace(view_of("learning_rate", 20.0), tokens=None)) == 2


def test_every_third_unit_is_a_second_opinion_while_there_is_time() -> None:
    early = [decided(view_of("learning_rate", 30.0, done)) for done in range(6)]
    assert early == [7, 7, 5, 7, 7, 5]
    late = [decided(view_of("learning_rate", 20.0, done)) for done in range(6)]
    assert late == [7] * 6


def test_a_large_budget_asks_for_it_every_second_unit() -> None:
    """It pays for three units of each of the 15 arms, units already run included."""
    assert [decided(view_of("learning_rate", 45.0 - done, done)) for done in range(4)] == [7, 5] * 2
    assert decided(view_of("learning_rate", 42.0, 1)) == 7


def test_a_still_larger_budget_looks_at_every_arm() -> None:
    """It pays for four units of each of the 15 arms, and more than a full training is left."""
    policy = replace(POLICY, named=Learned())
    view = view_of("learning_rate", 57.0, 3)
    assert decided(view, policy) not in (0, 5)  # an untried arm, not the second opinion
    assert decided(replace(view, startable=np.arange(15) == 0), policy) == 5  # none is untried
    assert decided(replace(view, left=56.0), policy) == 5
    assert decided(view_of("learning_rate", 59.0, 1), policy) == 5  # not yet a fourth unit


def test_time_left_is_that_of_all_workers() -> None:
    """Two workers with 15 units each until the deadline have more than a full training left."""
    several = [replace(view_of("learning_rate", 15.0, done), lanes=2) for done in range(3)]
    assert [decided(view) for view in several] == [7, 7, 5]
    late = [replace(view_of("learning_rate", 10.0, done), lanes=2) for done in range(3)]
    assert [decided(view) for view in late] == [7, 7, 7]
    many = [replace(view_of("learning_rate", 12.0, done), lanes=4) for done in range(4)]
    assert [decided(view) for view in many] == [7, 5] * 2


def test_a_second_opinion_that_promises_nothing_is_not_taken() -> None:
    silent = replace(POLICY, second=Says(None))
    assert decided(view_of("learning_rate", 30.0, 2), silent) == 7


@pytest.mark.parametrize(("tried", "arm"), [(0, 7), (1, 9), (2, 7), (3, 7)])
def test_the_second_arm_is_chosen_without_names(tried: int, arm: int) -> None:
    view = view_of("learning_rate", 20.0, tried and 1)
    flying = replace(view, pending=np.arange(1, tried, dtype=np.int64))
    assert decided(flying, replace(POLICY, blind=Says(9))) == arm


def test_an_arm_that_was_tried_is_no_first_look() -> None:
    view = view_of("learning_rate", 20.0, 1)
    assert decided(view, replace(POLICY, blind=Says(0))) == 7
    assert decided(view, replace(POLICY, named=Says(0), blind=Says(9))) == 0


def test_a_look_without_names_says_so() -> None:
    decision = replace(POLICY, named=Learned(), blind=Says(9)).decide(
        view_of("learning_rate", 20.0, 1)
    )
    assert decision is not None
    assert decision.explanation.why == "a first look, chosen without names"
    assert np.isfinite(decision.explanation.end).any()


def test_units_in_flight_count() -> None:
    flying = replace(view_of("learning_rate", 30.0, 1), pending=np.array([4]))
    assert decided(flying) == 5


def test_equal_values_tell_nothing() -> None:
    """Names are known, but all arms have the same learning rate."""
    view = view_of("learning_rate", 20.0)
    assert view.tokens is not None
    same = replace(view, tokens=np.tile(view.tokens[:1], (15, 1, 1)))
    assert names_tell(view, shipped_policy())
    assert not names_tell(same, shipped_policy())
    assert not names_tell(view, without_names(shipped_policy()))


def test_nothing_is_decided_where_nothing_can_run() -> None:
    assert make_policy("default").decide(view_of("learning_rate", 0.5)) is None


def test_the_study_has_one_predictor_whoever_decides() -> None:
    guard = guard_of_default()
    default = guard.chooser
    assert isinstance(default, DefaultPolicy)
    assert isinstance(default.second, Promising)
    assert isinstance(default.nameless, StagedPolicy)
    assert guard.predictor is default.predictor is default.named.predictor
    assert default.predictor is default.second.predictor
    assert default.predictor is default.nameless.predictor


@pytest.mark.parametrize("budget", [10, 45])
def test_without_names_the_default_is_the_nameless_policy(budget: int) -> None:
    task = replace(packaged("vae_mnist"), tokens=None)
    guard, nameless = guard_of_default(), make_rule("nameless")
    assert isinstance(nameless, StagedPolicy)
    default = guard.chooser
    np.testing.assert_array_equal(
        simulate(task, default, budget, 0).arms, simulate(task, nameless, budget, 0).arms
    )


def test_the_nameless_policy_looks_at_no_name() -> None:
    task = packaged("vae_mnist")
    nameless = make_policy("nameless")
    np.testing.assert_array_equal(
        simulate(task, nameless, 20, 0).arms,
        simulate(replace(task, tokens=None), nameless, 20, 0).arms,
    )


def test_a_small_budget_with_names_is_the_learned_policys_but_for_one_look() -> None:
    task = packaged("vae_mnist")  # with names of other arms, so that several are tried
    assert task.tokens is not None
    task = replace(task, tokens=task.tokens[np.random.default_rng(0).permutation(task.arms)])
    guard = guard_of_default()
    assert isinstance(guard.chooser, DefaultPolicy)
    by_names = replace(guard, chooser=replace(guard.chooser, blind=Says(None)))
    learned = simulate(task, Learned(), 30, 1).arms
    np.testing.assert_array_equal(simulate(task, by_names, 30, 1).arms, learned)
    tried = [list(dict.fromkeys(simulate(task, p, 30, 1).arms.tolist())) for p in (guard, by_names)]
    assert tried[0][0] == tried[1][0]
    assert tried[0][1] != tried[1][1]


def test_decisions_do_not_depend_on_what_is_remembered() -> None:
    """After a resume all arrays are others, with the same numbers in them."""
    task = packaged("vae_mnist")
    assert task.tokens is not None
    run = simulate(task, make_policy("default"), 52, 3)
    curves = Curves.empty(task.arms, task.epochs)
    for step, arm in enumerate(run.arms):
        if step % 7 == 2:  # a second opinion at first, later none
            copied = replace(task, features=task.features.copy(), tokens=task.tokens.copy())
            decision = make_policy("default").decide(copied.view(curves, 52 - step, 3))
            assert decision is not None
            assert decision.arm == arm
        at = int(curves.count_by_arm[arm])
        curves = curves.extend(int(arm), task.losses[arm, at : at + task.unit])
