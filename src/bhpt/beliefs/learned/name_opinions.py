"""Scores of configurations by their hyper-parameters' names, values and ranges, before training.

A few small networks read a configuration as a set of tokens, one for each hyper-parameter
(`spaces.tokens`), and say how its training would rank among those of other configurations of the
study. A token is read in the light of the others, since the same learning rate means something else
beside `max_depth` than beside `momentum`. Their mean is an opinion about each arm, relative to the
other arms; it is zero where nothing tells arms apart.

Notation:
    K  arms, N  hyper-parameters, F  numbers of a token, E  networks, H  hidden units
"""

from bhpt.beliefs.learned.array_types import Array, Xp
from bhpt.beliefs.learned.network import Weights, smooth

_TINY = 1e-12  # a root has no slope at zero


def opinions(xp: Xp, weights: Weights, tokens: Array) -> Array:
    """Opinions about each arm, 0 where nothing is known about it, [K, OPINIONS].

    The columns (`schema.OPINION_NAMES`): its expected rank at its end among the other arms, from
    -1/2 to 1/2; how likely it is to be among the very best; its expected rank early on; and the
    standard deviation over networks of the first.

    Args:
        xp: NumPy or JAX's twin of it.
        weights: Of all networks, stacked along their first axis.
        tokens: Of each arm, those that are absent zero, [K, N, F].
    """
    return relative(xp, scores(xp, weights, tokens), has_tokens(tokens))


def scores(xp: Xp, weights: Weights, tokens: Array) -> Array:
    """What each network says of each arm, whatever the other arms are, [E, K, OPINIONS - 1]."""
    arms, names, size = tokens.shape
    read = _layer(weights, "reader_token", tokens.reshape(arms * names, size))
    return _scores_after_reading(
        xp, weights, read.reshape(len(read), arms, names, -1), tokens[:, :, :1]
    )


def has_tokens(tokens: Array) -> Array:
    """Whether anything is known of each arm, [K]."""
    return tokens[:, :, :1].sum(axis=(1, 2)) > 0


def opinions_after_reading(xp: Xp, weights: Weights, read: Array, present: Array) -> Array:
    """Opinions about each arm from its tokens after the first layer, [K, OPINIONS].

    Args:
        xp: NumPy or JAX's twin of it.
        weights: Of all networks, stacked along their first axis.
        read: Tokens times `reader_token`, with its bias, [E, K, N, H].
        present: 1 for the tokens that an arm has, [K, N, 1].
    """
    return relative(
        xp, _scores_after_reading(xp, weights, read, present), present.sum(axis=(1, 2)) > 0
    )


def _scores_after_reading(xp: Xp, weights: Weights, read: Array, present: Array) -> Array:
    networks, arms, names, _ = read.shape
    read = smooth(xp, read) * present
    context = read.sum(axis=2) @ weights["reader_context"]  # [E, K, H]
    again = _layer(weights, "reader_again", read.reshape(networks, arms * names, -1))
    again = again.reshape(networks, arms, names, -1) + context[:, :, None, :]
    again = (smooth(xp, again) * present).sum(axis=2)
    hidden = smooth(xp, _layer(weights, "reader_hidden", again))
    return hidden @ weights["reader_output"]


def relative(xp: Xp, scored: Array, known: Array) -> Array:
    """Opinions about some arms among each other, from what each network says of them.

    Args:
        xp: NumPy or JAX's twin of it.
        scored: What `scores` says of them, [E, K, OPINIONS - 1].
        known: Whether anything is known of each, [K].
    """
    scored = scored - scored.mean(axis=1, keepdims=True)
    spread = xp.mean((scored[:, :, 0] - scored[:, :, 0].mean(axis=0)) ** 2, axis=0)
    spread = xp.sqrt(spread + _TINY)
    found = xp.concatenate([scored.mean(axis=0), spread[:, None]], axis=1)
    return found * known[:, None]


def _layer(weights: Weights, name: str, inputs: Array) -> Array:
    """One linear layer of all networks, [E, .., outputs]."""
    return inputs @ weights[name] + weights[f"{name}_bias"][:, None, :]
