"""What observed curves say of their shapes and ends, and of the study that they belong to.

Notation:
    m, s_f  mean and deviation of the arms' ends, relative to the start     A  size of the misfit
    θ       (m/A, log s_f/A, log A)
    κ       kind of study: how often each shape occurs in it, π_κ [G];  ϖ_κ  how often the kind does
    p(y_k | g, θ)  closed form: given its shape g a curve is Gaussian
    p(θ, κ | y) ∝ p(θ) ϖ_κ Π_k (Σ_g π_κg p(y_k | g, θ))^ω_k
    x_k     part of a full training that curve k shows;  ω_k = ω + (1 - ω) x_k, x* = max x,
            ω = min(1, (1.5 + 10 x*)/V)
    n, e    epochs of a curve; and how many of them count for its shape
    η = ϵ + (1 - ϵ) x_k, ϵ = min(1, e/n)  power of what a curve says of its shape:
            p(y | g) = p* (p(y | g) / p*)^η, with p* its density under the shape that fits best

A curve that stays where it started fits any A, so its epochs are taken in units of A.

The power ω_k: curves of one study differ from the model in the same direction, so that V of them
are not V independent witnesses. Without it a hundred first epochs decide between kinds of studies
that only later epochs can tell apart, and nine in ten intervals turn out too narrow. A curve that
was seen to its end counts in full: it says what first epochs only hint at.

The power η: epochs next to each other differ from every shape of the list in the same direction,
too. Without it six smooth epochs of three hundred are sure of one shape, whichever fits best by
chance, and so of an end far from all others. Here, too, a curve that was seen to its end counts in
full: what is left of it is little, and what it says of the shapes of the study is much.
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.shapes.grid import ShapeRows
from bhpt.beliefs.shapes.shapes import Shape
from bhpt.domain import BoolArray, FloatArray

_LOG_2PI = float(np.log(2 * np.pi))
_WITNESSES = 1.5  # first epochs of all curves of a study together count as so many curves at most
_MORE_WITNESSES = 10.0  # and so many more once one curve has been seen to its end
TELLING = 3.0  # e
_FARTHEST = 6.0  # prior deviations of θ that are looked at
_NO_WEIGHT = 1e-300
_STILL = 0.1  # deviation of the end of an arm that does not learn, as part of A
_UNLIKE = 0.3  # probability of a study like none that was learned from
_ALIKE = 0.7  # part of its arms that are of one decay, if they learn
_FAILING = 0.1  # part of its arms that do not


@dataclass(frozen=True, eq=False)
class ByShape:
    """Each row's curve under each shape.

    Attributes:
        log_density: log p(y_k | g), [V, G].
        mean: Mean of the end given the shape, relative to the start, [V, G].
        variance: Its variance, [V, G].
    """

    log_density: FloatArray
    mean: FloatArray
    variance: FloatArray

    def responsibilities(self, weights: FloatArray, changing: float = 0.0) -> FloatArray:
        """Probability of the shape in which each row goes on, [V, G].

        Args:
            weights: Prior probabilities of the shapes, [G] or [V, G].
            changing: c, the probability that a curve goes on in another shape than it began in,
                one that the prior says: (1 - c) w_g + c π_g.
        """
        log_joint = self.log_density + np.log(np.maximum(weights, _NO_WEIGHT))
        joint = np.exp(log_joint - log_joint.max(axis=1, keepdims=True))
        found: FloatArray = joint / joint.sum(axis=1, keepdims=True)
        return (1 - changing) * found + changing * weights


def end_priors(
    learns: BoolArray, size: float, mean: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of each arm's end under each shape, [V, G] twice.

    Args:
        learns: Which shapes are of arms that learn, [G].
        size: A.
        mean: Mean of each arm's end if it learns, relative to the start, [V].
        variance: Its variance, [V].
    """
    still = (_STILL * size) ** 2
    return learns * mean[:, None], learns * variance[:, None] + ~learns * still


def by_shape(
    rows: ShapeRows,
    size: float,
    mean: FloatArray,
    variance: FloatArray,
    telling: float = TELLING,
) -> ByShape:
    """Condition every row's end on its curve, under every shape.

    Args:
        rows: The curves.
        size: A.
        mean: Mean of each row's end before its own curve is seen, relative to the start, [V], or
            one for all rows, [1].
        variance: Its variance, [V] or [1].
        telling: e; infinite takes every epoch for what it is under the shape.
    """
    scale = 1 / size**2
    lam, gamma, cost = rows.information * scale, rows.gamma * scale, rows.cost * scale
    m, v = end_priors(rows.learns, size, mean, variance)
    grown = v * lam
    grown += 1
    after = v / grown
    residual = gamma - m * lam
    moved = after * residual
    gamma += residual
    gamma *= m
    cost -= gamma
    residual *= moved
    cost -= residual
    cost += np.log(grown)
    cost *= -0.5
    cost -= rows.log_diagonal
    cost -= (rows.moved * np.log(size) + rows.counts * (0.5 * _LOG_2PI))[:, None]
    return ByShape(_tempered(cost, rows, telling), m + moved, after)


