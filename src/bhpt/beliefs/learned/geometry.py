"""How the configurations of a study lie: what the networks know of arms before any is trained.

Configurations enter through distances alone, so no column of a search space means anything by its
place. Beside them stand opinions of each arm by its names (`name_opinions`).

Notation:
    K  arms, D  columns of encoded configurations
"""

from dataclasses import dataclass
from typing import NamedTuple

from bhpt.beliefs.learned.array_types import Array, Xp
from bhpt.beliefs.learned.schema import OPINION_NAMES

_TINY = 1e-9
_NEAR = (0.4, 0.8)  # widths of the two neighbourhoods, in median distances
_ADDITIVE_WIDTH = 0.3
_CONSTANT = 4.0  # prior variance of the level that all arms share
_AGREES = 0.15  # prior variance of how much an opinion tells of what arms show
UNSURE = 0.02  # opinions that differ by less are none
OPINIONS = len(OPINION_NAMES)  # scores of each arm by its names: see `name_opinions`


class Layout(NamedTuple):
    """How configurations lie.

    Attributes:
        near: Weights of neighbours by width, without an arm's own, [2, K, K].
        prior: Prior covariance of what arms are like, before names count, [K, K].
    """

    near: Array
    prior: Array


@dataclass(frozen=True, eq=False)
class Geometry:
    """What the configurations alone decide; the same for a whole study.

    Attributes:
        near: Weights of neighbours by width, without an arm's own, [2, K, K].
        prior: Prior covariance of what arms are like, [K, K].
        opinion: What is expected of each arm beside the others, and how unsure that is,
            [K, OPINIONS].
        standard: The first opinion in its own standard deviations, [K].
        certainty: How far the first opinion tells arms apart, its standard deviation.
    """

    near: Array
    prior: Array
    opinion: Array
    standard: Array
    certainty: Array


def geometry(xp: Xp, x: Array, exists: Array, used: Array, opinions: Array) -> Geometry:
    """Neighbourhoods of configurations, and opinions of them.

    Args:
        xp: NumPy or JAX's twin of it.
        x: Encoded configurations, [K, D].
        exists: 1 for arms, 0 for padding, [K].
        used: 1 for columns that hold a feature, 0 for padding, [D].
        opinions: Of each arm, 0 where there are none, [K, OPINIONS].
    """
    return with_opinions(xp, layout(xp, x, exists, used), exists, opinions)


def layout(xp: Xp, x: Array, exists: Array, used: Array, additive: Array | None = None) -> Layout:
    """How configurations lie, without opinions of them.

    Args:
        xp: NumPy or JAX's twin of it.
        x: Encoded configurations, [K, D].
        exists: 1 for arms, 0 for padding, [K].
        used: 1 for columns that hold a feature, 0 for padding, [D].
        additive: `likeness_by_column` of these configurations, if it is there already, [K, K].
    """
    x = x * used
    pairs = exists[:, None] * exists[None, :] * (1.0 - xp.eye(len(x)))
    norm = (x * x).sum(axis=1)
    squared = xp.maximum(norm[:, None] + norm[None, :] - 2.0 * x @ x.T, 0.0)
    scale = (squared * pairs).sum() / xp.maximum(pairs.sum(), 1.0) + _TINY
    relative = squared / scale
    like = [xp.exp(-relative / width**2) for width in _NEAR]
    near = xp.stack([one * pairs for one in like])
    alone = likeness_by_column(xp, x, x, used) if additive is None else additive
    prior = _CONSTANT + 0.5 * alone + 0.5 * like[1]
    return Layout(near, prior)


def likeness_by_column(xp: Xp, x: Array, others: Array, used: Array) -> Array:
    """How alike configurations are in a column, in the mean of all columns, [K, L].

    Args:
        xp: NumPy or JAX's twin of it.
        x: Encoded configurations, [K, D].
        others: With which they are compared, [L, D].
        used: 1 for columns that hold a feature, 0 for padding, [D].
    """
    alone = xp.zeros((len(x), len(others)))
    for column in range(x.shape[1]):
        apart = (x[:, None, column] - others[None, :, column]) / _ADDITIVE_WIDTH
        alone = alone + used[column] * xp.exp(-0.5 * apart**2)
    return alone / xp.maximum(used.sum(), 1.0)


def with_opinions(xp: Xp, lie: Layout, exists: Array, opinions: Array) -> Geometry:
    """Configurations with opinions of them; the arguments are those of `geometry`."""
    count = xp.maximum(exists.sum(), 1.0)
    expected = opinions[:, :-1]
    expected = (expected - (expected * exists[:, None]).sum(axis=0) / count) * exists[:, None]
    opinion = xp.concatenate([expected, opinions[:, -1:] * exists[:, None]], axis=1)
    certainty = xp.sqrt((opinion[:, 0] ** 2).sum() / count)
    standard = opinion[:, 0] / (certainty + UNSURE)
    prior = lie.prior + _AGREES * standard[:, None] * standard[None, :]
    return Geometry(lie.near, prior, opinion, standard, certainty)
