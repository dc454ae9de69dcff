"""Shapes: how a learning curve comes from its start to its end, each with a misfit of its own.

A shape is a decay (α, β) of Freeze-Thaw, seen between the start of a curve and its last epoch: f is
the value that the arm ends at when it is trained in full, whatever its shape, so that ends of arms
of different shapes can be compared.

Notation:
    T     epochs of a full training          x = t/T  part of it, in (0, 1]
    h(x)  load of the end: (1 - (1 + x/β)^-α) / (1 - (1 + 1/β)^-α), from h(0) = 0 to h(1) = 1;
          a logarithm for α = 0, a straight line for α = -1
    y(t)  = ℓ_0 + h(t/T) (f - ℓ_0) + A (s g(t) + b w(t) + σ ε(t))
    g     smooth misfit: a Gaussian process of h, zero at both ends of the curve, variance 1 midway
    w     rough misfit: a Brownian bridge of h       ε  noise
    A     size of misfit and noise in a study, in units of the scaled losses
    f     ~ N(m, s_f²) for an arm that learns, N(ℓ_0, (A/10)²) for one that does not
The smooth part says that the curve is of no shape of the list; the rough part and the noise say how
far single epochs are off. They are told apart because only the first misleads in the long run.
"""

from dataclasses import dataclass

import numpy as np

from bhpt.beliefs.freeze_thaw.grid import Factor
from bhpt.beliefs.triangular import cholesky, solve_lower
from bhpt.domain import FloatArray, IntArray

_SMOOTH = 0.35  # length of the smooth misfit as part of the way from start to end
_STRAIGHT = 1e-9  # curvatures nearer to zero than this are a logarithm
_ALL = 32  # epochs that are always kept
_MOST = 96  # epochs kept of a long training


@dataclass(frozen=True)
class Shape:
    """One way from start to end.

    Attributes:
        curvature: α.
        time: β, as part of a full training.
        misfit: s.
        roughness: b.
        noise: σ.
        learns: Whether the arm's end is one of those that arms of the study have; else it ends
            about where it started, because it learns nothing or diverges.
    """

    curvature: float
    time: float
    misfit: float
    roughness: float
    noise: float
    learns: bool = True

    def load(self, part: FloatArray) -> FloatArray:
        """H at parts of the training, of the same shape."""
        grown: FloatArray = _grown(part, self) / _grown(np.ones(1), self)[0]
        return grown

    def covariance(self, load: FloatArray) -> FloatArray:
        """Covariance of misfit and noise at epochs with these loads, for A = 1, [N, N]."""
        bridge = np.minimum(load[:, None], load) - load[:, None] * load
        covariance = self.misfit**2 * _pinned(load) + self.roughness**2 * bridge
        covariance[np.diag_indices(len(load))] += self.noise**2
        return covariance

    def factorise(self, epochs: IntArray, full: int, start: float) -> Factor:
        """The factorised grid of some epochs of a training of `full`; values decay from `start`."""
        load = self.load(epochs / full)
        lower = cholesky(self.covariance(load))
        return Factor(lower, np.full(len(load), start), load, solve_lower(lower, load))


def _grown(part: FloatArray, shape: Shape) -> FloatArray:
    stretched: FloatArray = np.log1p(part / shape.time)
    if abs(shape.curvature) < _STRAIGHT:
        return stretched
    grown: FloatArray = -np.expm1(-shape.curvature * stretched) / shape.curvature
    return grown


def _pinned(load: FloatArray) -> FloatArray:
    """Covariance of a smooth process that is zero at loads 0 and 1, variance 1 at ½, [N, N]."""
    places = np.concatenate([[0.0, 1.0, 0.5], load])
    plain = np.exp(-0.5 * ((places[:, None] - places) / _SMOOTH) ** 2)
    gain = np.linalg.solve(plain[:2, :2], plain[:2])
    left = plain - plain[:, :2] @ gain
    pinned: FloatArray = left[3:, 3:] / left[2, 2]
    return pinned


def kept_epochs(full: int) -> IntArray:
    """Epochs that the belief looks at, in order: all of a short training, ever fewer of a long one.

    The last one is always among them, and a factorisation stays small however long trainings are.
    """
    if full <= _MOST:
        return np.arange(1, full + 1)
    spread = np.geomspace(_ALL, full, _MOST - _ALL + 1)[1:]
    late = np.ceil(np.maximum(spread, _ALL + np.arange(1, len(spread) + 1)))
    return np.concatenate([np.arange(1, _ALL + 1), np.minimum(late, full).astype(np.int64)])
