"""Information about which arm is best: the entropy of the minimiser, now and after a look.

Notation:
    S  joint draws, M  contenders, A  looks that could be taken, Q  quadrature nodes
    f    values whose minimiser is sought, [S, M]      y_a  what look a would show, [S, A]
    g_a  Cov(f, y_a) / Var(y_a), [A, M]
Given y_a = v, a draw of f becomes a draw of f | v as f + g_a (v - y_a) (Matheron's rule), so one
set of joint draws serves every look and every imagined outcome; no covariance is refactorised.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from bhpt.domain import FloatArray, IntArray

_CHUNK = 100_000  # numbers that are moved at once: they stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What could be observed next.

    Attributes:
        draws: Joint draws of every look's outcome, noise included, [S, A].
        mean: Its predictive mean, [A].
        deviation: Its predictive standard deviation, [A].
        gains: g, how far the contenders move with it, [A, M].
    """

    draws: FloatArray
    mean: FloatArray
    deviation: FloatArray
    gains: FloatArray

    def some(self, at: slice) -> "Outcomes":
        """A part of the looks."""
        return Outcomes(self.draws[:, at], self.mean[at], self.deviation[at], self.gains[at])


def odds(winners: IntArray, contenders: int) -> FloatArray:
    """How often each contender wins, [A, M], from the winners of each draw, [A, S]."""
    rows, draws = winners.shape
    flat = (winners + contenders * np.arange(rows)[:, None]).ravel()
    counted = np.bincount(flat, minlength=rows * contenders).reshape(rows, contenders)
    frequencies: FloatArray = counted / draws
    return frequencies


def entropy(probabilities: FloatArray) -> FloatArray:
    """Entropy in nats along the last axis; 0 log 0 is 0."""
    some = probabilities > 0
    logs = np.log(np.where(some, probabilities, 1.0))
    total: FloatArray = -np.sum(probabilities * logs, axis=-1)
    return total


@cache
def gauss_hermite(nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of E g(Z) for a standard normal Z."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights /= weights.sum()
    for shared in (points, weights):
        shared.setflags(write=False)
    return points, weights


def information_gains(values: FloatArray, looks: Outcomes, nodes: int) -> FloatArray:
    """Expected fall of the minimiser's entropy by each look, [A]; Monte Carlo over `values`."""
    contenders = values.shape[1]
    now = float(entropy(odds(values.argmin(axis=1)[None, :], contenders))[0])
    step = max(1, _CHUNK // max(1, values.size))
    count = len(looks.mean)
    after = [
        _entropy_after(values, looks.some(slice(at, at + step)), nodes)
        for at in range(0, count, step)
    ]
    return now - np.concatenate(after)


def _entropy_after(values: FloatArray, looks: Outcomes, nodes: int) -> FloatArray:
    """E H(minimiser | outcome) for a few looks, [A]."""
    contenders = values.shape[1]
    # what is left of each draw once the outcome that it implies is taken out, [A, S, M]
    rest = values[None, :, :] - looks.draws.T[:, :, None] * looks.gains[:, None, :]
    points, weights = gauss_hermite(nodes)
    total = np.zeros(len(looks.mean))
    moved = np.empty_like(rest)  # one buffer: fresh memory would cost more than the sums
    for point, weight in zip(points, weights, strict=True):
        outcome = looks.mean + looks.deviation * point
        np.add(rest, (outcome[:, None] * looks.gains)[:, None, :], out=moved)
        total += weight * entropy(odds(moved.argmin(axis=2), contenders))
    return total