def curve_densities(rows: ShapeRows, study: "StudySetting", shares: FloatArray) -> FloatArray:
    """Log p(y_k | θ, κ) of every row with all of its epochs counted in full, arms apart, [V].

    Args:
        rows: The curves.
        study: θ and κ.
        shares: π_κ, [G].
    """
    mean, variance = np.array([study.mean]), np.array([study.deviation**2])
    found = by_shape(rows, study.size, mean, variance, np.inf).log_density
    found += np.log(np.maximum(shares, _NO_WEIGHT))
    highest = found.max(axis=1, initial=-np.inf)
    together = highest + np.log(np.exp(found - highest[:, None]).sum(axis=1))
    density: FloatArray = together - (rows.counts - rows.moved) * np.log(study.size)
    return density


def _tempered(log_density: FloatArray, rows: ShapeRows, telling: float) -> FloatArray:
    """The same log densities, changed in place: what tells shapes apart to the power η, [V, G]."""
    if np.isinf(telling):
        return log_density
    best = log_density.max(axis=1, keepdims=True)
    power = rows.telling_powers(telling)[:, None]
    log_density -= best
    log_density *= power
    log_density += best
    return log_density


def witness_powers(parts: FloatArray) -> FloatArray:
    """ω_k of every row, [V], from x, [V]."""
    witnesses = _WITNESSES + _MORE_WITNESSES * float(parts.max(initial=0.0))
    least = min(1.0, witnesses / max(1, len(parts)))
    powers: FloatArray = least + (1 - least) * parts
    return powers


@dataclass(frozen=True, eq=False)
class StudyPrior:
    """What is known of studies before the first report.

    Attributes:
        kinds: π_κ, [M, G].
        shares: ϖ_κ, [M].
        centre: Prior mean of θ, [3].
        spread: Prior deviation of θ, [3].
    """

    kinds: FloatArray
    shares: FloatArray
    centre: FloatArray
    spread: FloatArray


def with_unlike(prior: StudyPrior, shapes: tuple[Shape, ...]) -> StudyPrior:
    """The prior with kinds for a study like none that it was learned from.

    Its arms are alike all the same: most are of one decay, whichever it is, and the others of any.
    """
    decays = sorted({(shape.curvature, shape.time) for shape in shapes if shape.learns})
    learns = np.array([shape.learns for shape in shapes])
    even, still = learns / learns.sum(), ~learns / max(1, (~learns).sum())
    kinds = []
    for decay in decays:
        same = np.array([s.learns and (s.curvature, s.time) == decay for s in shapes], float)
        kinds.append((1 - _FAILING) * (_ALIKE * same / same.sum() + (1 - _ALIKE) * even))
    kinds = [kind + _FAILING * still for kind in kinds]
    shares = np.full(len(decays), _UNLIKE / len(decays))
    return StudyPrior(
        np.vstack([prior.kinds, *kinds]),
        np.append((1 - _UNLIKE) * prior.shares, shares),
        prior.centre,
        prior.spread,
    )


@dataclass(frozen=True)
class StudySetting:
    """θ in natural units, and the kind of the study.

    Attributes:
        mean: m.
        deviation: s_f.
        size: A.
        kind: κ.
    """

    mean: float
    deviation: float
    size: float
    kind: int

    @classmethod
    def of(cls, theta: FloatArray, kind: int) -> "StudySetting":
        """The setting that a vector θ stands for."""
        size = float(np.exp(theta[2]))
        return cls(float(theta[0]) * size, float(np.exp(theta[1])) * size, size, kind)


class StudyTarget:
    """p(θ, κ | y) up to a constant, for observed rows."""

    def __init__(
        self,
        prior: StudyPrior,
        rows: ShapeRows,
        powers: FloatArray,
        telling: float = TELLING,
    ) -> None:
        """Take the curves of a study, ω_k of each, [V], and e."""
        self._prior = prior
        self._rows = rows
        self._powers = powers
        self._telling = telling
        self._log_shares = np.log(prior.shares)

    def __call__(self, theta: FloatArray) -> float:
        """Log density of θ, all kinds together."""
        apart = (theta - self._prior.centre) / self._prior.spread
        if np.abs(apart).max() > _FARTHEST:
            return -np.inf
        kinds = self.kinds(theta)
        highest = float(kinds.max())
        together = highest + float(np.log(np.exp(kinds - highest).sum()))
        return together - 0.5 * float(apart @ apart)

    def kinds(self, theta: FloatArray) -> FloatArray:
        """Log weight of every kind given θ, prior of θ aside, [M]."""
        setting = StudySetting.of(theta, 0)
        mean, variance = np.array([setting.mean]), np.array([setting.deviation**2])
        seen = by_shape(self._rows, setting.size, mean, variance, self._telling).log_density
        highest = seen.max(axis=1, initial=-np.inf)
        relative = np.exp(seen - highest[:, None])
        by_kind = np.log(np.maximum(relative @ self._prior.kinds.T, _NO_WEIGHT))
        weighted: FloatArray = self._powers @ (by_kind + highest[:, None]) + self._log_shares
        return weighted
