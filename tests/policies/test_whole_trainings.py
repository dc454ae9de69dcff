"""Whole trainings while curves tell nothing: when, of which arms, and what they find."""

from dataclasses import replace

import numpy as np
import pytest

from bhpt.beliefs.learned.arm_opinions import expected
from bhpt.beliefs.learned.weights import shipped, with_names
from bhpt.bench.metrics import score
from bhpt.bench.simulate import simulate
from bhpt.bench.tasks import Task
from bhpt.domain import FloatArray, View
from bhpt.policies.learned import Learned
from bhpt.policies.registry import default_with, make_policy
from bhpt.policies.whole_trainings import (
    WholeTrainings,
    none_is_ahead,
    nothing_learnt,
    wants_whole_training,
)
from bhpt.spaces import encode_tokens, infer_ranges
from tests.policies.test_default import view_of

FULL = 20  # units of a training in `view_of`
WHOLE = "a whole training, as no curve tells anything yet"


def after(loss: float, units: int = FULL, left: float = 8.0 * FULL) -> View:
    """A study with names, ℓ_0 = 1, after some units of its first two arms that all end alike."""
    view = view_of("learning_rate", left)
    curves = view.curves
    for step in range(units):
        curves = curves.extend(step % 2, np.array([loss]))
    return replace(view, curves=curves)


def shifted(view: View, untrained: float | None) -> View:
    return replace(view, untrained=untrained)


@pytest.mark.parametrize(
    ("loss", "untrained", "nothing"),
    [
        (1.0, 1.0, True),
        (0.981, 1.0, True),
        (0.97, 1.0, False),
        (5.0, 1.0, True),
        (0.0, 0.0, True),
        (-0.01, 0.0, False),
        (-2.03, -2.0, True),
        (-2.05, -2.0, False),
    ],
)
def test_a_fiftieth_of_the_untrained_loss_is_something(
    loss: float, untrained: float, nothing: bool
) -> None:
    assert nothing_learnt(shifted(after(loss), untrained)) == nothing


def test_before_the_first_report_nothing_has_been_learnt() -> None:
    assert nothing_learnt(view_of("learning_rate", 400.0))


def test_without_an_untrained_loss_nobody_can_tell() -> None:
    assert not nothing_learnt(shifted(after(1.0), None))


def told(losses: list[float]) -> View:
    """A study after one unit of each of its first arms, ℓ_0 = 1."""
    view = view_of("learning_rate", 8.0 * FULL)
    curves = view.curves
    for arm, loss in enumerate(losses):
        curves = curves.extend(arm, np.array([loss]))
    return replace(view, curves=curves)


@pytest.mark.parametrize(
    ("losses", "alike"),
    [
        ([0.5] * 8, True),
        ([0.5] * 7, False),
        ([0.5] * 5 + [0.9] * 3, True),
        ([0.5] * 3 + [0.9] * 5, False),
        ([0.509] * 7 + [0.5], True),
        ([0.52] * 7 + [0.5], False),
        ([1.0] * 8, False),  # that is for `nothing_learnt` to say
    ],
)
def test_none_is_ahead_where_most_have_come_as_far_as_the_best(
    losses: list[float], alike: bool
) -> None:
    assert none_is_ahead(told(losses)) == alike
    unknown = shifted(told([4 * loss - 2 for loss in losses]), 2.0)
    assert none_is_ahead(unknown) == alike  # on any scale


def test_one_unit_of_three_where_the_budget_pays_for_eight_trainings() -> None:
    turns = [wants_whole_training(after(1.0, units)) for units in range(FULL, FULL + 6)]
    assert turns == [False, False, True, False, False, True]
    at = FULL + 2
    assert wants_whole_training(after(1.0, at, left=8 * FULL - at))
    assert not wants_whole_training(after(1.0, at, left=8 * FULL - at - 1))
    assert not wants_whole_training(after(0.5, at))
    assert not any(wants_whole_training(after(1.0, units)) for units in range(FULL))


def test_the_arm_of_which_names_promise_most_and_then_the_next() -> None:
    view = after(1.0, FULL + 2)
    policy = make_policy("default")
    assert isinstance(policy, WholeTrainings)
    by_names = np.argsort(-expected(view, np.arange(view.arms), Learned().weights)[:, 0])
    decision = policy.decide(view)
    assert decision is not None
    assert decision.arm == by_names[0]
    assert decision.explanation.why == WHOLE
    flying = policy.decide(replace(view, pending=by_names[:1], curves=after(1.0, FULL + 1).curves))
    assert flying is not None
    assert flying.arm == by_names[1]


def test_no_training_is_gone_on_with_that_cannot_be_paid_to_its_end() -> None:
    policy = make_policy("default")
    whole = replace(after(1.0, FULL + 2), costs=np.full(15, 10.0), left=160.0 * FULL)
    nine_left = replace(whole, split=17)  # a worker's part pays for 18 units
    unpaid = replace(whole, split=40)  # and here for 8
    assert wants_whole_training(nine_left)
    assert wants_whole_training(unpaid)
    tried = policy.decide(nine_left)
    assert tried is not None
    assert tried.arm in nine_left.curves.visited
    assert tried.explanation.why == WHOLE
    usual = policy.decide(unpaid)
    assert usual is not None
    assert usual.explanation.why != WHOLE


def test_without_names_nothing_changes() -> None:
    view = replace(after(1.0, FULL + 2), tokens=None)
    assert wants_whole_training(view)
    policy = make_policy("default")
    assert isinstance(policy, WholeTrainings)
    usual, decision = policy.usual.decide(view), policy.decide(view)
    assert usual is not None
    assert decision is not None
    assert decision.arm == usual.arm


def late_learners(plateau: float, arms: int = 40, full: int = 12) -> Task:
    """A task on which all arms are as good after a unit as after two thirds of a training.

    Those with usual learning rates learn the rest then. All others learn no more, and are a little
    lower before that.
    """
    rates: FloatArray = 10.0 ** np.linspace(-6, 1, arms)
    configs = [{"learning_rate": float(rate), "momentum": 0.9} for rate in rates]
    late = np.abs(np.log10(rates) + 2.5) < 1.0
    after_units = np.arange(1, full + 1)
    losses = np.where(late[:, None] & (after_units > 2 * full // 3), 0.1, plateau)
    losses = losses - 0.001 * ~late[:, None]
    ranges = infer_ranges(configs)
    features = np.log10(rates)[:, None] / 7 + 6 / 7
    return Task(
        name="late",
        losses=losses,
        features=features,
        configs=tuple(configs),
        untrained=1.0,
        unit=1,
        tokens=encode_tokens(configs, ranges),
    )


@pytest.mark.parametrize("plateau", [1.0, 0.6])
def test_arms_that_learn_late_are_found(plateau: float) -> None:
    """Without the network that knows which rates learn late: with it they are found anyway."""
    task = late_learners(plateau)
    policy = default_with(Learned(with_names(shipped("policy"), shipped("names"))))
    regret = [score(task, 120, simulate(task, p, 120, 0)).regret for p in (policy, policy.usual)]
    assert regret[0] == 0.0
    assert regret[1] > 0.5  # still on the plateau
