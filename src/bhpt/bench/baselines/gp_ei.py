"""Bayesian optimisation as the paper's BO: a Gaussian process on finished arms, and EI.

Notation:
    F  finished arms, U  untried arms, K  all arms, D  features
    ℓ(x) ~ GP(m, s_0² + s_f² k(x, x')), seen with noise σ; k Matérn 5/2, one length-scale a feature
    θ = (log s_f, log σ, log λ_1 .. log λ_D), slice sampled; EI is averaged over the samples
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.hypers import Hypers, Kernel, Structure
from bhpt.beliefs.freeze_thaw.kernels import correlation
from bhpt.bench.baselines.expected_improvement import improvement
from bhpt.bench.baselines.regression import draw_settings, log_evidence, regress
from bhpt.bench.baselines.to_the_end import Finished, untried
from bhpt.domain import FloatArray, IntArray, View
from bhpt.policies.action_values import pick
from bhpt.policies.interface import Decision, Explanation

_SAMPLES = 8
_CENTRE = (0.0, float(np.log(0.1)), 0.0)  # medians of s_f, σ, λ where losses have unit spread
_SPREAD = (0.7, 1.0, 1.0)  # standard deviations of their logarithms


@dataclass(frozen=True)
class Landscape:
    """Prior of the final loss over the configurations, in the scale of the losses.

    Attributes:
        kernel: Which correlation.
        mean: m.
        mean_sd: s_0, how well m is known; 0 if it is given.
        amplitude: s_f.
        noise: σ.
        lengths: λ, one a feature.
    """

    kernel: Kernel
    mean: float
    mean_sd: float
    amplitude: float
    noise: float
    lengths: tuple[float, ...]

    def covariance(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Prior covariance of the final losses, noise apart, [A, B]."""
        shared = correlation(self.kernel, self.lengths, left, right)
        return self.mean_sd**2 + self.amplitude**2 * shared

    def noisy(self, points: FloatArray) -> FloatArray:
        """Covariance of what is seen at the points, [F, F]."""
        return self.covariance(points, points) + self.noise**2 * np.eye(len(points))


def drawn_landscape(structure: Structure, hypers: Hypers) -> Callable[[View], Landscape]:
    """The prior of the last epoch's loss where curves were drawn from a Freeze-Thaw model.

    What configurations do not explain, and what is left of the decay, is noise to this model.
    """

    def landscape(view: View) -> Landscape:
        last = view.curves.epochs
        left = (hypers.beta / (last + hypers.beta)) ** hypers.alpha if structure.anchored else 0.0
        open_ = (hypers.beta / (2 * last + hypers.beta)) ** hypers.alpha - left**2
        start = 0.0 if view.untrained is None else view.untrained
        own = (1 - hypers.rho) * hypers.amplitude**2 * (1 - left) ** 2
        return Landscape(
            kernel=structure.kernel,
            mean=left * start + (1 - left) * hypers.mean,
            mean_sd=0.0,
            amplitude=(1 - left) * hypers.amplitude * float(np.sqrt(hypers.rho)),
            noise=float(np.sqrt(own + hypers.magnitude**2 * open_ + hypers.noise**2)),
            lengths=hypers.lengths,
        )

    return landscape


def predict(
    prior: Landscape, seen: FloatArray, losses: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the final loss at points, [M], from losses [F] at `seen`."""
    shift, reduction = regress(
        prior.noisy(seen), prior.covariance(seen, points), losses - prior.mean
    )
    before = prior.mean_sd**2 + prior.amplitude**2
    variance = before - np.einsum("fm,fm->m", reduction, reduction)
    return prior.mean + shift, np.sqrt(np.maximum(variance, 0.0))


def sampled(seen: FloatArray, losses: FloatArray, rng: np.random.Generator) -> list[Landscape]:
    """Priors drawn from their posterior given the finished arms."""
    centre = np.array([_CENTRE[0], _CENTRE[1], *[_CENTRE[2]] * seen.shape[1]])
    spread = np.array([_SPREAD[0], _SPREAD[1], *[_SPREAD[2]] * seen.shape[1]])
    middle, height = float(losses.mean()), float(losses.std()) or 1.0

    def landscape(theta: FloatArray) -> Landscape:
        amplitude, noise, *lengths = np.exp(theta).tolist()
        return Landscape(
            "matern52", middle, height, height * amplitude, height * noise, tuple(lengths)
        )

    def log_density(theta: FloatArray) -> float:
        away = (theta - centre) / spread
        evidence = log_evidence(landscape(theta).noisy(seen), losses - middle)
        return evidence - 0.5 * float(away @ away)

    drawn = draw_settings(log_density, centre, rng, samples=_SAMPLES)
    return [landscape(theta) for theta in drawn]


@dataclass(frozen=True, eq=False)
class GpEi:
    """Chooses the untried arm of the highest expected improvement.

    Attributes:
        known: The prior where it is known, as on drawn data; None to infer it.
    """

    known: Callable[[View], Landscape] | None = None

    def choose(self, view: View, finished: Finished) -> Decision:
        """The arm of the highest EI, or any arm while nothing is finished."""
        rng = view.rng()
        arms = untried(view)
        if not len(finished.arms):
            why = "GP-EI: nothing is known yet, any arm"
            return Decision(int(rng.choice(arms)), Explanation.in_words(why, view.arms))
        seen = view.features[finished.arms]
        priors = [self.known(view)] if self.known else sampled(seen, finished.losses, rng)
        best = float(finished.losses.min())
        predicted = [predict(p, seen, finished.losses, view.features) for p in priors]
        return _highest(view, arms, best, np.array(predicted), rng)


def _highest(
    view: View, arms: IntArray, best: float, predicted: FloatArray, rng: np.random.Generator
) -> Decision:
    """The untried arm of the highest EI averaged over predictions [P, 2, K]."""
    means, deviations = predicted[:, 0], predicted[:, 1]
    gained = improvement(means, deviations, best).mean(axis=0)
    allowed = np.zeros(view.arms, bool)
    allowed[arms] = True
    unit = gained[arms].max() or 1.0  # ties are judged relative to the largest
    arm = pick(-gained / unit, allowed, rng)
    spread = np.sqrt(np.mean(deviations**2, axis=0) + np.var(means, axis=0))
    end = means.mean(axis=0)
    why = f"GP-EI: predicted {end[arm]:.4g} ± {spread[arm]:.2g}, best of the untried"
    return Decision(arm, Explanation(why, end, spread, np.where(allowed, best - gained, np.inf)))
