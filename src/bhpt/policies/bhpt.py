"""BHPT and its variants: the action value of perfect information about an arm's end.

Notation:
    r    units left, this one included       ĉ  arm of the lowest predicted end
    ν_a  predicted end of arm a within r, a Gaussian with mean μ_a and deviation σ_a
    Q[a] = E min{ν_a, min_{k≠a} μ_k}         τ_ĉ  units that ĉ needs to its predicted end
    ζ    best loss so far                    t  part of what untried arms promise that counts
    Q_0  = min_k μ_k, averaged over settings as Q is: the end if nothing more were known
    Q_t[a] = Q_0 - t (Q_0 - Q[a]) of an arm that was never tried, Q[a] of the others; Q where more
           units are left than there are arms
    Q_u[a] = Q_0 - (Q_0 - Q_t[a]) / (c_a τ_a)  what knowing an end promises, by the unit that it
           takes; c_a  price of a unit of arm a, 1 where it is lowest
"""

from dataclasses import dataclass, replace

import numpy as np

from bhpt.beliefs.expected_min import best_other
from bhpt.beliefs.freeze_thaw.posterior import GaussianEnds
from bhpt.beliefs.interface import GaussianBelief, GaussianMixture, GaussianPosterior
from bhpt.beliefs.predictor import Ends, Predictor
from bhpt.domain import FloatArray, IntArray, View
from bhpt.policies.action_values import pick
from bhpt.policies.interface import Decision, Explanation, PredictingPolicy
from bhpt.policies.looks import MOST, draws_of, price_looks

Chosen = tuple[int, str]
"""An arm, and why, in words."""

_SURELY = 0.99  # probability of one decay for all arms from which on the printed Q is run


@dataclass(frozen=True, eq=False)
class Bhpt(PredictingPolicy):
    """The paper's algorithm.

    Attributes:
        belief: What predicts the ends.
        epsilon: None to run the lowest Q; else the probability with which, while exploring,
            the best of the other arms is run and not ĉ (BHPT-ε).
        exhaustion: Whether ĉ is run for good once it needs all that is left (the `else` of the
            paper's rule; without it the variants Q-alone and Q-ε-alone).
        spared: Part of the deviation of ĉ's end that its last unit may be worth and still be
            spared, while the other arms have had less than half a training altogether. Where
            predicted means fall to the last epoch, ĉ needs all that is left, however little the
            last unit brings, and a budget of one training would look at no second arm.
        looks: Part of what looks at other arms promise that counts once ĉ needs all that is left
            (`policies.looks`); 0 commits at once. BHPT-ε asks half of the time, for ε = 1/2.
        untried: t, once fewer units are left than there are arms; 1 before. Where ends spread
            upwards more than downwards, a Gaussian promises more of arms that were never tried
            than they keep; as long as a look at every arm can be paid, that costs little. 1 as
            well where one decay for all arms is all but certain: promises are kept there.
        priced: Whether the lowest Q_u is run and not the lowest Q. An end is known once the arm has
            been trained up to it; to Q an arm that has one more unit to go and one that has a
            whole training to go are the same. Where one decay for all arms is all but certain, an
            end is foreseen long before it is reached, and the lowest Q is run.
        keeps: Whether ĉ, once it needs all that is left, gives way to the tried arm with which the
            study would end lowest, argmin E min{ν_a, ζ}: what is reached is kept, and an arm that
            has stopped adds nothing to it.
        shown: The predictor of the study, if it is another than the belief: decisions are
            explained with it.
    """

    belief: GaussianBelief
    epsilon: float | None = None
    exhaustion: bool = True
    spared: float = 0.0
    looks: float = 0.0
    untried: float = 1.0
    priced: bool = False
    keeps: bool = False
    shown: Predictor | None = None

    @property
    def predictor(self) -> Predictor:
        """The belief, unless another is named."""
        return self.belief if self.shown is None else self.shown

    def decide(self, view: View) -> Decision | None:
        """Run the lowest Q, or commit to ĉ when it needs all that is left."""
        if not view.choosable.any():
            return None
        look = self._valued(q_values(view, self.belief.condition(view)))
        if self.exhaustion and look.exhausted and not look.spares(self.spared):
            arm, why = self._commit(look)
        else:
            arm, why = explore(look, self.epsilon)
        return look.decision(self.predictor, arm, why)

    def _valued(self, look: "QValues") -> "QValues":
        """Q_t or Q_u for Q, unless one decay for all arms is all but certain."""
        if look.mixture.shared > _SURELY:
            return look
        discounted = look.discounted(self.untried)
        return discounted.by_the_unit() if self.priced else discounted

    def _commit(self, look: "QValues") -> Chosen:
        """ĉ, or an arm that is worth a look first; BHPT-ε asks by chance."""
        if self.looks > 0 and (self.epsilon is None or look.rng.random() < self.epsilon):
            arm = look_first(look, self.belief.predict(look.view), self.looks)
            if arm != look.top:
                return arm, "a look at it may be worth what its unit takes from the leader"
        if self.keeps and (arm := look.adding) != look.top:
            return arm, "it may still fall below what is reached, more than the leader: commit"
        return look.top, "it needs all that is left: commit"


