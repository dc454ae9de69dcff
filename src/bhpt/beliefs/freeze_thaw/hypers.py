"""Hyper-parameters of the Freeze-Thaw Gaussian process, their vector form and their priors.

Notation (algorithm and paper):
    m       mean of the asymptotes             s_f   their standard deviation
    ρ       share of it that configurations explain   ℓ_d   length-scale of feature d
    α, β    shape and time-scale of the decay  s     its standard deviation at epoch 0
    σ       standard deviation of the noise
    θ       unconstrained vector (log s_f, log α, log β, log s, log σ [, log ℓ_1.., logit ρ])
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from bhpt.domain import FloatArray, Misuse

Kernel = Literal["none", "se", "matern52"]
DECAY = slice(1, 5)  # entries of θ that change the T×T factorisation: α, β, s, σ
AMPLITUDE_AND_DECAY = 5  # entries of θ before those of the correlation


@dataclass(frozen=True)
class Structure:
    """Which Freeze-Thaw model: what is fixed before any number is known.

    Attributes:
        kernel: Correlation between arms: "none" (independent), "se" or "matern52" with one
            length-scale a feature.
        anchored: Whether all curves start at one known value and decay from it.
    """

    kernel: Kernel = "none"
    anchored: bool = True

    def __post_init__(self) -> None:
        """Refuse unknown kernels."""
        if self.kernel not in ("none", "se", "matern52"):
            raise Misuse(f"unknown kernel {self.kernel!r}: use none, se or matern52")

    @property
    def correlated(self) -> bool:
        """Whether arms inform each other through their configurations."""
        return self.kernel != "none"

    def size(self, features: int) -> int:
        """Length of θ."""
        return AMPLITUDE_AND_DECAY + (features + 1 if self.correlated else 0)


@dataclass(frozen=True)
class Hypers:
    """One setting of all hyper-parameters, in their natural units."""

    mean: float
    amplitude: float
    alpha: float
    beta: float
    magnitude: float
    noise: float
    lengths: tuple[float, ...] = ()
    rho: float = 1.0

    @classmethod
    def from_theta(cls, theta: FloatArray, mean: float) -> "Hypers":
        """The setting that a vector θ and a mean stand for."""
        amplitude, alpha, beta, magnitude, noise = np.exp(theta[:AMPLITUDE_AND_DECAY]).tolist()
        if len(theta) == AMPLITUDE_AND_DECAY:
            return cls(mean, amplitude, alpha, beta, magnitude, noise)
        lengths = tuple(np.exp(theta[AMPLITUDE_AND_DECAY:-1]).tolist())
        rho = float(1 / (1 + np.exp(-theta[-1])))
        return cls(mean, amplitude, alpha, beta, magnitude, noise, lengths, rho)


@dataclass(frozen=True)
class LogNormal:
    """A positive quantity known up to a factor."""

    median: float
    log_sd: float


@dataclass(frozen=True)
class Priors:
    """Prior of the hyper-parameters before the first observation.

    The units are those of a scaled curve, whose untrained value is 0 (log) or 1 (linear).
    `mean` is normal and integrated out; `logit_rho` is normal; all others are log-normal.
    """

    mean: tuple[float, float] = (-1.0, 0.7)
    amplitude: LogNormal = LogNormal(0.5, 0.6)
    alpha: LogNormal = LogNormal(0.7, 0.6)
    beta: LogNormal = LogNormal(1.2, 0.8)
    magnitude: LogNormal = LogNormal(1.2, 0.8)
    noise: LogNormal = LogNormal(0.01, 0.8)
    length: LogNormal = LogNormal(1.0, 1.0)
    logit_rho: tuple[float, float] = (0.0, 1.0)

    def moments(self, structure: Structure, features: int) -> tuple[FloatArray, FloatArray]:
        """Prior mean and standard deviation of θ."""
        chain = [self.amplitude, self.alpha, self.beta, self.magnitude, self.noise]
        if structure.correlated:
            chain += [self.length] * features
        centre = [float(np.log(p.median)) for p in chain]
        spread = [p.log_sd for p in chain]
        if structure.correlated:
            centre.append(self.logit_rho[0])
            spread.append(self.logit_rho[1])
        return np.array(centre), np.array(spread)


LOG_PRIORS = Priors()
LINEAR_PRIORS = Priors(  # vague: what a person would say who has seen no curve yet
    mean=(0.4, 0.4),
    amplitude=LogNormal(0.2, 0.8),
    alpha=LogNormal(1.0, 0.7),
    beta=LogNormal(2.0, 1.2),
    magnitude=LogNormal(0.4, 0.8),
    noise=LogNormal(0.003, 2.0),
    length=LogNormal(0.5, 1.0),
    logit_rho=(1.5, 2.0),
)


_LONG = 400  # reports: a longer chain of fits is broken off every few fits
_CHAIN = 4  # of the steps by which reports grow from fit to fit


@dataclass(frozen=True)
class Sampling:
    """How θ is slice sampled.

    Attributes:
        samples: Settings that predictions and values are averaged over.
        burn: Sweeps before the first sample of the first fit.
        warm: Sweeps before the first sample of a later fit, which starts from the last one.
        thin: Sweeps between samples.
        step: Width of a slice's first bracket.
        outs: Most steps out on each side.
        always: Refit at every report up to this many ...
        growth: ... and then each time that the reports have grown by this factor.
    """

    samples: int = 4
    burn: int = 10
    warm: int = 3
    thin: int = 2
    step: float = 0.5
    outs: int = 10
    always: int = 10
    growth: float = 1.2

    def last_fit(self, reports: int) -> int:
        """The latest moment, counted in reports, at which the schedule asks for a fit."""
        at = min(reports, self.always)
        while True:
            following = max(at + 1, int(np.ceil(at * self.growth)))
            if at < self.always or following > reports:
                return at
            at = following

    def starts_anew(self, reports: int) -> bool:
        """Whether the fit at this moment of the schedule follows from no earlier one.

        Every few fits of a long study do, so that one that is resumed, or looked at by other
        arms than before, needs few of them.
        """
        if reports == 1:
            return True
        steps = int(np.log(reports) / np.log(self.growth))
        return reports > _LONG and steps % _CHAIN == 0


@dataclass(frozen=True)
class Unknown:
    """Hyper-parameters to be inferred from the curves themselves.

    Attributes:
        priors: Their priors.
        sampling: How they are sampled.
        second_opinion: Whether the prior itself stays in the mixture, with the weight that the
            rule of succession gives to an arm unlike all those seen so far.
    """

    priors: Priors = field(default_factory=Priors)
    sampling: Sampling = field(default_factory=Sampling)
    second_opinion: bool = False
