"""The networks: a representation of each arm, given all of them, and the outputs read off it.

Notation:
    K  arms, F  features of an arm, G  features of the study, H  hidden units.
"""

from collections.abc import Mapping

from bhpt.beliefs.learned.array_types import Array, Xp
from bhpt.beliefs.learned.schema import BINS, arm_column

Weights = Mapping[str, Array]

_NEVER = -1e9
_TRIED, _IS_BEST, _LOG_HORIZON = map(arm_column, ("tried", "is_best", "log_horizon"))
# Bins of further improvement, in units of the best improvement so far: none, then by factors.
EDGES = tuple(10 ** (-4 + 4.3 * i / 40) for i in range(BINS - 1))


def smooth(xp: Xp, x: Array) -> Array:
    """A smooth rectifier, x · σ(1.7 x)."""
    return x / (1.0 + xp.exp(-1.7 * xp.maximum(x, -20.0)))


def trunk(
    xp: Xp, weights: Weights, arms: Array, study: Array, exists: Array
) -> tuple[Array, Array]:
    """Hidden units of each arm, [K, H], and what all arms together are like, [H]."""
    exists = exists.astype(arms.dtype)
    seen = exists * arms[:, _TRIED]
    leader = (arms[:, _IS_BEST] * (1.0 + arms[:, _LOG_HORIZON])).argmax()
    shared = xp.concatenate([study, arms[leader]])
    hidden = smooth(
        xp, arms @ weights["arm_input"] + (shared @ weights["shared_input"] + weights["input_bias"])
    )
    hidden = smooth(xp, hidden @ weights["hidden"] + weights["hidden_bias"])
    tried, inside = seen[:, None] * hidden, exists[:, None] * hidden
    pooled = xp.concatenate(
        [
            tried.sum(axis=0) / (seen.sum() + 1.0),
            tried.max(axis=0),
            inside.sum(axis=0) / (exists.sum() + 1.0),
            shared,
        ]
    )
    return hidden, smooth(xp, pooled @ weights["context"] + weights["context_bias"])


def outputs(xp: Xp, weights: Weights, hidden: Array, context: Array) -> Array:
    """A representation of some arms, each by itself, [A, H].

    Args:
        xp: NumPy or JAX's twin of it.
        weights: Of the network.
        hidden: What `trunk` says of these arms, [A, H].
        context: And of all together, [H].
    """
    shared = context @ weights["output_context"] + weights["output_bias"]
    return smooth(xp, hidden @ weights["output"] + shared)


def preferences(xp: Xp, weights: Weights, out: Array, can: Array) -> Array:
    """Logarithm of the unnormalised chance that an arm is run next, [K]."""
    return xp.where(can > 0, out @ weights["preference"], _NEVER)


def histogram(weights: Weights, out: Array) -> Array:
    """Logarithms of unnormalised chances of each bin of further improvement, [K, bins]."""
    raw: Array = out @ weights["bins"] + weights["bins_bias"]
    return raw