@dataclass(frozen=True, eq=False)
class QValues:
    """Q of every arm of a view, with the posterior behind it.

    Attributes:
        view: What Q is computed from.
        mixture: The posterior.
        ends: ν of the mixture.
        values: Q, or Q_t, or Q_u, [K].
        top: ĉ.
        rng: The random numbers of the decision.
    """

    view: View
    mixture: GaussianMixture
    ends: GaussianEnds
    values: FloatArray
    top: int
    rng: np.random.Generator

    @property
    def exhausted(self) -> bool:
        """Whether ĉ needs all that is left."""
        needed = -(-int(self.ends.tau[self.top]) // self.view.unit)
        return bool(needed >= self.view.bought_now[self.top])

    def spares(self, part: float) -> bool:
        """Whether one unit less would raise the mean of ĉ's end by at most a part of its deviation.

        None spares its only unit, nor any once the others have had half a training.
        """
        view, top = self.view, self.top
        epochs = view.curves.count_by_arm
        if part <= 0 or 2 * (epochs.sum() - epochs[top]) >= view.curves.epochs:
            return False
        rest = view.affordable(view.left_after(float(view.costs[top])))
        later = self.mixture.ends(horizon_epochs(view, rest)).mean[top]
        worth = later - self.ends.mean[top]
        return bool(worth <= part * np.sqrt(self.ends.variance[top]))

    def discounted(self, part: float) -> "QValues":
        """The same with Q_t for Q, once fewer units are left than there are arms."""
        view = self.view
        if part == 1 or view.bought_now[self.top] >= view.arms:
            return self
        untried = (view.curves.count_by_arm == 0) & np.isfinite(self.values)
        known = self.unknowing
        return replace(
            self, values=np.where(untried, known - part * (known - self.values), self.values)
        )

    @property
    def unknowing(self) -> float:
        """Q_0."""
        horizon = horizon_epochs(self.view, self.view.horizon)
        arms = self.view.arms
        lowest = self.mixture.average(lambda c: np.full(arms, c.ends(horizon).mean.min()))
        return float(lowest[0])

    def by_the_unit(self) -> "QValues":
        """The same with Q_u for Q."""
        view, known = self.view, self.unknowing
        units = np.maximum(-(-self.ends.tau // view.unit), 1)
        price = units * view.costs / view.costs.min()
        return replace(self, values=known - (known - self.values) / price)

    @property
    def adding(self) -> int:
        """The tried arm of the lowest E min{ν_a, ζ}; ĉ if that was never tried."""
        view, top = self.view, self.top
        tried = view.choosable & (view.curves.count_by_arm > 0)
        if not tried[top]:
            return top
        horizon = horizon_epochs(view, view.horizon)
        reached = np.full(view.arms, self.mixture.scaled.best)
        ends = self.mixture.average(lambda c: c.mean_at_most(horizon, reached))
        lowest = np.where(tried, ends, np.inf)
        return top if lowest[top] <= lowest.min() else int(lowest.argmin())

    def decision(self, belief: Predictor, arm: int, why: str) -> Decision:
        """The decision for an arm, explained with what the belief predicts."""
        return Decision(arm, lambda: explain(self.view, belief, self.mixture, self.values, why))


def q_values(view: View, mixture: GaussianMixture) -> QValues:
    """Q of every arm, and ĉ."""
    horizon = horizon_epochs(view, view.horizon)
    ends = mixture.ends(horizon)
    values = action_values(mixture, horizon)
    rng = view.rng()
    return QValues(view, mixture, ends, values, pick(ends.mean, view.choosable, rng), rng)


def explore(look: QValues, epsilon: float | None) -> Chosen:
    """The lowest Q, or by chance ĉ or the best of the others."""
    others = look.view.choosable.copy()
    if epsilon is None:
        arm = pick(look.values, others, look.rng)
        return arm, "its end is worth knowing most" if arm != look.top else "it leads"
    others[look.top] = False
    if others.any() and look.rng.random() < epsilon:
        return pick(look.values, others, look.rng), "explore: the most promising of the others"
    return look.top, "exploit: the predicted best"


def look_first(look: QValues, ends: Ends, trust: float) -> int:
    """ĉ, or the first arm to look at, of the others with the lowest Q, if looks pay."""
    view, top = look.view, look.top
    values = np.where(view.choosable, look.values, np.inf)
    values[top] = np.inf
    order = np.lexsort((look.rng.random(view.arms), values))
    arms = np.append(top, order[np.isfinite(values[order])][:MOST])
    if len(arms) == 1:
        return top
    paths = ends.paths(arms, draws_of(len(arms), view.curves.epochs), look.rng)
    worth = price_looks(view, paths, arms, trust)
    return int(arms[1]) if worth[1:].min() < worth[0] else top


def horizon_epochs(view: View, units: IntArray) -> IntArray:
    """A horizon of units as one of epochs, [K]; the grid's end cuts a last, partial unit."""
    return units * view.unit


def action_values(mixture: GaussianMixture, horizon: IntArray) -> FloatArray:
    """Q of every arm, averaged over the hyper-parameter samples, [K]."""

    def values(posterior: GaussianPosterior) -> FloatArray:
        return posterior.mean_at_most(horizon, best_other(posterior.ends(horizon).mean))

    return mixture.average(values)


def explain(
    view: View,
    belief: Predictor,
    mixture: GaussianMixture,
    values: FloatArray,
    why: str,
) -> Explanation:
    """The numbers of a decision in the scale of the losses, and the reason."""
    losses = np.where(np.isfinite(values), mixture.scaled.loss(values), np.nan)
    value = np.where(view.choosable, losses, np.inf)
    return Explanation.of_ends(lambda: belief.predict(view), value, why)
