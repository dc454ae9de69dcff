"""The choice of tuners that compare two densities, made among the unused arms.

Such a tuner draws candidates from a widened density of good configurations and takes the one with
the lowest ratio of the bad to the good density. Here the candidates are arms, drawn as often as
that density says, so that nothing has to be rounded to an arm afterwards.

Notation:
    A  unused arms, n  good configurations, D  features.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import truncnorm

if TYPE_CHECKING:
    from bhpt.bench.peers.adapters.serve import Session

_LEAST = 1e-32  # the packages' own floor of a density


def pick(session: "Session", good: Any, bad: Any, candidates: int, widening: float) -> int | None:
    """The best of `candidates` arms drawn from the good density; None when all have been used.

    Args:
        session: The run.
        good: Kernel density (`data` [n, D], `bw` [D], `pdf`) of the good configurations.
        bad: That of the others.
        candidates: How many are drawn.
        widening: What the good density's bandwidths are multiplied by to draw from it.
    """
    arms = session.unused()
    if not arms:
        return None
    points = np.array([session.points[arm] for arm in arms])
    weights = _widened(good, points, widening)
    drawn = set(session.random.choices(range(len(arms)), weights=weights.tolist(), k=candidates))

    def ratio(at: int) -> float:
        point = points[at]
        return float(max(_LEAST, float(bad.pdf(point))) / max(float(good.pdf(point)), _LEAST))

    return arms[min(sorted(drawn), key=ratio)]


def _widened(good: Any, points: Any, widening: float) -> Any:
    """How often each point would be drawn, up to a factor, [A]."""
    scale = widening * np.asarray(good.bw)
    low, high = -good.data / scale, (1 - good.data) / scale
    each = truncnorm.logpdf(points[:, None, :], low, high, loc=good.data, scale=scale)
    log_weights = logsumexp(np.sum(each, axis=-1), axis=1)
    return np.exp(log_weights - log_weights.max())
