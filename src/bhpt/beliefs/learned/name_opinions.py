"""What is usually good: an opinion about configurations before anything is trained.

A handful of small networks has seen how the ends of many real trainings depend on learning rates,
momenta, widths and the like (`spaces.encode_roles`). Their mean is an opinion about each arm of a
study, relative to its other arms; the policy is told it beside the curves, and how well it has
agreed with them so far. Where no name is known there is none.

Notation:
    K  arms, M  roles, E  networks, H  hidden units
"""

from bhpt.beliefs.learned.features import Array, Xp
from bhpt.beliefs.learned.network import Weights, smooth

_TINY = 1e-12  # a root has no slope at zero


def opinions(xp: Xp, weights: Weights, meanings: Array) -> Array:
    """What to expect of each arm, 0 where nothing is known about it, [K, OPINIONS].

    The columns: its rank among others at its end, from -1/2 to 1/2; how likely it is to be among
    the very best; its rank early on; and how far the networks are apart about the first.

    Args:
        xp: NumPy or JAX's twin of it.
        weights: Of all networks, stacked.
        meanings: What is known, NaN elsewhere, [K, M].
    """
    known = 1.0 * ~xp.isnan(meanings)
    given = xp.concatenate([xp.clip(xp.nan_to_num(meanings), -3.0, 3.0), known], axis=1)
    hidden = smooth(xp, given @ weights["told"] + weights["told_bias"][:, None, :])  # [E, K, H]
    hidden = smooth(xp, hidden @ weights["deeper"] + weights["deeper_bias"][:, None, :])
    said = hidden @ weights["said"] + weights["said_bias"][:, None, :]
    said = said - said.mean(axis=1, keepdims=True)
    apart = xp.sqrt(xp.mean((said[:, :, 0] - said[:, :, 0].mean(axis=0)) ** 2, axis=0) + _TINY)
    told = xp.concatenate([said.mean(axis=0), apart[:, None]], axis=1)
    return told * (known.sum(axis=1) > 0)[:, None]
