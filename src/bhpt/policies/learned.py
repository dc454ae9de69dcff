"""The learned policy: a small network that was trained on millions of studies under a budget.

Its inputs are how far each arm has come and how far what is left would take it; its output is a
preference for each arm. It was trained on real and invented curves to end with the best model
(`benchmarks/policy`). Nothing is fitted while a study runs, so a decision takes milliseconds; a
second network predicts where the arms would end, for people and for the store of checkpoints.

The network sees the best loss of an arm so far. Where losses rise since then (`rising`), its
preference, the logarithm of the chance that an arm is run next, falls as the logarithm of the odds
of a new record does.

The network decides between a first look and going on. Which tried arm goes on is decided together
with a network that reads curves and configurations side by side (`finisher`), where names are
known and that network is there: preferences and its scores are added, both logarithms of chances.

All that the network sees of a curve is relative to other curves, so of one curve alone it cannot
tell a good start from a plateau. Where it has the choice it tries a second arm within three units.
A first unit that pays for a start can make a budget look too small for that, and later units of
the arm show that it is not; by then the network would train the arm to its end. So if one arm alone
has been tried for longer, the network decides as it would have after the first unit at the prices
of now.

Notation:
    K  arms, R  arms looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

import numpy as np

from bhpt.beliefs.experts import Advice
from bhpt.beliefs.learned.arm_opinions import names_tell
from bhpt.beliefs.learned.ends import LearnedPredictor
from bhpt.beliefs.learned.finisher_inputs import finisher_scores
from bhpt.beliefs.learned.network import outputs, preferences, trunk
from bhpt.beliefs.learned.network_inputs import NetworkInputs, experts_advice, network_inputs
from bhpt.beliefs.learned.rising import LOG_ODDS, rises
from bhpt.beliefs.learned.weights import NetworkWeights, shipped, shipped_policy
from bhpt.beliefs.predictor import Predictor
from bhpt.domain import BoolArray, FloatArray, Slot, View
from bhpt.policies.interface import Decision, Explanation, PredictingPolicy

_ALONE = 4  # units of one arm, none of another: the network has not had the choice
_ALL_BUT_CURVES = tuple(
    one.name for one in fields(View) if one.name not in ("curves", "memory")
)  # what a view consists of beside them
_FINISHER = 4.0  # weight of its scores beside the preferences of the network that chooses
_TIES = 1e-4  # untried arms of equal preference, up to rounding, are drawn at random


@dataclass(frozen=True, eq=False)
class Learned(PredictingPolicy):
    """Runs the arm that the network prefers.

    Attributes:
        weights: Of the network that chooses.
        ends: The study's predictor, shown beside the choice.
    """

    weights: NetworkWeights = field(default_factory=shipped_policy)
    ends: Predictor = field(default_factory=lambda: LearnedPredictor(shipped("ends")))

    @property
    def predictor(self) -> Predictor:
        """Predicts the ends."""
        return self.ends

    def names_tell(self, view: View) -> bool:
        """Whether names distinguish these arms, before anything is trained."""
        return names_tell(view, self.weights)

    def advice(self, view: View, arm: int) -> Advice | None:
        """The opinions of the experts before anything is trained, with their weights."""
        return experts_advice(view, arm, self.weights)

    def decide(self, view: View) -> Decision | None:
        """The arm that the network would run next, None when none can be run."""
        if not view.choosable.any():
            return None
        second = self._second_arm(view) if _one_arm_alone(view) else None
        arm = self._preferred(view) if second is None else second
        return Decision(arm, lambda: self._explain(view, arm))

    def _second_arm(self, view: View) -> int | None:
        """The untried arm that the network would have preferred after the first unit, if any.

        Often nothing that it follows from has changed since the unit before.
        """
        then = _after_first_unit(view)
        curves = then.curves
        inputs = (
            curves.visited,
            curves.of_arm(int(curves.visited[0])),
            *(getattr(then, name) for name in _ALL_BUT_CURVES),
        )
        slot: Slot[int] = Slot("second arm", self.weights)
        second = then.memory.recall(slot, inputs, lambda: self._preferred(then))
        untried = not view.curves.count_by_arm[second]
        return second if untried and view.choosable[second] else None

    def _preferred(self, view: View) -> int:
        """The arm that the network prefers, of those that can be run."""
        inputs = network_inputs(view, self.weights)
        preferred = self.preferences(inputs) - LOG_ODDS * rises(view, inputs.rows)
        chosen = likeliest(preferred, inputs.moment.n == 0, view.rng)
        if inputs.moment.n[chosen]:
            chosen = goes_on(view, inputs, preferred, self.weights, chosen)
        return int(inputs.rows[chosen])

    def preferences(self, inputs: NetworkInputs) -> FloatArray:
        """The network's preference for each arm, very low where it cannot run, [R]."""
        moment = inputs.moment
        made = trunk(np, self.weights, inputs.arms, inputs.study, moment.exists)
        out = outputs(np, self.weights, *made)
        preferred: FloatArray = preferences(np, self.weights, out, moment.open)
        return preferred

    def _explain(self, view: View, arm: int) -> Explanation:
        why = "go on" if view.curves.count_by_arm[arm] else "a first look"
        return Explanation.of_unpriced(self.ends, view, why)


def _one_arm_alone(view: View) -> bool:
    """Whether one arm has been reported for long, and no other was tried or is in flight."""
    visited = view.curves.visited
    alone = len(visited) == 1 and bool((view.pending == visited[0]).all())
    return alone and len(view.curves.reports) >= _ALONE and bool(view.choosable[visited[0]])


def _after_first_unit(view: View) -> View:
    """A study with one arm as it was after its first unit, had prices been those of now."""
    later = len(view.curves.reports) - 1
    spent = later * float(view.costs[view.curves.visited[0]])
    return replace(
        view,
        curves=view.curves.first(1),
        left=view.left + spent / view.lanes,
        memory=view.memory.within("the first unit"),
    )


def goes_on(
    view: View,
    inputs: NetworkInputs,
    preferred: FloatArray,
    trained: NetworkWeights,
    chosen: int,
) -> int:
    """The tried arm to go on with, as a place among the arms looked at.

    Args:
        view: The study.
        inputs: Of the network that chooses.
        preferred: Its preferences, [R].
        trained: All networks.
        chosen: The tried arm that it prefers.
    """
    scored = finisher_scores(view, inputs, trained, chosen)
    if scored is None:
        return chosen
    together = preferred[scored.places] + _FINISHER * scored.values
    return int(scored.places[together.argmax()])


def likeliest(
    preference: FloatArray,
    untried: BoolArray,
    rng: Callable[[], np.random.Generator],
) -> int:
    """Index of the preferred arm; the untried ones, which are much alike, count together.

    Args:
        preference: For each arm, [R].
        untried: Arms that have not been tried, [R].
        rng: Makes the random numbers that break ties of untried arms, only where there are any.
    """
    new = np.where(untried, preference, -np.inf)
    known = np.where(untried, -np.inf, preference)
    top = new.max()
    if np.isfinite(top) and top + np.log(np.exp(new - top).sum()) > known.max():
        return int((new + _TIES * rng().random(len(new))).argmax())
    return int(known.argmax())
