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


def trunk(xp: Xp, weights: Weights, arms: Array, study: Array, exists: Array) -> Array:
    """A representation of each arm, [K, 2H], the last H of it the same for all."""
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
    context = smooth(xp, pooled @ weights["context"] + weights["context_bias"])
    out = smooth(
        xp,
        hidden @ weights["output"] + (context @ weights["output_context"] + weights["output_bias"]),
    )
    return xp.concatenate([out, xp.broadcast_to(context, out.shape)], axis=1)


def preferences(xp: Xp, weights: Weights, out: Array, can: Array) -> Array:
    """Logarithm of the unnormalised chance that an arm is run next, [K]."""
    raw = out[:, : weights["preference"].shape[0]] @ weights["preference"]
    return xp.where(can > 0, raw, _NEVER)


def histogram(weights: Weights, out: Array) -> Array:
    """Logarithms of unnormalised chances of each bin of further improvement, [K, bins]."""
    raw: Array = out[:, : weights["bins"].shape[0]] @ weights["bins"] + weights["bins_bias"]
    return raw
