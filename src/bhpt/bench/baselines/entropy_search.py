"""Freeze-Thaw Bayesian optimisation: entropy search on the asymptotes, over a basket of arms.

Notation:
    f    asymptotes, N(μ, C)       λ_a  information of the next unit of arm a on f_a
    A unit of arm a is, for f, a look at f_a with noise of variance 1/λ_a: its precision adds
    λ_a to C⁻¹ at arm a, whatever the losses are.
    M    contenders: the basket and the best finished arm

As its authors do, old arms and new ones enter the basket by the expected improvement of their
asymptote, and the unit with the most expected information about the minimiser is run. The budget
is not used.
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.mixture import Mixture
from bhpt.beliefs.freeze_thaw.posterior import Posterior
from bhpt.beliefs.interface import Belief
from bhpt.bench.baselines.expected_improvement import log_improvement
from bhpt.bench.baselines.minimiser_entropy import Outcomes, information_gains
from bhpt.domain import BoolArray, FloatArray, IntArray, View
from bhpt.policies.action_values import pick
from bhpt.policies.interface import Decision, Explanation

_OLD, _NEW = 10, 3  # the basket of Swersky, Snoek and Adams (2014)
_DRAWS = 1000  # of the asymptotes of the contenders
_NODES = 5  # imagined outcomes of a unit


@dataclass(frozen=True, eq=False)
class EntropySearch:
    """Runs the unit of the basket with the most expected information about the best asymptote."""

    belief: Belief

    def decide(self, view: View) -> Decision | None:
        """Fill the basket, then take the highest information gain."""
        if not view.choosable.any():
            return None
        mixture = self.belief.condition(view)
        rng = view.rng()
        basket, witness = fill_basket(view, scores(view, mixture), rng)
        contenders = np.concatenate([basket, witness])
        gains = np.average(
            [
                asymptote_gains(posterior, basket, contenders, view.unit, rng)
                for posterior in mixture.components
            ],
            axis=0,
            weights=mixture.weights,
        )
        values = np.full(view.arms, np.inf)
        values[basket] = -gains
        arm = pick(values, np.isfinite(values), rng)
        return Decision(arm, _explain(mixture, values, arm))


def scores(view: View, mixture: Mixture) -> FloatArray:
    """The log EI of every asymptote over the lowest expected one, averaged over settings, [K]."""
    seen = view.curves.visited
    rows = []
    for weight, posterior in zip(mixture.weights, mixture.components, strict=True):
        mean, variance = posterior.asymptotes.mean, posterior.asymptotes.variance
        best = float(mean[seen].min()) if seen.size else float(mean.min())
        if weight > 0:
            rows.append(np.log(weight) + log_improvement(mean, np.sqrt(variance), best))
    averaged: FloatArray = np.logaddexp.reduce(rows, axis=0)
    return averaged


def fill_basket(
    view: View, score: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Arms that may be run, and the best finished one (or none), which can only be compared."""
    fresh = view.curves.count_by_arm == 0
    old = _highest(score, view.choosable & ~fresh, _OLD, rng)
    new = _highest(score, view.choosable & fresh, _NEW, rng)
    witness = _highest(score, ~view.choosable & ~fresh, 1, rng)
    return np.concatenate([old, new]), witness


def _highest(
    score: FloatArray, allowed: BoolArray, count: int, rng: np.random.Generator
) -> IntArray:
    """The allowed arms of the highest scores, ties in random order."""
    arms = rng.permutation(np.flatnonzero(allowed))
    return arms[np.argsort(-score[arms], kind="stable")[:count]]


def asymptote_gains(
    posterior: Posterior,
    basket: IntArray,
    contenders: IntArray,
    unit: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Expected information of the next unit of each arm of the basket, [A]."""
    covariance = posterior.asymptotes.covariance(contenders, contenders)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    normal = rng.standard_normal((_DRAWS, len(contenders)))
    mean = posterior.asymptotes.mean[contenders]
    f = mean + normal @ root.T
    information = posterior.grid.information
    now = posterior.counts[basket]
    later = np.minimum(now + unit, posterior.grid.epochs)
    noise = 1 / np.maximum(information[later] - information[now], np.finfo(float).tiny ** 0.5)
    size = len(basket)  # the basket comes first among the contenders
    deviation = np.sqrt(covariance.diagonal()[:size] + noise)
    looks = Outcomes(
        draws=f[:, :size] + np.sqrt(noise) * rng.standard_normal((_DRAWS, size)),
        mean=mean[:size],
        deviation=deviation,
        gains=covariance[:size] / deviation[:, None] ** 2,
    )
    return information_gains(f, looks, _NODES)


def _explain(mixture: Mixture, values: FloatArray, arm: int) -> Explanation:
    mean = mixture.average(lambda c: c.asymptotes.mean)
    squared = mixture.average(lambda c: c.asymptotes.variance + (c.asymptotes.mean - mean) ** 2)
    deviation = np.sqrt(squared)
    end = mixture.scaled.loss(mean)
    spread = mixture.scaled.spread(mean, deviation)
    why = (
        f"Freeze-Thaw: a unit of arm {arm} is expected to tell {-values[arm]:.2g} nats about "
        f"which arm is best (its own asymptote: {end[arm]:.4g} ± {spread[arm]:.2g})"
    )
    return Explanation(why, end, spread, values)
