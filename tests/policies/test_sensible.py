"""No unit goes to an arm without a chance while another arm has one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bhpt.beliefs.predictor import Ends
from bhpt.bench.baselines import registry as baselines
from bhpt.domain import Curves, FloatArray, IntArray, Memory, View
from bhpt.policies.interface import Decision, Explanation, PredictingPolicy
from bhpt.policies.played import play
from bhpt.policies.registry import make_policy, make_rule, names
from bhpt.policies.sensible import NEGLIGIBLE, SensiblePolicy, hopeful_arms
from bhpt.policies.whole_trainings import WholeTrainings, wants_whole_training


@dataclass(frozen=True, eq=False)
class Known:
    """Ends whose lowest likely value is given; nothing else of them is asked for."""

    low: FloatArray

    def quantiles(self, probabilities: Sequence[float]) -> FloatArray:
        assert list(probabilities) == [NEGLIGIBLE]
        return self.low[None]

    def mean(self) -> FloatArray:
        raise NotImplementedError

    def deviation(self) -> FloatArray:
        raise NotImplementedError

    def mean_at_most(self, loss: float) -> FloatArray:
        raise NotImplementedError

    def draws(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def paths(self, arms: IntArray, size: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def within(self, horizon: IntArray) -> Ends:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Says:
    """Predicts the same at every view."""

    ends: Known

    def predict(self, view: View) -> Ends:
        assert view.arms == len(self.ends.low)
        return self.ends


class Lowest:
    """Runs the first arm that can be run."""

    def decide(self, view: View) -> Decision | None:
        arms = np.flatnonzero(view.choosable)
        return (
            Decision(int(arms[0]), Explanation.in_words("first", view.arms)) if len(arms) else None
        )


def view_of(losses: list[list[float]], left: float = 5.0) -> View:
    curves = Curves.of(losses, 10)
    return View(curves, 1, left, np.ones(len(losses)), np.zeros((len(losses), 1)), untrained=1.0)


def guard(low: list[float]) -> SensiblePolicy:
    return SensiblePolicy(Lowest(), Says(Known(np.array(low))))


def chosen(policy: SensiblePolicy, view: View) -> int:
    decision = policy.decide(view)
    assert decision is not None
    return decision.arm


def test_a_hopeless_arm_is_passed_over_for_one_with_a_chance() -> None:
    view = view_of([[0.9], [0.5], [0.6]])
    assert chosen(guard([0.8, 0.5, 0.4]), view) == 2  # the best arm itself cannot improve either
    assert chosen(guard([0.4, 0.4, 0.4]), view) == 0


def test_where_nobody_has_a_chance_the_policy_decides() -> None:
    assert chosen(guard([0.9, 0.9, 0.9]), view_of([[0.9], [0.5], [0.6]])) == 0


def test_an_untried_arm_about_which_nothing_is_predicted_may_be_run() -> None:
    assert chosen(guard([0.9, 0.9, np.nan]), view_of([[0.9], [0.5], []])) == 2
    nothing = [np.nan, np.nan, np.nan]
    assert chosen(guard(nothing), view_of([[0.9], [0.5], [0.6]])) == 0


def test_an_untried_arm_that_is_not_looked_at_is_as_hopeful_as_those_that_are() -> None:
    """Of many untried arms, the predictor looks at some: the others are no way out."""
    view = view_of([[0.9], [0.5], [], []])
    assert chosen(guard([0.9, 0.9, 0.8, np.nan]), view) == 0
    assert chosen(guard([0.9, 0.9, 0.4, np.nan]), view) == 2
    only_unknown = replace(view, startable=np.array([True, True, False, True]))
    assert chosen(guard([0.9, 0.9, 0.8, np.nan]), only_unknown) == 3


def test_a_tried_arm_that_is_not_looked_at_is_no_better_than_those_that_are() -> None:
    """Of many arms, the predictor looks at the best: the others are no way out."""
    assert chosen(guard([0.9, np.nan, 0.9]), view_of([[0.9], [0.5], [0.6]])) == 0
    assert chosen(guard([0.9, np.nan, 0.4]), view_of([[0.9], [0.5], [0.6]])) == 2


def test_a_first_look_that_would_have_to_be_twice_as_fast_as_the_best_arm_is_hopeless() -> None:
    """The best loss took five epochs: two are too few for an arm that begins now, three are not."""
    losses = [[], [0.9, 0.7, 0.6, 0.5, 0.4, 0.45], [0.9, 0.5], []]
    low = [0.1, 0.4, 0.4, 0.1]
    assert chosen(guard(low), view_of(losses, left=3.0)) == 0
    late = view_of(losses, left=2.0)
    assert chosen(guard(low), late) == 0  # nobody else has a chance
    assert chosen(guard([0.1, 0.4, 0.3, 0.1]), late) == 2
    assert hopeful_arms(late, Known(np.array([0.1, 0.4, 0.3, np.nan]))).tolist() == [
        *(False, False, True, False)
    ]


def test_how_late_it_is_is_counted_in_epochs() -> None:
    losses = [[], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [0.9, 0.5]]
    unit_of_three = replace(view_of(losses, left=1.0), unit=3)
    assert chosen(guard([0.1, 0.4, 0.3]), unit_of_three) == 0
    assert chosen(guard([0.1, 0.4, 0.3]), replace(unit_of_three, unit=2)) == 2


def test_before_the_first_loss_the_policy_decides() -> None:
    assert chosen(guard([0.0, 0.0]), view_of([[], []])) == 0
    assert chosen(guard([0.0, 0.0]), view_of([[np.nan], []])) == 0


def random_view(seed: int) -> View:
    """Some moment of some study: unequal prices, units in flight, several workers.

    Up to thousands of units are left, shared by the workers as a total or as a clock. Every tenth
    study has more arms than networks look at.
    """
    rng = np.random.default_rng(seed)
    many = seed % 10 == 9
    arms, epochs = int(rng.integers(300, 600) if many else rng.integers(3, 30)), 3 + seed % 27
    ends = rng.uniform(0.1, 1.0, arms)
    losses = []
    for end in ends:
        n = int(rng.integers(0, epochs + 1)) * int(rng.random() < 0.7)
        fallen = np.exp(-np.arange(1, n + 1) / rng.uniform(1, 6))
        losses.append((end + (1 - end) * fallen + 0.01 * rng.standard_normal(n)).tolist())
    curves = Curves.of(losses, epochs)
    open_arms = np.flatnonzero(curves.count_by_arm < epochs)
    flying = rng.permutation(open_arms)[: int(rng.integers(0, 3))]
    workers, by_clock = int(rng.integers(1, 5)), bool(rng.integers(2))
    return View(
        curves,
        1,
        float(np.exp(rng.uniform(0, np.log(5000)))),
        rng.uniform(0.3, 3.0, arms),
        rng.random((arms, 2)),
        untrained=1.0,
        pending=np.sort(flying),
        seed=seed,
        lanes=workers if by_clock else 1,
        split=1 if by_clock else workers,
    )


QUICK = ("default", "learned")  # networks; the others fit Gaussian processes
WITH_PREDICTOR = [name for name in names() if isinstance(make_policy(name), PredictingPolicy)]
OTHERS = [name for name in WITH_PREDICTOR if name not in QUICK]
CASES = [(name, seed) for name in QUICK for seed in range(60)] + [
    (name, seed) for name in OTHERS for seed in (6, 11, 18, 23, 28, 41)
]


def refuse_hopeless(policy: PredictingPolicy, view: View, decision: Decision) -> None:
    """The statement: the arm has a chance by the policy's own predictor, or none has.

    Units of a whole training are another matter: the default runs them where no curve tells
    anything, and so the predictor, which reads curves, is not to be believed.
    """
    assert view.choosable[decision.arm]
    if not np.isfinite(view.curves.best) or wants_whole_training(view):
        return
    hopeful = hopeful_arms(view, policy.predictor.predict(view))
    assert hopeful[decision.arm] or not hopeful.any()


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_no_policy_runs_a_hopeless_arm_while_there_are_others(name: str, seed: int) -> None:
    view, policy = random_view(seed), make_policy(name)
    assert isinstance(policy, PredictingPolicy)
    decision = policy.decide(view)
    if decision is None:
        assert not view.choosable.any()
    else:
        refuse_hopeless(policy, view, decision)


@dataclass
class Judged:
    """A policy each of whose decisions is judged."""

    policy: PredictingPolicy
    decisions: int = 0

    def decide(self, view: View) -> Decision | None:
        decision = self.policy.decide(view)
        if decision is not None:
            self.decisions += 1
            refuse_hopeless(self.policy, view, decision)
        return decision


def random_study(seed: int, left: float) -> tuple[View, FloatArray]:
    """A study that has not begun, and how its curves would go, [K, T + 1]."""
    rng = np.random.default_rng(seed)
    arms, epochs, workers = 24 + 12 * (seed % 3), 9 + 9 * (seed % 4), 1 + seed % 4
    ends = rng.uniform(0.1, 1.0, (arms, 1))
    falls = np.exp(-np.arange(epochs + 1) / rng.uniform(1, 12, (arms, 1)))
    world = ends + (1 - ends) * falls + 0.02 * rng.standard_normal((arms, epochs + 1))
    by_clock = seed % 2 == 0
    view = View(
        Curves.empty(arms, epochs),
        1,
        left,
        rng.uniform(0.3, 3.0, arms),
        rng.random((arms, 2)),
        untrained=1.0,
        seed=seed,
        lanes=workers if by_clock else 1,
        split=1 if by_clock else workers,
    )
    return view, world


@pytest.mark.parametrize(
    ("name", "seed", "left"),
    [(name, 1, 3000.0) for name in QUICK]
    + [(name, 6, 6.0) for name in OTHERS]
    + [pytest.param(name, 3, 40.0, marks=pytest.mark.slow) for name in OTHERS],
)
def test_no_unit_of_a_whole_study_goes_to_a_hopeless_arm(name: str, seed: int, left: float) -> None:
    """Unequal prices, up to four workers, thousands of units where deciding is fast."""
    policy = make_policy(name)
    assert isinstance(policy, PredictingPolicy)
    judged = Judged(policy)
    view, world = random_study(seed, left)
    played = play(view, judged, world, Memory())
    assert judged.decisions == played.units > 8


@pytest.mark.parametrize(("name", "seed"), [("bhpt-eps", 41), ("bhpt-shapes", 28)])
def test_a_belief_that_is_asked_again_is_not_fitted_again(name: str, seed: int) -> None:
    view = random_view(seed)
    decision = make_policy(name).decide(view)
    assert decision is not None
    assert "as those preferred to it" in decision.explanation.why
    kept = {slot.name for slot in view.memory.within("hopeful arms")._kept}
    assert "posterior" in kept
    assert not {"fits", "shapes", "odds of one decay"} & kept


def test_the_benchmark_runs_rules_as_they_are_printed() -> None:
    for name in WITH_PREDICTOR:
        rule, bare = make_rule(name), baselines.make_rule(name)
        assert type(rule) is type(bare)
        assert (name == "default") == isinstance(rule, WholeTrainings)
        assert not isinstance(rule, SensiblePolicy)


@pytest.mark.parametrize(
    ("name", "seed"), [("learned", 6), ("bhpt-eps", 41), ("next-unit", 18), ("plans-shapes", 11)]
)
def test_a_rule_as_printed_may_run_a_hopeless_arm(name: str, seed: int) -> None:
    """Else the statement above would hold of everything."""
    rule, view = make_rule(name), random_view(seed)
    assert isinstance(rule, PredictingPolicy)
    decision = rule.decide(view)
    assert decision is not None
    hopeful = hopeful_arms(view, rule.predictor.predict(view))
    assert hopeful.any()
    assert not hopeful[decision.arm]


@dataclass(frozen=True, eq=False)
class Told(Known):
    """Also says where arms end."""

    def mean(self) -> FloatArray:
        return self.low + 1.0

    def deviation(self) -> FloatArray:
        return np.ones(len(self.low))


class ByEnds:
    """Runs the first arm that can be run, and explains it with predictions of its own."""

    def decide(self, view: View) -> Decision | None:
        arm = int(np.flatnonzero(view.choosable)[0])
        own = Told(np.full(view.arms, 7.0))
        value = np.arange(view.arms, dtype=float)
        return Decision(arm, Explanation.of_ends(lambda: own, value, "it is first"))


def test_a_second_choice_is_explained_by_what_is_predicted_of_all_arms() -> None:
    view = View(Curves.of([[1.0], [2.0], [3.0]], 9), 1, 20.0, np.ones(3), np.eye(3))
    ends = Told(np.array([5.0, 0.5, 0.6]))
    decision = SensiblePolicy(ByEnds(), Says(ends)).decide(view)
    assert decision is not None
    assert decision.arm == 1
    assert decision.explanation.why.startswith("it is first, as those preferred to it")
    assert decision.explanation.end.tolist() == [6.0, 1.5, 1.6]
    assert decision.explanation.spread.tolist() == [1.0, 1.0, 1.0]
    assert decision.explanation.value.tolist() == [0.0, 1.0, 2.0]
