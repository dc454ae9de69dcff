"""Which tried arm would end best if it got all that is left, by its curve and its configuration.

A curve alone says little about its end. What a configuration usually does later does: a small rate
starts slowly and ends low, an arm with much regularisation gains late. So a network is told both,
the curves of the tried arms and the tokens of their hyper-parameters (`spaces.tokens`), and scores
each arm beside the others. The policy's network decides between a first look and going on; which
arm goes on is decided with these scores. `benchmarks.policy.finisher` trains it.

Notation:
    R  tried arms, N  hyper-parameters, F  numbers of a token, H  hidden units
    T  units of a full training, n_k  units of arm k, r_k  units that what is left buys it
    u_k(t) = q_k(t) / max q  improvement within t units, relative to the best of the study
"""

from bhpt.beliefs.learned.array_types import Array, Xp
from bhpt.beliefs.learned.network import Weights, smooth
from bhpt.beliefs.learned.past import at, clipped

MOST = 32
"""Arms that are compared at most: those that have come furthest."""
FEATURES = 30
"""Numbers that a curve is told as."""
LAYERS = 2
HEADS = 4
_BACK = 8  # last units whose gains are told
_LEAST = 1e-30  # an improvement, as a loss, counts from here on
_NEVER = -1e9


def curve_features(xp: Xp, q: Array, n: Array, r: Array, total: Array, seen: Array) -> Array:
    """What is told of each curve; nothing of it depends on what comes after n_k, [R, FEATURES].

    Args:
        xp: NumPy or JAX's twin of it.
        q: Improvements after each unit, best so far, at least 0, [R, T + 1].
        n: Units that each arm has had, at least 1 for tried ones, [R].
        r: Units that what is left would buy each arm, [R].
        total: T.
        seen: 1 for tried arms, 0 for padding, [R].
    """
    arms = len(n)
    ago = [xp.maximum(n - back, 0) for back in range(_BACK + 1)]
    early = [xp.minimum(n, 1), xp.maximum(n // 4, 1), xp.maximum(n // 2, 1)]
    shown = at(xp, q, xp.stack([*ago, *early])) * seen
    shown = shown / xp.maximum(shown[0].max(), _LEAST)
    now, gains = shown[0], shown[:_BACK] - shown[1 : _BACK + 1]
    gaps = xp.log10(xp.maximum(1.02 - xp.concatenate([shown[:1], shown[_BACK + 1 :]]), 1e-3))
    more = xp.minimum(r, total - n)
    columns = [
        now,
        now - now.max(),
        *shown[_BACK + 1 :],
        *gaps,
        *(3.0 * gains[:4]),
        *(xp.log(xp.maximum(gains, 0.0) + 1e-4) / 5.0),
        n / total,
        xp.log(xp.maximum(n, 1)) / 3.0,
        xp.log(more + 1.0) / 3.0,
        more / total,
        more / xp.maximum(n, 1) / 10.0,
        xp.log(xp.maximum(r, 1.0)) / 3.0,
        xp.log(1.0 * total) / 3.0 + xp.zeros(arms),
        seen.sum() / MOST + xp.zeros(arms),
        _share_better(xp, q, n, seen),
    ]
    return clipped(xp, -5.0, xp.stack(columns, axis=1), 5.0) * seen[:, None]


def _share_better(xp: Xp, q: Array, n: Array, seen: Array) -> Array:
    """The part of the arms with as many units that were better after them, [R]."""
    then = q[:, n]  # arm by row, after the units of the arm of the column
    there = (seen > 0)[:, None] & (n[:, None] >= n[None, :])
    better = there & (then > at(xp, q, n)[None, :])
    return better.sum(axis=0) / xp.maximum(there.sum(axis=0), 1)


def configurations(xp: Xp, weights: Weights, tokens: Array) -> Array:
    """What a configuration adds to what its curve tells, whatever the other arms are, [R, H].

    Args:
        xp: NumPy or JAX's twin of it.
        weights: Of the network.
        tokens: Of each arm, those that are absent zero, [R, N, F].
    """
    read = tokens @ weights["finisher_token"] + weights["finisher_token_bias"]
    return after_reading(xp, weights, read, tokens[:, :, :1])


def after_reading(xp: Xp, weights: Weights, read: Array, present: Array) -> Array:
    """The same from tokens after the first layer.

    Args:
        xp: NumPy or JAX's twin of it.
        weights: Of the network.
        read: Tokens times `finisher_token`, with its bias, [R, N, H].
        present: 1 for the tokens that an arm has, [R, N, 1].
    """
    read = smooth(xp, read) * present
    context = read.sum(axis=1) @ weights["finisher_context"]
    again = read @ weights["finisher_again"] + weights["finisher_again_bias"] + context[:, None, :]
    found: Array = (smooth(xp, again) * present).sum(axis=1) @ weights["finisher_configuration"]
    return found


def scores(xp: Xp, weights: Weights, curves: Array, configured: Array, seen: Array) -> Array:
    """Logarithm of the unnormalised chance that an arm is the one to go on with, [R].

    Args:
        xp: NumPy or JAX's twin of it.
        weights: Of the network.
        curves: What `curve_features` says, [R, FEATURES].
        configured: What `configurations` says, [R, H].
        seen: 1 for tried arms, 0 for padding, [R].
    """
    x = smooth(xp, curves @ weights["finisher_curve"] + weights["finisher_curve_bias"]) + configured
    for layer in range(LAYERS):
        x = x + _attention(xp, weights, layer, x, seen)
        inner = _normed(xp, x) @ weights[f"finisher_wide_{layer}"]
        inner = smooth(xp, inner + weights[f"finisher_wide_bias_{layer}"])
        x = x + inner @ weights[f"finisher_narrow_{layer}"]
    hidden = smooth(xp, x @ weights["finisher_hidden"] + weights["finisher_hidden_bias"])
    return xp.where(seen > 0, hidden @ weights["finisher_output"], _NEVER)


def _attention(xp: Xp, weights: Weights, layer: int, x: Array, seen: Array) -> Array:
    """What each arm takes from the others, [R, H]."""
    arms, size = x.shape
    made = (_normed(xp, x) @ weights[f"finisher_attend_{layer}"]).reshape(arms, 3, HEADS, -1)
    query, key, value = made.transpose(1, 2, 0, 3)  # each [HEADS, R, H / HEADS]
    match = query @ key.transpose(0, 2, 1) * (HEADS / size) ** 0.5 + (1.0 - seen) * _NEVER
    match = xp.exp(match - match.max(axis=-1, keepdims=True))
    taken = (match / match.sum(axis=-1, keepdims=True)) @ value
    return taken.transpose(1, 0, 2).reshape(arms, size) @ weights[f"finisher_joined_{layer}"]


def _normed(xp: Xp, x: Array) -> Array:
    """Each row with a mean square of one."""
    return x / xp.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5)
