"""Scores of configurations by the names of their hyper-parameters, before anything is trained.

A few small networks were trained to predict, from learning rates, momenta, widths and the like
(`spaces.encode_roles`), how trainings rank among others of their task. Their mean is an opinion
about each arm of a study, relative to its other arms. The policy gets it as features beside the
curves, together with how well it has agreed with them so far. Where no name is known there is none.

Notation:
    K  arms, M  roles, E  networks, H  hidden units
"""

from bhpt.beliefs.learned.features import Array, Xp
from bhpt.beliefs.learned.network import Weights, smooth

_TINY = 1e-12  # a root has no slope at zero


def opinions(xp: Xp, weights: Weights, meanings: Array) -> Array:
    """Scores of each arm, 0 where nothing is known about it, [K, OPINIONS].

    The columns (`schema.OPINION_NAMES`): its expected rank at its end among the other arms, from
    -1/2 to 1/2; how likely it is to be among the very best; its expected rank early on; and the
    standard deviation over networks of the first.

    Args:
        xp: NumPy or JAX's twin of it.
        weights: Of all networks, stacked along their first axis.
        meanings: Configurations by role, NaN where a role is unknown, [K, M].
    """
    known = 1.0 * ~xp.isnan(meanings)
    given = xp.concatenate([xp.clip(xp.nan_to_num(meanings), -3.0, 3.0), known], axis=1)
    hidden = smooth(xp, _layer(weights, "names_input", given))  # [E, K, H]
    hidden = smooth(xp, _layer(weights, "names_hidden", hidden))
    scores = _layer(weights, "names_output", hidden)
    scores = scores - scores.mean(axis=1, keepdims=True)
    spread = xp.mean((scores[:, :, 0] - scores[:, :, 0].mean(axis=0)) ** 2, axis=0)
    spread = xp.sqrt(spread + _TINY)
    found = xp.concatenate([scores.mean(axis=0), spread[:, None]], axis=1)
    return found * (known.sum(axis=1) > 0)[:, None]


def _layer(weights: Weights, name: str, inputs: Array) -> Array:
    """One linear layer of all networks, [E, K, outputs]."""
    return inputs @ weights[name] + weights[f"{name}_bias"][:, None, :]
